"""Download the paper's data sets from their public addresses, as the CSV files that the benchmark reads."""

from __future__ import annotations

import http.client
import io
import urllib.error
import urllib.request
from pathlib import Path

import pandas as pd

from rstc.benchmark.datasets import Dataset, compute_checksum, dataset
from rstc.errors import InputError
from rstc.io.atomic import replace_file

TIMEOUT_SECONDS = 60.0
MAX_BYTES = 64 * 2**20  # many times the size of the largest data set


def download_dataset(name: str, folder: Path) -> bool:
    """Download a data set unless its file is already in a folder and holds the expected rows.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : Path
        Folder for its CSV file.

    Returns
    -------
    bool
        Whether it was downloaded.

    Raises
    ------
    InputError
        If the address cannot be reached, or holds something else.
    """
    entry, path = dataset(name), folder / f"{name}.csv"
    if _has_expected_rows(path, entry):
        return False
    table = parse_published_file(_read_url(entry).decode("utf-8", "replace"))
    if compute_checksum(table) != entry.checksum:
        raise InputError(f"{entry.url} no longer holds the data set {entry.title}: its rows have another checksum")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{folder} cannot be created: {problem.strerror or problem}") from problem
    with replace_file(path) as temporary:
        table.to_csv(temporary, index=False)
    return True


def _has_expected_rows(path: Path, entry: Dataset) -> bool:
    """Check whether a file can be read and holds the rows of a data set."""
    try:
        return compute_checksum(pd.read_csv(path, dtype=str, keep_default_na=False)) == entry.checksum
    except (OSError, ValueError, TypeError):
        return False


def parse_published_file(content: str) -> pd.DataFrame:
    """Parse a data set in either of its published formats: CSV with a header, or lines of label, tab and text.

    Examples
    --------
    >>> parse_published_file("3\\tlate again\\n7\\twhere is it\\n")["text"].tolist()
    ['late again', 'where is it']
    >>> parse_published_file("label,text,_,text1,text2\\n3,late again,,too late again,late\\n").columns.tolist()
    ['label', 'text', 'text1', 'text2']
    """
    if content.startswith("label,"):
        table = pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)
        return table[[name for name in ("label", "text", "text1", "text2") if name in table]]
    pairs = [line.partition("\t") for line in content.splitlines() if line.strip()]
    return pd.DataFrame({"label": [pair[0].strip() for pair in pairs], "text": [pair[2].strip() for pair in pairs]})


def _read_url(entry: Dataset) -> bytes:
    """Read the published file of a data set, of at most MAX_BYTES."""
    try:
        with urllib.request.urlopen(entry.url, timeout=TIMEOUT_SECONDS) as response:
            content: bytes = response.read(MAX_BYTES + 1)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as problem:
        reason = getattr(problem, "reason", problem)
        raise InputError(
            f"{entry.title} cannot be downloaded from {entry.url} ({reason}); without a network, copy the data sets' "
            "files into a folder and name it with --data"
        ) from problem
    if len(content) > MAX_BYTES:
        raise InputError(f"{entry.url} is larger than {MAX_BYTES // 2**20} MB, and so than any of the data sets")
    return content
