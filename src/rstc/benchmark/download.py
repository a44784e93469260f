"""Fetching the sets from their public homes, and turning what is there into the files that the benchmark reads."""

from __future__ import annotations

import http.client
import io
import urllib.error
import urllib.request
from pathlib import Path

import pandas as pd

from rstc.benchmark.datasets import Dataset, checksum_of, dataset
from rstc.errors import InputError
from rstc.io.atomic import replaced_file

TIMEOUT = 60.0  # seconds without an answer
MOST_BYTES = 64 * 2**20  # many times the largest set; more is something else


def fetch(name: str, folder: Path) -> bool:
    """Make sure that a set's file is in a folder; return whether it had to be fetched.

    Raises:
        InputError: when there is no network, or when what came is not the set.
    """
    one, path = dataset(name), folder / f"{name}.csv"
    if _is_right(path, one):
        return False
    table = parse(_bytes(one).decode("utf-8", "replace"))
    if checksum_of(table) != one.checksum:
        raise InputError(f"{one.address} is no longer the set {one.title} of the paper: its rows have another checksum")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} cannot be made: {problem.strerror or problem}") from problem
    with replaced_file(path) as temporary:
        table.to_csv(temporary, index=False)
    return True


def _is_right(path: Path, one: Dataset) -> bool:
    """Tell whether a file is there and holds the rows of a set; one that cannot be read does not."""
    try:
        return checksum_of(pd.read_csv(path, dtype=str, keep_default_na=False)) == one.checksum
    except (OSError, ValueError, TypeError):
        return False


def parse(content: str) -> pd.DataFrame:
    """Read a set in either of the two forms it is published in: CSV with a header, or lines of label, tab and text.

    >>> parse("3\\tlate again\\n7\\twhere is it\\n")["text"].tolist()
    ['late again', 'where is it']
    >>> parse("label,text,_,text1,text2\\n3,late again,,too late again,late\\n").columns.tolist()
    ['label', 'text', 'text1', 'text2']
    """
    if content.startswith("label,"):
        table = pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)
        return table[[name for name in ("label", "text", "text1", "text2") if name in table]]
    pairs = [line.partition("\t") for line in content.splitlines() if line.strip()]
    return pd.DataFrame({"label": [pair[0].strip() for pair in pairs], "text": [pair[2].strip() for pair in pairs]})


def _bytes(one: Dataset) -> bytes:
    try:
        with urllib.request.urlopen(one.address, timeout=TIMEOUT) as answer:
            content: bytes = answer.read(MOST_BYTES + 1)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as problem:
        reason = getattr(problem, "reason", problem)
        raise InputError(
            f"{one.title} cannot be fetched from {one.address} ({reason}); without a network, copy the sets' files "
            f"into a folder and name it with --data"
        ) from problem
    if len(content) > MOST_BYTES:
        raise InputError(f"{one.address} is larger than any of the sets")
    return content
