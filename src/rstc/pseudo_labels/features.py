"""The points among which clusters are looked for: embeddings and words side by side, averaged with the neighbours'."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.neighbours import smoothed

Floats = NDArray[np.float32]


def side_by_side(E: Floats, topics: Floats | None, weight: float, near: NDArray[np.int64] | None) -> Floats:
    """Return what the encoder and the words say of each text (N, D + topics), at length one.

    Args:
        E: embeddings of length one, (N, D).
        topics: the words in few dimensions, (N, T); None: the embeddings alone.
        weight: of the words beside the encoder, whose own is 1.
        near: the neighbours, the text itself included, that each side is averaged with, (N, k); None: it is not.
    """
    if topics is None and near is None:
        return E
    sides = [(1.0, E)] if topics is None else [(1.0, E), (weight, topics)]
    if near is not None:
        sides = [(share, smoothed(side, near)) for share, side in sides]
    return np.asarray(normalize(np.hstack([share * side for share, side in sides])), dtype=np.float32)
