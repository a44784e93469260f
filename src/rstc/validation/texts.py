"""Texts that are there, among rows of which some hold none: what is found for the texts goes back to the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.columns import as_texts, clean, column_of, index_of

if TYPE_CHECKING:
    from rstc.training.history import Watch


@dataclass(frozen=True)
class Present:
    """Given texts.

    Attributes:
        all: as they were given, None where there is none.
        rows: which of them are there.
        texts: those.
        index, column: where they came from, if they came with a name.
    """

    all: list[str | None]
    rows: list[int]
    texts: list[str]
    index: Any = None
    column: str | None = None

    @classmethod
    def read(cls, X: Any) -> Present:
        """Read texts as people have them."""
        return cls.of(as_texts(X), index_of(X), column_of(X))

    @classmethod
    def of(cls, everything: list[str | None], index: Any = None, column: str | None = None) -> Present:
        """Tell which texts are there."""
        rows = [i for i, text in enumerate(everything) if text is not None]
        return cls(everything, rows, [text for text in everything if text is not None], index, column)

    def spread(self, values: NDArray[Any], missing: int) -> NDArray[Any]:
        """Put the rows of the texts that are there among those that are missing."""
        if len(self.rows) == len(self.all):
            return values
        out = np.full((len(self.all), *values.shape[1:]), missing, dtype=values.dtype)
        out[self.rows] = values
        return out

    def of_view(self, view: Sequence[Any], number: int) -> list[str | None]:
        """Return what a given view, the first or the second, has for the texts that are there."""
        if len(view) != len(self.all):
            raise InputError(f"view {number} has {len(view)} texts, but there are {len(self.all)} texts")
        return [clean(view[i]) for i in self.rows]

    def among_all(self, watch: Watch | None) -> Watch | None:
        """Return a watcher that is shown rows among the texts that are there, and shows those among all."""
        if watch is None:
            return None
        places = np.asarray(self.rows)
        return lambda step, rows, clusters: watch(step, places[rows], clusters)
