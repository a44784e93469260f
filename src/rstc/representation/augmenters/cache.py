"""A cache on disk of augmented texts, by a hash of the text and of everything else that its change depends on."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

logger = logging.getLogger("rstc")

CACHE_FILE = "views.sqlite"
MAX_QUERY_KEYS = 500
LOCK_TIMEOUT = 30.0  # seconds to wait while another process writes


def hash_strings(*parts: str) -> bytes:
    """Return a hash of several strings, which depends on their boundaries."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
    return digest.digest()


class TextCache:
    """Texts by key, in a folder that several processes may share.

    If the folder cannot be read or written, a warning is logged once, and the folder is not used any more.

    Parameters
    ----------
    folder : Path or None
        The folder; None: nothing is cached.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / CACHE_FILE if folder else None
        self._has_failed = False

    def read(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the cached texts of these keys."""
        texts: dict[bytes, str] = {}
        if self._file is None or self._has_failed:
            return texts
        try:
            if not self._file.is_file():
                return texts
            with self._connect() as connection:
                for start in range(0, len(keys), MAX_QUERY_KEYS):
                    chunk = keys[start : start + MAX_QUERY_KEYS]
                    placeholders = ",".join("?" * len(chunk))
                    query = f"SELECT key, text FROM texts WHERE key IN ({placeholders})"
                    texts.update(connection.execute(query, chunk))
        except (sqlite3.Error, OSError) as error:
            self._warn_once("cannot read cached views from %s: %s", error)
        return texts

    def add(self, texts: Mapping[bytes, str]) -> None:
        """Add texts by key."""
        if self._file is None or self._has_failed:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # the texts may be private
            with self._connect() as connection, connection:
                connection.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts.items())
        except (sqlite3.Error, OSError) as error:  # the run does not depend on the cache
            self._warn_once("cannot cache views in %s: %s", error)

    def _connect(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open the database, and create its table if there is none."""
        assert self._file is not None
        connection = sqlite3.connect(self._file, timeout=LOCK_TIMEOUT)
        try:
            connection.execute("CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, text TEXT) WITHOUT ROWID")
        except sqlite3.Error:
            connection.close()
            raise
        return closing(connection)

    def _warn_once(self, message: str, error: Exception) -> None:
        """Log the first failure as a warning."""
        if not self._has_failed:
            logger.warning(message, self._file, error)
        self._has_failed = True
