"""Text that a terminal can show without being controlled by it.

Texts, names, columns, paths and answers come from files and models. On a terminal, escape sequences in them could move
the cursor, change its title, write to the clipboard or hide what is there; bidirectional controls could reorder a line.
"""

from __future__ import annotations

import io
import json
import re

REPLACEMENT = "\ufffd"  # as wide as a letter, so that columns stay aligned

# Control characters but tab and line feed (C0, DEL, C1), bidirectional controls, line and paragraph separators, the
# byte order mark, surrogates without a partner, interlinear annotations and tag characters. Joiners stay: scripts and
# emoji need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def replace_controls(text: str) -> str:
    r"""Replace the characters of a text that could control a terminal.

    >>> replace_controls("late \x1b[31mparcel\x07\u202e")
    'late �[31mparcel��'
    """
    return _UNSAFE.sub(REPLACEMENT, text)


def escape_in_json(document: str) -> str:
    r"""Write the characters of a JSON document that could control a terminal as its escape sequences.

    >>> escape_in_json('"late\u202e"') == r'"late\u202e"'
    True
    """
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], document)


def clean_line(text: str) -> str:
    r"""Return a text as one line, without characters that could control a terminal.

    >>> clean_line("late\nparcel\x1b")
    'late parcel�'
    """
    return replace_controls(" ".join(re.split(r"[\r\n\t]+", text)))


class CleanWriter(io.TextIOWrapper):
    """A text stream to a terminal, for rows of files."""

    def write(self, text: str) -> int:
        """Write a text without what could control the terminal."""
        return super().write(replace_controls(text.replace("\r\n", "\n")))
