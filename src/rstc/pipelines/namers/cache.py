"""The answers about the clusters of a run that were paid for, in a file of the run folder.

The file holds names and descriptions under the hash of address, model and prompt. It holds no text and no key.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rstc.errors import InputError
from rstc.io.atomic import read_json, replace_file
from rstc.pipelines.namers.answers import NameAnswer, read_answer
from rstc.results.run_files import NAME_ANSWERS

FORMAT_VERSION = 1


class AnswerCache:
    """Answers of a chat server, written as soon as they arrive, so that an error loses none of them.

    Parameters
    ----------
    folder : Path
        The run folder.
    server : str
        Address and model: other models answer otherwise.
    reads : bool, default=True
        Whether answers of earlier calls are used.
    """

    def __init__(self, folder: Path, server: str, reads: bool = True) -> None:
        self._path, self._server, self._reads = folder / NAME_ANSWERS, server, reads
        self._answers: dict[str, Any] = {}
        if self._path.exists():
            try:
                content = read_json(self._path, max_bytes=2**26)
                if content["format_version"] == FORMAT_VERSION:
                    self._answers = dict(content["answers"])
            except (InputError, KeyError, TypeError, ValueError):
                pass  # a cache that cannot be read is empty

    def find(self, prompt: str) -> NameAnswer | None:
        """Return the answer to a prompt, None if it was not asked yet."""
        return read_answer(self._answers.get(self._hash(prompt))) if self._reads else None

    def store(self, prompt: str, answer: NameAnswer) -> None:
        """Add the answer to a prompt."""
        self._answers[self._hash(prompt)] = {"name": answer.name, "description": answer.description}
        with replace_file(self._path) as temporary:
            content = {"format_version": FORMAT_VERSION, "answers": self._answers}
            temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    def _hash(self, prompt: str) -> str:
        return hashlib.sha256(f"{self._server}\n{prompt}".encode("utf-8", "replace")).hexdigest()
