"""Read a name and a description from what a language model, a command or a function answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rstc.results.edits import MAX_DESCRIPTION_LENGTH
from rstc.results.naming import MAX_NAME_LENGTH

MAX_ANSWER_LENGTH = 20_000  # characters that are searched for JSON
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class NameAnswer:
    """A name of a cluster, and a sentence on what its texts are about if there is one."""

    name: str
    description: str | None = None


def read_answer(answer: Any, needs_json: bool = False) -> NameAnswer | None:
    """Return the name and the description in an answer; None if it holds no name.

    Parameters
    ----------
    answer : object
        A mapping with the keys "name" and "description", or a string: JSON, perhaps between other words or in a code
        fence, or else a name in its first line.
    needs_json : bool, default=False
        Whether a string without JSON holds no name, because it may be chat.

    Returns
    -------
    NameAnswer or None

    Examples
    --------
    >>> read_answer('Sure:\\n```json\\n{"name": "Late parcels", "description": "They wait."}\\n```')
    NameAnswer(name='Late parcels', description='They wait.')
    >>> read_answer("**late parcels**\\n"), read_answer("Sure, here it is!", needs_json=True)
    (NameAnswer(name='late parcels', description=None), None)
    """
    if isinstance(answer, Mapping):
        return _build(answer)
    if not isinstance(answer, str):
        return None
    text = _THOUGHTS.sub(" ", answer[:MAX_ANSWER_LENGTH])
    for value in _iter_objects(text):
        if found := _build(value):
            return found
    if needs_json or "{" in text:
        return None
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("```")]
    return _build({"name": lines[0]}) if lines else None


def _iter_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in a text that are not part of another one."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _build(values: Mapping[str, Any]) -> NameAnswer | None:
    name = _clean(values.get("name"), MAX_NAME_LENGTH).strip("\"'`*“” ")
    description = _clean(values.get("description"), MAX_DESCRIPTION_LENGTH)
    return NameAnswer(name, description or None) if name else None


def _clean(value: Any, max_length: int) -> str:
    """Return a string on one line, without control characters and cut; empty for anything else."""
    if not isinstance(value, str):
        return ""
    printable = "".join(character if character.isprintable() else " " for character in value)
    return " ".join(printable.encode("utf-8", "replace").decode("utf-8").split())[:max_length].strip()
