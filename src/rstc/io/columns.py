"""Columns of tables: which one holds the texts, what a text is cleaned to, and the columns that predictions add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.predictions import NO_CLUSTER, level_of

ClusterNames = Sequence[str] | Mapping[int, str]  # by cluster number
TextColumn = str | list[str]  # the column of the texts, or several, whose texts are joined

TEXT_COLUMN = "text"  # of plain text files, and preferred where several columns hold words
CLUSTER_COLUMNS = ("cluster", "cluster_name", "confidence", "confidence_level")
OUTLIER_NAME = "outlier"  # in `cluster_name` of the texts in `NO_CLUSTER`
HOW_TO_CHOOSE = "with --text-column, or join several by giving it several times"
_SAMPLE_ROWS = 1000  # of a column that are inspected to decide what it holds


def clean_text(value: Any) -> str | None:
    """Return a cell as a text, or None if it holds none: a missing value, an empty string or white space.

    Bytes are decoded as UTF-8, and lone surrogates become question marks; nothing else of a text is changed.

    >>> clean_text("late again "), clean_text(" "), clean_text(None), clean_text(float("nan")), clean_text(404)
    ('late again ', None, None, None, '404')
    >>> clean_text("zu spät".encode())
    'zu spät'

    Raises
    ------
    UnicodeDecodeError
        If bytes are not UTF-8.
    """
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    text = replace_surrogates(value if isinstance(value, str) else str(value))
    return text if text.strip() else None


def replace_surrogates(text: str) -> str:
    """Return a text with question marks for lone surrogates, which no tokenizer and no file format accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")


def find_text_column(
    table: pd.DataFrame,
    requested: str | None = None,
    other_columns: Sequence[str] = (),
    how_to_choose: str = HOW_TO_CHOOSE,
) -> str:
    """Return the name of the column that holds the texts.

    It is the requested one; else the only column of the table; else the only column that holds words, which numbers,
    dates and codes do not; else the one called "text".

    Parameters
    ----------
    table : pandas.DataFrame
        The table, or its first rows.
    requested : str, optional
        The name that the user gave.
    other_columns : sequence of str, default=()
        Columns that hold something else, such as views or labels.
    how_to_choose : str
        How an error message tells the user to choose a column.

    Raises
    ------
    InputError
        If the requested column does not exist, or none or several could hold the texts.

    Examples
    --------
    >>> find_text_column(pd.DataFrame({"id": ["1", "2"], "message": ["late again", "app is down"]}))
    'message'
    """
    columns = [str(name) for name in table.columns]
    if requested is not None:
        if requested not in columns:
            raise InputError(f"there is no column {requested!r}; the columns are {_join_names(columns)}")
        return requested
    if len(columns) == 1:
        return columns[0]
    if TEXT_COLUMN in other_columns:
        return TEXT_COLUMN
    candidates = [name for name in columns if name not in other_columns and _holds_words(table[name])]
    if len(candidates) == 1:
        return candidates[0]
    if TEXT_COLUMN in candidates:
        return TEXT_COLUMN
    if not candidates:
        raise InputError(f"no column seems to hold texts; choose one of {_join_names(columns)} {how_to_choose}")
    raise InputError(f"several columns could hold the texts: {_join_names(candidates)}; choose one {how_to_choose}")


def to_text_column(names: object) -> TextColumn | None:
    """Return one name as a string and several as a list without repetitions; None for what is not a name or names.

    >>> to_text_column(("title", "body", "title")), to_text_column(["text"]), to_text_column("text"), to_text_column(5)
    (['title', 'body'], 'text', 'text', None)
    """
    if isinstance(names, str):
        return names
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        return None
    distinct = list(dict.fromkeys(names))
    return distinct if len(distinct) > 1 else distinct[0] if distinct else None


def list_text_columns(column: TextColumn) -> list[str]:
    """Return the names of the columns that hold the texts."""
    return [column] if isinstance(column, str) else column


def find_text_columns(
    table: pd.DataFrame,
    requested: TextColumn | None = None,
    other_columns: Sequence[str] = (),
    how_to_choose: str = HOW_TO_CHOOSE,
) -> TextColumn:
    """Return the requested columns, all of which have to exist, or the one that `find_text_column` finds."""
    if not isinstance(requested, list):
        return find_text_column(table, requested, other_columns, how_to_choose)
    return [find_text_column(table, name) for name in requested]


def has_text_column(table: pd.DataFrame, column: TextColumn) -> bool:
    """Return whether a table has a column, or all of several."""
    return all(name in table.columns for name in list_text_columns(column))


def format_text_column(column: TextColumn, quotes: str = "''") -> str:
    """Return how results name the column of the texts.

    >>> format_text_column("text"), format_text_column(["title", "body"])
    ("column 'text'", "columns 'title' and 'body'")
    """
    names = [f"{quotes[0]}{name}{quotes[1]}" for name in list_text_columns(column)]
    return f"column{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def extract_texts(table: pd.DataFrame, column: TextColumn) -> list[str | None]:
    """Return the cleaned texts of a column, None where a row holds none.

    Of several columns, the texts of a row are joined by line breaks, without those that are missing. Values that are
    not strings are converted. A column that does not exist holds no texts: of JSON lines, a chunk may have no row with
    the key.
    """
    if isinstance(column, list):
        parts = zip(*(extract_texts(table, name) for name in column), strict=True)
        return ["\n".join(part for part in row if part is not None) or None for row in parts]
    if column not in table.columns:
        return [None] * len(table)
    try:
        return [clean_text(value) for value in table[column].astype(object)]
    except UnicodeDecodeError as problem:
        raise InputError(
            f"column {column!r} holds bytes that are not UTF-8 text, such as {problem.object[:20]!r}"
        ) from None


def to_text_list(X: Any) -> list[str | None]:
    """Return texts that a user gave in Python as a list of cleaned texts.

    Parameters
    ----------
    X : sequence of str, array, Series or table
        Texts; also a column or table of polars, pyarrow or Hugging Face datasets. Of a table, the text column is found
        by `find_text_column`.

    Returns
    -------
    list of str or None
        None where a text is missing or empty.

    Raises
    ------
    InputError
        If a value is not a string; other than in files, that is a mistake.
    """
    if isinstance(X, (str, bytes)):
        raise InputError("texts must be a list of strings, got a single string")
    X = _to_pandas(X)
    if isinstance(X, pd.DataFrame):
        X = X[_find_text_column_of(X)]
    if getattr(X, "ndim", 1) != 1:
        raise InputError(f"texts must be one-dimensional, got an array of shape {X.shape}")
    texts = []
    for i, value in enumerate(X):
        text = None if isinstance(value, bytes) else clean_text(value)
        if not isinstance(value, str) and (text is not None or isinstance(value, bytes)):
            raise InputError(f"texts must be strings, but text {i} is {value!r}")
        texts.append(text)
    return texts


def text_column_name(X: Any) -> TextColumn | None:
    """Return the name of the column that texts given in Python come from; None where they have none.

    A Series that is named by a tuple of names holds the joined texts of these columns.
    """
    X = _to_pandas(X)
    if isinstance(X, pd.DataFrame):
        return _find_text_column_of(X)
    if isinstance(X, pd.Series) and (columns := to_text_column(X.name)):
        return columns
    return str(X.name) if isinstance(X, pd.Series) and X.name is not None else None


def row_index(X: Any) -> pd.Index[Any] | None:
    """Return the pandas index of texts given in Python; None where they have none."""
    return X.index if isinstance(X, (pd.Series, pd.DataFrame)) else None


def check_reserved_columns(columns: Iterable[Any]) -> None:
    """Raise an error if one of the columns has the name of one that `add_cluster_columns` adds."""
    names = set(columns)
    for name in CLUSTER_COLUMNS:
        if name in names:
            raise InputError(f"the input already has a column {name!r}; rename or remove it first")


def add_cluster_columns(
    table: pd.DataFrame, clusters: Sequence[int | None], confidence: Sequence[float | None], names: ClusterNames
) -> pd.DataFrame:
    """Return a table with `cluster`, `cluster_name`, `confidence` and `confidence_level` (high, medium or low).

    Parameters
    ----------
    table : pandas.DataFrame
        N rows.
    clusters : sequence of int or None
        The cluster of each row, (N,); None for a missing value.
    confidence : sequence of float or None
        The confidence of each row, (N,), rounded to four digits; None for a missing value.
    names : sequence or mapping
        The name of each cluster, by its number; an outlier is named `OUTLIER_NAME`.
    """
    check_reserved_columns(table.columns)
    rounded = [None if share is None else round(share, 4) for share in confidence]
    return table.assign(
        cluster=pd.array(list(clusters), dtype="Int64"),
        cluster_name=pd.array([name_of_cluster(cluster, names) for cluster in clusters], dtype="string"),
        confidence=pd.array(rounded, dtype="Float64"),
        confidence_level=pd.array([None if share is None else level_of(share) for share in rounded], dtype="string"),
    )


def name_of_cluster(cluster: int | None, names: ClusterNames) -> str | None:
    """Return the name of a row's cluster, None for a row without one."""
    if cluster is None:
        return None
    return OUTLIER_NAME if cluster == NO_CLUSTER else names[cluster]


def add_predictions(
    table: pd.DataFrame,
    texts: Sequence[str | None],
    clusters: NDArray[np.int64],
    confidence: NDArray[np.float32],
    names: ClusterNames,
) -> pd.DataFrame:
    """Return a table with the predicted clusters of its texts.

    Parameters
    ----------
    table : pandas.DataFrame
        N rows.
    texts : sequence of str or None
        The text of each row, (N,).
    clusters, confidence : ndarray
        Predictions of the texts, (N,).
    names : sequence or mapping
        The name of each cluster, by its number.

    Returns
    -------
    pandas.DataFrame
        `cluster` is missing where a row holds no text, and `NO_CLUSTER` for an outlier; `confidence` is missing for
        both.
    """
    return add_cluster_columns(
        table,
        [None if text is None else int(cluster) for text, cluster in zip(texts, clusters, strict=True)],
        [None if cluster == NO_CLUSTER else float(p) for cluster, p in zip(clusters, confidence, strict=True)],
        names,
    )


def extract_confidence(table: pd.DataFrame, requested: str | None) -> list[float] | None:
    """Return the confidence of each row, 0 where it is missing, as for outliers.

    Without a requested column, it is that of `confidence`; None if there is none, or if it holds something else.
    """
    column = requested or "confidence"
    if column not in table.columns:
        if requested:
            raise InputError(f"there is no column {requested!r}")
        return None
    values = pd.to_numeric(table[column].replace("", None), errors="coerce")
    is_valid = bool((values.between(0, 1) | table[column].replace("", None).isna()).all()) and bool(
        values.notna().any()
    )
    if is_valid:
        return values.fillna(0).astype(float).tolist()
    if requested:
        raise InputError(f"column {requested!r} does not hold confidences, which are numbers from 0 to 1")
    return None


def to_series(values: Any, default_name: str) -> pd.Series[Any]:
    """Return one-dimensional values that a user gave in Python as a Series; without a name, it gets the default one."""
    column = _to_pandas(values)
    if getattr(column, "ndim", 1) != 1:
        raise InputError(f"{default_name} must be one-dimensional, got an array of shape {column.shape}")
    series = (
        column if isinstance(column, pd.Series) else pd.Series(column if hasattr(column, "dtype") else list(column))
    )
    return series.rename(default_name) if series.name is None else series


def _to_pandas(X: Any) -> Any:
    """Return a column or table of another library as its own `to_pandas` converts it."""
    if isinstance(X, (pd.Series, pd.DataFrame)) or not hasattr(X, "to_pandas"):
        return X
    return X.to_pandas()


def _find_text_column_of(X: pd.DataFrame) -> str:
    """Return the text column of a table that was given in Python."""
    return find_text_column(X, how_to_choose="and pass it as X['name'], or join them first")


def _holds_words(column: pd.Series[Any]) -> bool:
    """Return whether most values have a letter and some a space, which the names of categories do not."""
    try:
        values = [text for text in map(clean_text, column.head(_SAMPLE_ROWS).astype(object)) if text]
    except UnicodeDecodeError:  # images and the like
        return False
    with_letters = [text for text in values if any(character.isalpha() for character in text)]
    phrases = [text for text in with_letters if any(character.isspace() for character in text.strip())]
    if not phrases:  # scripts without spaces between words: a phrase has more characters than a code
        phrases = [text for text in with_letters if not text.isascii() and len(text) > 5]
    return bool(values) and 2 * len(with_letters) > len(values) and 5 * len(phrases) > len(values)


def _join_names(names: Sequence[str], limit: int = 20) -> str:
    """Return names separated by commas, the first ones of many."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
