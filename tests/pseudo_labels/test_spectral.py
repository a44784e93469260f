"""The spectral embedding of the neighbour graph."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest_neighbours
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.pseudo_labels.spectral import embed_neighbour_graph, weight_edges


def _make_uneven_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Points around three directions, 150, 25 and 20."""
    rng, truth = np.random.default_rng(0), np.repeat([0, 1, 2], [150, 25, 20])
    return normalize(np.eye(8)[truth] + rng.normal(0, 0.25, (195, 8))).astype(np.float32), truth


def _similarities(E: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nkd->nk", E, E[neighbours])


def test_uneven_clusters_are_separated() -> None:
    E, truth = _make_uneven_blobs()
    neighbours, rng = nearest_neighbours(E, None, 12), np.random.default_rng(0)
    points = embed_neighbour_graph(neighbours, _similarities(E, neighbours), 3, rng)
    assert points is not None
    assert adjusted_rand_score(truth, fit_kmeans(points, 3, rng, 3).labels) > 0.95


def test_weights_are_symmetric_and_the_nearest_has_weight_one() -> None:
    E, _ = _make_uneven_blobs()
    neighbours = nearest_neighbours(E, None, 6)
    W = weight_edges(neighbours, _similarities(E, neighbours))
    assert abs(W - W.T).max() < 1e-12
    assert W[np.arange(195), neighbours[:, 1]] == pytest.approx(np.ones((1, 195)), abs=1e-6)
    assert W.max() <= 1 + 1e-9


def test_too_few_texts_are_not_embedded() -> None:
    neighbours = np.array([[0, 1], [1, 0], [2, 1]])
    assert embed_neighbour_graph(neighbours, np.ones((3, 2), np.float32), 2, np.random.default_rng(0)) is None
