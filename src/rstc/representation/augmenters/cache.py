"""Changed texts that are kept on disk, by what they were made of and how, so that a second run need not make them."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

logger = logging.getLogger("rstc")

FILE = "views.sqlite"
KEYS_AT_A_TIME = 500
SECONDS_TO_WAIT = 30.0  # for another process that writes


def key_of(*parts: str) -> bytes:
    """Return a key for a text and all that its change depends on."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
    return digest.digest()


class KeptTexts:
    """Texts in a folder, by key; without a folder nothing is kept. One that cannot be used is told of, once."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / FILE if folder else None
        self._told = False

    def read(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return those texts that are there."""
        found: dict[bytes, str] = {}
        if self._file is None or self._told:
            return found
        try:
            if not self._file.is_file():
                return found
            with self._opened() as table:
                for start in range(0, len(keys), KEYS_AT_A_TIME):
                    some = keys[start : start + KEYS_AT_A_TIME]
                    marks = ",".join("?" * len(some))
                    found.update(table.execute(f"SELECT key, text FROM texts WHERE key IN ({marks})", some))
        except (sqlite3.Error, OSError) as problem:
            self._tell("texts kept in %s are not used: %s", problem)
        return found

    def add(self, texts: Mapping[bytes, str]) -> None:
        """Keep more texts."""
        if self._file is None or self._told:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # they are somebody's texts
            with self._opened() as table, table:
                table.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts.items())
        except (sqlite3.Error, OSError) as problem:  # the run itself lost nothing
            self._tell("nothing is kept in %s for later runs: %s", problem)

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        """Return the table, made where there is none."""
        assert self._file is not None
        table = sqlite3.connect(self._file, timeout=SECONDS_TO_WAIT)
        try:
            table.execute("CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, text TEXT) WITHOUT ROWID")
        except sqlite3.Error:
            table.close()
            raise
        return closing(table)

    def _tell(self, sentence: str, problem: Exception) -> None:
        """Warn, once."""
        if not self._told:
            logger.warning(sentence, self._file, problem)
        self._told = True
