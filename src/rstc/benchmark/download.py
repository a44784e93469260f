"""Download the paper's data sets and views from their public addresses, as the CSV files that the benchmark reads."""

from __future__ import annotations

import http.client
import io
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from rstc.benchmark.datasets import Dataset, compute_checksum, dataset, select_checked_columns
from rstc.errors import InputError
from rstc.io.atomic import replace_file

TIMEOUT_SECONDS = 60.0
MAX_BYTES = 64 * 2**20  # many times the size of the largest data set


@dataclass(frozen=True)
class DownloadOutcome:
    """What a download did.

    Attributes
    ----------
    downloaded : bool
        Whether anything was downloaded; False if the file was complete.
    views_problem : str
        Why the data set has no views of its own; empty if it has.
    """

    downloaded: bool
    views_problem: str = ""


def download_dataset(name: str, folder: Path) -> DownloadOutcome:
    """Download a data set and its views, unless its file is already in a folder and holds the expected rows.

    The authors published the views of four data sets in files of their own. If such a file cannot be had, the texts
    are kept without views; a later download tries again.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : Path
        Folder for its CSV file.

    Returns
    -------
    DownloadOutcome

    Raises
    ------
    InputError
        If the address of the texts cannot be reached, or holds something else.
    """
    entry, path = dataset(name), folder / f"{name}.csv"
    table, views_problem = _read_complete_file(path, entry), ""
    if table is not None and (not entry.views_url or "text1" in table):
        return DownloadOutcome(downloaded=False)
    has_texts = table is not None
    if table is None:
        table = parse_published_file(_read_url(entry.url, entry.title))
        if compute_checksum(table) != entry.checksum:
            raise InputError(f"{entry.url} no longer holds the data set {entry.title}: its rows have another checksum")
    if entry.views_url:
        try:
            views = parse_published_file(_read_url(entry.views_url, f"the views of {entry.title}"))
            table = join_views(table, views, entry.views_url)
        except InputError as problem:
            views_problem = str(problem)
    if not (has_texts and views_problem):
        _write_table(table, path)
    return DownloadOutcome(downloaded=not (has_texts and views_problem), views_problem=views_problem)


def join_views(table: pd.DataFrame, views: pd.DataFrame, url: str) -> pd.DataFrame:
    """Add the two views of each text to a table of texts; texts are compared without regard to case and spaces.

    Parameters
    ----------
    table : DataFrame
        The columns `label` and `text`.
    views : DataFrame
        The columns `text`, `text1` and `text2`, in any order of rows.
    url : str
        Where the views come from, for the error.

    Raises
    ------
    InputError
        If a text has no views.
    """
    if missing := {"text", "text1", "text2"} - set(views.columns):
        raise InputError(f"{url} lacks the column {min(missing)!r}")
    rows = {text: row for row, text in reversed(list(enumerate(_normalise(views["text"]))))}  # the first of equal texts
    matches = np.array([rows.get(text, -1) for text in _normalise(table["text"])])
    if n_missing := int((matches < 0).sum()):
        raise InputError(f"{url} has no views of {n_missing} of the {len(table)} texts")
    return table.assign(**{name: views[name].iloc[matches].to_numpy() for name in ("text1", "text2")})


def _normalise(texts: pd.Series[str]) -> pd.Series[str]:
    return texts.str.lower().str.split().str.join(" ")


def _write_table(table: pd.DataFrame, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{path.parent} cannot be created: {problem.strerror or problem}") from problem
    with replace_file(path) as temporary:
        table.to_csv(temporary, index=False)


def _read_complete_file(path: Path, entry: Dataset) -> pd.DataFrame | None:
    """Read the file of a data set; None if it cannot be read or does not hold the expected rows."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        return table if compute_checksum(select_checked_columns(table, entry)) == entry.checksum else None
    except (OSError, ValueError, TypeError):
        return None


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


def _read_url(url: str, title: str) -> str:
    """Read a published file of at most MAX_BYTES."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            content: bytes = response.read(MAX_BYTES + 1)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as problem:
        reason = getattr(problem, "reason", problem)
        raise InputError(
            f"{title} cannot be downloaded from {url} ({reason}); without a network, copy the data sets' "
            "files into a folder and name it with --data"
        ) from problem
    if len(content) > MAX_BYTES:
        raise InputError(f"{url} is larger than {MAX_BYTES // 2**20} MB, and so than any of the data sets")
    return content.decode("utf-8", "replace")
