"""What a text is and where a table keeps it: finding the text column, cleaning cells, adding clusters to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError

TEXT = "text"  # the column that is taken when several could be meant


def find_text_column(table: pd.DataFrame, asked: str | None = None, besides: Sequence[str] = ()) -> str:
    """Return the name of the column that holds the texts.

    It is the one asked for; else the only column there is; else the only one that holds words, as numbers, dates
    and codes do not; else the one called "text". Columns `besides` are known to hold something else.

    >>> find_text_column(pd.DataFrame({"id": ["1", "2"], "message": ["late again", "app is down"]}))
    'message'
    """
    columns = [str(name) for name in table.columns]
    if asked is not None:
        if asked not in columns:
            raise InputError(f"there is no column {asked!r}; the columns are {_listed(columns)}")
        return asked
    if len(columns) == 1:
        return columns[0]
    if TEXT in besides:
        return TEXT
    candidates = [name for name in columns if name not in besides and _holds_words(table[name])]
    if len(candidates) == 1:
        return candidates[0]
    if TEXT in candidates:
        return TEXT
    if not candidates:
        raise InputError(f"no column seems to hold texts; choose one of {_listed(columns)} with --text-column")
    raise InputError(f"several columns could hold the texts: {_listed(candidates)}; choose one with --text-column")


def texts_of(table: pd.DataFrame, column: str) -> list[str | None]:
    """Return the texts of a column, None where there is none: missing, empty or white space."""
    if column not in table.columns:  # a piece of a stream in which no record has it
        return [None] * len(table)
    return [clean(value) for value in table[column].astype(object)]


def clean(value: Any) -> str | None:
    """Return a value as a text, or None if it holds none.

    >>> clean("late again "), clean(" "), clean(None), clean(float("nan")), clean(404)
    ('late again ', None, None, None, '404')
    """
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    text = value if isinstance(value, str) else str(value)
    # A lone surrogate is no character; the tokenizer and every file format refuse it.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.strip() else None


def as_texts(X: Any) -> list[str | None]:
    """Return given texts as a list, None where one is missing or empty.

    They may be a list, an array, or a column or a table of pandas, polars, pyarrow or Hugging Face datasets.
    """
    if isinstance(X, (str, bytes)):
        raise InputError("texts must be a list of strings, got a single string")
    X = _as_pandas(X)
    if isinstance(X, pd.DataFrame):
        X = X[_text_column(X)]
    if getattr(X, "ndim", 1) != 1:
        raise InputError(f"texts must be one-dimensional, got an array of shape {X.shape}")
    texts = []
    for i, value in enumerate(X):
        text = clean(value)
        if text is not None and not isinstance(value, str):
            raise InputError(f"texts must be strings, but text {i} is {value!r}")
        texts.append(text)
    return texts


def column_of(X: Any) -> str | None:
    """Return which column of a given table holds the texts; None where it is no table."""
    X = _as_pandas(X)
    if isinstance(X, pd.DataFrame):
        return _text_column(X)
    return str(X.name) if isinstance(X, pd.Series) and X.name is not None else None


def index_of(X: Any) -> pd.Index[Any] | None:
    """Return the index that texts came with; None where they had none."""
    return X.index if isinstance(X, (pd.Series, pd.DataFrame)) else None


def _as_pandas(X: Any) -> Any:
    """Return what other libraries hold as pandas would; each of them knows how."""
    if isinstance(X, (pd.Series, pd.DataFrame)) or not hasattr(X, "to_pandas"):
        return X
    return X.to_pandas()


def _text_column(table: pd.DataFrame) -> str:
    try:
        return find_text_column(table)
    except InputError as problem:
        said = str(problem).replace("choose one with --text-column", "give one of them, as X['name']")
        raise InputError(said.replace(" with --text-column", ", as X['name']")) from None


def check_free_names(table: pd.DataFrame) -> None:
    """Refuse a table whose own columns have the names that ours will have."""
    for name in ("cluster", "confidence"):
        if name in table.columns:
            raise InputError(f"the input already has a column {name!r}; rename or remove it first")


def with_clusters(
    table: pd.DataFrame, clusters: Sequence[int | None], confidence: Sequence[float | None]
) -> pd.DataFrame:
    """Return the table with the columns `cluster` and `confidence`; rows without a text have neither."""
    check_free_names(table)
    return table.assign(
        cluster=pd.array(list(clusters), dtype="Int64"),
        confidence=pd.array([None if share is None else round(share, 4) for share in confidence], dtype="Float64"),
    )


def labelled(
    table: pd.DataFrame, texts: Sequence[str | None], clusters: NDArray[np.int64], confidence: NDArray[np.float32]
) -> pd.DataFrame:
    """Return the table with clusters, none in the rows that hold no text; a text that belongs nowhere has -1."""
    return with_clusters(
        table,
        [None if text is None else int(cluster) for text, cluster in zip(texts, clusters, strict=True)],
        [None if cluster < 0 else float(share) for cluster, share in zip(clusters, confidence, strict=True)],
    )


def _holds_words(column: pd.Series[Any], look_at: int = 1000) -> bool:
    """Tell whether most of the values have a letter and, as names of categories do not, some have a space."""
    values = [text for text in map(clean, column.head(look_at).astype(object)) if text]
    lettered = [text for text in values if any(character.isalpha() for character in text)]
    spaced = [text for text in lettered if any(character.isspace() for character in text.strip())]
    # Scripts that write without spaces still need more characters than a code for something said.
    sayings = spaced or [text for text in lettered if not text.isascii() and len(text) > 5]
    return bool(values) and 2 * len(lettered) > len(values) and 5 * len(sayings) > len(values)


def _listed(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
