"""Open an address in the browser, such that other users of the machine do not see it.

A command line can be read by every user of a machine, and the address of `rstc explore` holds the token that allows to
correct the run. So the browser is given a file that only this user can read, and the file leads to the address.
"""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path


@contextmanager
def open_page(address: str) -> Iterator[Path]:
    """Open an address in the browser by a file that is removed at the end of the block.

    Parameters
    ----------
    address : str
        The address.

    Yields
    ------
    Path
        The file, in a folder that only this user can open.
    """
    with tempfile.TemporaryDirectory(prefix="rstc-explore-") as folder:  # mode 700
        page = Path(folder) / "open.html"
        page.touch(mode=0o600)
        page.write_text(
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">\n'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
            f'<title>rstc explore</title><p><a href="{escape(address)}">Open the page</a></p>\n',
            encoding="utf-8",
        )
        webbrowser.open(page.as_uri())
        yield page
