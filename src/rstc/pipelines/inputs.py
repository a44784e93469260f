"""Read and check the input of a run: all rows of a file or, if several processes share the run, those of this process.

Nothing slow is imported, so that a wrong input or setting is said at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from rstc.config import Config
from rstc.errors import InputError
from rstc.io.columns import (
    TextColumn,
    check_reserved_columns,
    extract_texts,
    find_text_column,
    find_text_columns,
    to_text_column,
)
from rstc.io.formats import detect_format, iter_tables, read_table
from rstc.io.text_files import STANDARD_INPUT
from rstc.io.writers import format_csv
from rstc.pipelines.request import RunRequest
from rstc.results.comparisons import ComparisonRequest, check_request
from rstc.runtime.distributed import ProcessGroup, row_range
from rstc.validation.fit_input import FitInput, validate_fit_input

Texts = list[str | None]  # None where a row holds no text


@dataclass(frozen=True)
class Columns:
    """The columns of the input that are read.

    Attributes
    ----------
    text : str or list of str
        The column of texts, or several whose texts are joined.
    views : sequence of str or None
        The two columns of augmented versions of the texts.
    labels : str or None
        The column of given classes.
    """

    text: TextColumn
    views: Sequence[str] | None
    labels: str | None = None


@dataclass(frozen=True)
class RunInput:
    """The rows of this process.

    Attributes
    ----------
    file : str
        Name of the file.
    format : str
        Format of the file.
    columns : Columns
        The columns that were read.
    texts : list of str or None
        The text of each row, None where there is none.
    views : pair of lists or None
        Two augmented versions of each text.
    labels : list or None
        The given class of each text, None where it has none.
    rows : range
        The rows of the file that this process read.
    n_rows : int
        Number of rows of the file.
    read_tables : callable
        Read all rows of the file again, in chunks.
    sheet : str or None
        The sheet that was requested of a workbook.
    """

    file: str
    format: str
    columns: Columns
    texts: Texts
    views: tuple[Texts, Texts] | None
    labels: Texts | None
    rows: range
    n_rows: int
    read_tables: Callable[[], Iterable[pd.DataFrame]]
    sheet: str | None = None


def read_input(request: RunRequest, processes: ProcessGroup) -> RunInput:
    """Read the file of a run, or the share of it that this process has."""
    path, encoding, sheet, header = request.path, request.encoding, request.sheet, request.header
    format, text_column = detect_format(path, request.format), to_text_column(request.text_column)
    view_columns, label_column = request.view_columns, request.label_column
    file = "standard input" if path == STANDARD_INPUT else Path(path).name

    def find_columns(table: pd.DataFrame) -> Columns:
        names = (*(view_columns or ()), request.truth_column, label_column)
        others = [find_text_column(table, name) for name in names if name]
        columns = Columns(find_text_columns(table, text_column, other_columns=others), view_columns, label_column)
        check_reserved_columns(table.columns)
        return columns

    if processes.is_single:
        table = read_table(path, format, encoding, sheet, header)
        columns = find_columns(table)
        texts, views = _extract_texts_and_views(table, columns)
        labels = extract_texts(table, label_column) if label_column else None
        n_rows = len(table)
        return RunInput(file, format, columns, texts, views, labels, range(n_rows), n_rows, lambda: [table], sheet)
    if label_column:
        raise InputError(f"partial labels need all texts in one process, got {processes.size} processes")
    if path == STANDARD_INPUT:
        raise InputError("several processes cannot share standard input; give the name of a file")

    def scan() -> tuple[Columns, int]:
        chunks = iter_tables(path, format, encoding, sheet=sheet, header=header)
        first = next(chunks, None)
        if first is None or first.empty:
            raise InputError(f"{path} holds no rows")
        return find_columns(first), len(first) + sum(map(len, chunks))

    columns, n_rows = processes.run_on_first(scan)
    rows = row_range(n_rows, processes)
    texts, views = [], ([], []) if view_columns else None

    def read_share() -> None:
        for chunk in _select_rows(iter_tables(path, format, encoding, sheet=sheet, header=header), rows):
            chunk_texts, chunk_views = _extract_texts_and_views(chunk, columns)
            texts.extend(chunk_texts)
            if views and chunk_views:
                for view, chunk_view in zip(views, chunk_views, strict=True):
                    view.extend(chunk_view)

    processes.run_on_all(read_share)

    def read_tables() -> Iterator[pd.DataFrame]:
        return iter_tables(path, format, encoding, sheet=sheet, header=header)

    return RunInput(file, format, columns, texts, views, None, rows, n_rows, read_tables, sheet)


def read_checked_input(request: RunRequest, config: Config, processes: ProcessGroup) -> tuple[RunInput, FitInput]:
    """Read the input of a run and check it.

    Parameters
    ----------
    request : RunRequest
        The request of the run.
    config : Config
        Its settings.
    processes : ProcessGroup
        The processes that share the run.

    Returns
    -------
    run_input : RunInput
        The rows.
    fit_input : FitInput
        Their texts, as a model is fitted on them.
    """
    run_input, comparisons = read_input(request, processes), request.comparisons
    fit_input = validate_fit_input(
        run_input.texts,
        run_input.labels,
        request.n_clusters,
        class_contrast=config.class_contrast,
        noise=config.noise,
        processes=processes,
    )
    if comparisons is not None:
        processes.run_on_first(lambda: check_request(_read_columns(run_input, comparisons), comparisons))
    return run_input, fit_input


def _read_columns(run_input: RunInput, comparisons: ComparisonRequest) -> pd.DataFrame:
    """Read the columns that are compared by, and the first rows of the others, without the texts."""
    texts, compared = {run_input.columns.text, *(run_input.columns.views or ())}, {comparisons.time, *comparisons.by}
    parts: list[pd.DataFrame] = []
    for table in run_input.read_tables():
        parts.append(table[[name for name in table.columns if name not in texts and (not parts or name in compared)]])
    return pd.concat(parts, ignore_index=True)


def digest_rows(run_input: RunInput) -> str:
    """Return the sha256 of all rows of the file, with all their columns, in hexadecimal."""
    return digest_tables(run_input.read_tables())


def digest_tables(tables: Iterable[pd.DataFrame]) -> str:
    """Return the sha256 of the rows of tables, with all their columns, in hexadecimal."""
    digest = hashlib.sha256()
    for number, table in enumerate(tables):
        digest.update(format_csv(table, header=number == 0).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _extract_texts_and_views(table: pd.DataFrame, columns: Columns) -> tuple[Texts, tuple[Texts, Texts] | None]:
    """Return the texts of a table, and the augmented versions that two columns hold."""
    texts = extract_texts(table, columns.text)
    if columns.views is None:
        return texts, None
    first, second = (extract_texts(table, find_text_column(table, name)) for name in columns.views)
    return texts, (first, second)


def _select_rows(chunks: Iterator[pd.DataFrame], rows: range) -> Iterator[pd.DataFrame]:
    """Yield the part of each chunk of a table that is within a range of its rows."""
    start = 0
    for chunk in chunks:
        first, last = max(rows.start - start, 0), min(rows.stop - start, len(chunk))
        if first < last:
            yield chunk.iloc[first:last]
        start += len(chunk)
        if start >= rows.stop:
            return
