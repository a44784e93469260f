"""The nearest texts of each text by their embeddings, for "more like this" on the page, which holds no encoder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_STORED = 5  # neighbours of each text
MAX_COMPARED = 30_000  # texts that are all compared with each other; of more, those that are close on the map
MAP_CANDIDATES = 40  # texts that are close on the map, for each neighbour-to-be


def find_text_neighbours(E: NDArray[np.float32], layout: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Find the texts of the largest cosine similarity to each text.

    Up to `MAX_COMPARED` texts the search is exact. Of more, the texts that are closest on the map are compared.

    Parameters
    ----------
    E : array of float, shape (N, D)
        Embeddings.
    layout : array of uint16, shape (N, 2)
        Positions of the texts on the map.

    Returns
    -------
    array of int32, shape (N, k)
        The numbers of the k most similar other texts, most similar first; k is `N_STORED`, or N - 1 if that is less.

    Examples
    --------
    >>> E = np.array([[1, 0], [0, 1], [0.9, 0.1]], dtype=np.float32)
    >>> find_text_neighbours(E, np.zeros((3, 2), dtype=np.uint16)).tolist()
    [[2, 1], [2, 0], [0, 1]]
    """
    from sklearn.preprocessing import normalize

    k = min(N_STORED, len(E) - 1)
    if k < 1:
        return np.zeros((len(E), 0), dtype=np.int32)
    unit = np.asarray(normalize(E), dtype=np.float32)
    if len(E) > MAX_COMPARED:
        return _rank_map_neighbours(unit, layout, k)
    from rstc.numerics.nearest import nearest_neighbours

    return nearest_neighbours(unit, None, k + 1)[:, 1:].astype(np.int32)


def _rank_map_neighbours(unit: NDArray[np.float32], layout: NDArray[np.uint16], k: int) -> NDArray[np.int32]:
    """Return the k most similar of the texts that are closest on the map."""
    from scipy.spatial import cKDTree

    positions = layout.astype(np.float64)
    tree, neighbours = cKDTree(positions), np.empty((len(unit), k), dtype=np.int32)
    for start in range(0, len(unit), 4096):
        rows = np.arange(start, min(start + 4096, len(unit)))
        candidates = tree.query(positions[rows], MAP_CANDIDATES + 1)[1]  # (rows, candidates)
        similarity = np.einsum("rd,rcd->rc", unit[rows], unit[candidates])
        similarity[candidates == rows[:, None]] = -np.inf
        best = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        neighbours[rows] = np.take_along_axis(candidates, best, axis=1)
    return neighbours
