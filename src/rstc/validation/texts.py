"""The rows of the input that hold a text, their order, and the expansion of their results to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.columns import TextColumn, clean_text, row_index, text_column_name, to_text_list
from rstc.runtime.progress import Watch


@dataclass(frozen=True)
class NonEmptyTexts:
    """The rows of an input that hold a text.

    Attributes
    ----------
    all_texts : list of str or None
        Cleaned text of every row, None for a row without text.
    rows : list of int
        Rows that hold a text, in ascending order unless they are ordered by hash.
    texts : list of str
        Texts of these rows.
    index : pandas.Index or None
        Index of the input, if it has one.
    column : str, list of str or None
        Name of the input's column, or of several whose texts were joined, if it has one.

    Examples
    --------
    >>> data = NonEmptyTexts.from_input(["late again", "", "lost"])
    >>> data.rows, data.expand(np.array([5, 7]), missing=-1).tolist()
    ([0, 2], [5, -1, 7])
    """

    all_texts: list[str | None]
    rows: list[int]
    texts: list[str]
    index: Any = None
    column: TextColumn | None = None

    @classmethod
    def from_input(cls, X: Any) -> NonEmptyTexts:
        """Read texts in any form that `rstc.io.columns.to_text_list` accepts."""
        return cls.from_list(to_text_list(X), row_index(X), text_column_name(X))

    @classmethod
    def from_list(cls, texts: list[str | None], index: Any = None, column: TextColumn | None = None) -> NonEmptyTexts:
        """Find the rows of a list of cleaned texts that hold a text."""
        rows = [i for i, text in enumerate(texts) if text is not None]
        return cls(texts, rows, [text for text in texts if text is not None], index, column)

    def order_by_hash(self) -> NonEmptyTexts:
        """Return the same texts in an order that does not depend on that of the input.

        Whatever is drawn at random or depends on a position afterwards is the same for shuffled rows. Hashes are
        compared rather than the texts, because texts that begin alike would be neighbours and could be on one topic.

        Examples
        --------
        >>> data = NonEmptyTexts.from_input(["late again", "", "lost"]).order_by_hash()
        >>> data.texts == NonEmptyTexts.from_input(["lost", "late again"]).order_by_hash().texts
        True
        """
        hashes = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in self.texts]
        order = sorted(range(len(hashes)), key=hashes.__getitem__)  # stable: equal texts stay in the order of rows
        return replace(self, rows=[self.rows[i] for i in order], texts=[self.texts[i] for i in order])

    def expand(self, values: NDArray[Any], missing: int) -> NDArray[Any]:
        """Expand values of the texts to values of all rows.

        Parameters
        ----------
        values : ndarray, (len(texts), ...)
            Value of each text.
        missing : int
            Value of a row without text.

        Returns
        -------
        ndarray, (len(all_texts), ...)
            The same array if every row holds a text and rows are in ascending order.
        """
        if self.rows == list(range(len(self.all_texts))):
            return values
        expanded = np.full((len(self.all_texts), *values.shape[1:]), missing, dtype=values.dtype)
        expanded[self.rows] = values
        return expanded

    def expand_list(self, values: Sequence[str]) -> list[str | None]:
        """Expand a string per text to a list for all rows, with None for a row without text."""
        expanded: list[str | None] = [None] * len(self.all_texts)
        for row, value in zip(self.rows, values, strict=True):
            expanded[row] = value
        return expanded

    def select_view(self, view: Sequence[Any], number: int) -> list[str | None]:
        """Return the cleaned view of each text.

        Parameters
        ----------
        view : sequence, (len(all_texts),)
            View of every row's text.
        number : int
            Number of the view in the error message, 1 or 2.
        """
        if len(view) != len(self.all_texts):
            raise InputError(f"view {number} has {len(view)} texts, but there are {len(self.all_texts)} texts")
        return [clean_text(view[row]) for row in self.rows]

    def select_features(self, features: Any) -> NDArray[np.float32] | None:
        """Return the features (N, F) of the texts; raise an InputError unless there is a finite row for every row."""
        if features is None:
            return None
        try:
            array = np.asarray(features, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError("features must be an array of numbers, one row for each text") from None
        if array.ndim != 2 or len(array) != len(self.all_texts) or not array.shape[1]:
            raise InputError(f"features must have shape ({len(self.all_texts)}, F), got {array.shape}")
        selected = array[self.rows]
        if not np.isfinite(selected).all():
            raise InputError("features must be finite numbers")
        return selected

    def wrap_watch(self, watch: Watch | None) -> Watch | None:
        """Wrap a callback of rows of the input as one of rows of the texts."""
        if watch is None:
            return None
        all_rows = np.asarray(self.rows)
        return lambda step, rows, clusters: watch(step, all_rows[rows], clusters)
