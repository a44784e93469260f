"""The rows that a run is given: those of a file, or of several processes the share of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pandas as pd

from rstc.errors import InputError
from rstc.runtime.distributed import Ranks, share_of
from rstc.io.readers import STANDARD_INPUT, read_table, stream_tables
from rstc.io.columns import check_free_names, find_text_column, texts_of


@dataclass(frozen=True)
class Columns:
    """Which columns hold the texts, and changed versions of them, if any."""

    text: str
    views: tuple[str, str] | None


@dataclass(frozen=True)
class Given:
    """The rows of this process.

    Attributes:
        columns: where the texts are.
        texts: what they say, None where there is no text.
        views: changed versions of the texts, if there are any.
        labels: what is known of the texts, None where nothing is, if a column says.
        rows: which rows of the file they are.
        n_rows: how many rows the file has.
        tables: what reads all rows of the file again, a piece at a time.
    """

    columns: Columns
    texts: list[str | None]
    views: tuple[list[str | None], list[str | None]] | None
    labels: list[str | None] | None
    rows: range
    n_rows: int
    tables: Callable[[], Iterable[pd.DataFrame]]


def read_given(
    path: str,
    kind: str,
    encoding: str,
    ranks: Ranks,
    text_column: str | None = None,
    view_columns: tuple[str, str] | None = None,
    truth_column: str | None = None,
    label_column: str | None = None,
) -> Given:
    """Read a file, or this process's share of it; a truth column has to be there and is not read."""

    def looked_at(table: pd.DataFrame) -> Columns:
        others = (*(view_columns or ()), truth_column, label_column)
        known = [find_text_column(table, name) for name in others if name]
        found = Columns(find_text_column(table, text_column, besides=known), view_columns)
        check_free_names(table)
        return found

    if ranks.alone:
        table = read_table(path, kind, encoding)
        columns = looked_at(table)
        texts, views = _texts(table, columns)
        labels = texts_of(table, label_column) if label_column else None
        return Given(columns, texts, views, labels, range(len(table)), len(table), lambda: [table])
    if label_column:
        raise InputError("labels that are known need all texts together, which several processes do not have")
    if path == STANDARD_INPUT:
        raise InputError("several processes cannot share standard input; give the name of a file")

    def look_over() -> tuple[Columns, int]:
        pieces = stream_tables(path, kind, encoding)
        first = next(pieces, None)
        if first is None or first.empty:
            raise InputError(f"{path} holds no rows")
        return looked_at(first), len(first) + sum(map(len, pieces))

    columns, n_rows = ranks.at_first(look_over)
    rows = share_of(n_rows, ranks)
    texts, views = [], ([], []) if view_columns else None

    def read_share() -> None:
        for piece in _within(stream_tables(path, kind, encoding), rows):
            said, versions = _texts(piece, columns)
            texts.extend(said)
            if views and versions:
                for one, more in zip(views, versions, strict=True):
                    one.extend(more)

    ranks.together(read_share)
    return Given(columns, texts, views, None, rows, n_rows, lambda: stream_tables(path, kind, encoding))


def _texts(
    table: pd.DataFrame, columns: Columns
) -> tuple[list[str | None], tuple[list[str | None], list[str | None]] | None]:
    """Return the texts of a table, and the changed versions that two columns hold."""
    texts = texts_of(table, columns.text)
    if columns.views is None:
        return texts, None
    first, second = (texts_of(table, find_text_column(table, name)) for name in columns.views)
    return texts, (first, second)


def _within(pieces: Iterator[pd.DataFrame], rows: range) -> Iterator[pd.DataFrame]:
    """Yield what pieces of a table have of some of its rows."""
    start = 0
    for piece in pieces:
        first, last = max(rows.start - start, 0), min(rows.stop - start, len(piece))
        if first < last:
            yield piece.iloc[first:last]
        start += len(piece)
        if start >= rows.stop:
            return
