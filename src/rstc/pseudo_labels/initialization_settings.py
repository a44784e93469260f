"""How initial labels are found: settings, and the mixes of feature sets and starts that are compared."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.pseudo_labels.features import CUSTOM, EMBEDDING, STATIC, WORDS
from rstc.pseudo_labels.transport.marginals import suggest_eps2

STARTS = ("kmeans", "linkage")  # that "auto" compares; "spectral" is for users who know that it fits
WEIGHTS = {STATIC: (0.0, 1.0), CUSTOM: (0.0, 1.0), WORDS: (0.0, 0.5, 1.0)}  # that "auto" tries
UNDECIDED_WEIGHTS = {STATIC: 1.0, CUSTOM: 1.0, WORDS: 0.5}  # where no candidates are compared

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class InitializationSettings:
    """How to find labels; the fields are those of `Config`.

    Attributes
    ----------
    start : str
        "kmeans", "linkage", "spectral", or "auto" to compare the first two.
    kmeans_starts : int
        Number of runs of k-means, of which the best is kept.
    swaps : bool
        Whether k-means is improved by swaps.
    unit_length : bool
        Whether embeddings are scaled to length one.
    words : float or "auto"
        Weight of the words; that of the embeddings is 1. 0: no words. "auto" compares several.
    static : float or "auto"
        Weight of the static word vectors.
    neighbours : int
        Number of neighbours, the text itself included, that a point is averaged over; 0: none.
    rounds : int
        Number of cross-fitted rounds; 0: the labels of the start are not changed.
    eps1 : float
        Weight of the plan's entropy.
    eps2 : float or str
        Weight of the penalty on class sizes, or "auto" to choose it from the cluster sizes of the start.
    """

    start: str
    kmeans_starts: int
    swaps: bool
    unit_length: bool
    words: float | str
    static: float | str
    neighbours: int
    rounds: int
    eps1: float
    eps2: float | str

    @classmethod
    def from_config(cls, config: Any) -> InitializationSettings:
        """Take the settings from an object that has them as attributes, such as a `Config`."""
        return cls(**{field.name: getattr(config, field.name) for field in fields(cls)})

    @property
    def is_plain_kmeans(self) -> bool:
        """Whether labels are those of k-means on the embeddings, as in the paper."""
        return self.start == "kmeans" and not (
            self.swaps or self.words or self.static or self.neighbours or self.rounds
        )

    @property
    def fixed_mix(self) -> dict[str, float]:
        """The weights of the feature sets that are given as numbers."""
        given = {STATIC: self.static, WORDS: self.words}
        return {name: float(weight) for name, weight in given.items() if not isinstance(weight, str)}

    def choose_eps2(self, sizes: Ints) -> float:
        """Return eps2 for clusters of these sizes, (C,)."""
        return suggest_eps2(sizes) if isinstance(self.eps2, str) else self.eps2

    def list_mixes(self, names: tuple[str, ...]) -> list[dict[str, float]]:
        """Return the mixes of these feature sets to compare."""
        fixed = {WORDS: self.words, STATIC: self.static, CUSTOM: "auto"}
        others = [name for name in names if name != EMBEDDING]
        weights = [WEIGHTS[name] if isinstance(weight := fixed[name], str) else (float(weight),) for name in others]
        return [dict(zip(others, combination, strict=True)) for combination in product(*weights)]

    def list_starts(self) -> list[str]:
        """Return the starts to compare."""
        return list(STARTS) if self.start == "auto" else [self.start]
