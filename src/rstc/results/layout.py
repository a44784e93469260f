"""Places on a flat map: texts that are near each other in the learned space are near each other on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

TEXTS_TO_LAY_OUT = 5_000  # by t-SNE; the others are placed among them
FEW = 10  # for which t-SNE has no neighbours to keep together
DIMENSIONS = 50
NEIGHBOURS = 5
SHARPNESS = 20  # by how much a nearer neighbour has more say
ROWS_A_PIECE = 4096
SPREAD = (
    0.004  # of the map, around the place that a text's neighbours give it, so that equal ones do not hide each other
)
FURTHEST = 65535

Places = NDArray[np.uint16]  # (N, 2), 0 to FURTHEST each way


def places(E: NDArray[np.float32]) -> Places:
    """Return where texts stand on a map, by their embeddings (N, D); the same ones for the same embeddings.

    Few texts are laid out by their main directions, more by t-SNE. Of many, a random sample is laid out, and the others
    stand where their nearest texts of the sample do. Equal texts stand side by side.

    >>> places(np.eye(3, dtype=np.float32)).shape
    (3, 2)
    """
    E = np.asarray(normalize(E), dtype=np.float32)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(len(E), min(TEXTS_TO_LAY_OUT, len(E)), replace=False))
    # Equal points would stand on each other, and t-SNE breaks down if all are.
    distinct, first, which = np.unique(E[chosen], axis=0, return_index=True, return_inverse=True)
    laid_out = _laid_out(distinct)
    everywhere = laid_out[which] if len(chosen) == len(E) else _among(E, distinct, laid_out)
    beside = np.ones(len(E), dtype=bool)
    beside[chosen[first]] = False
    spread = SPREAD * np.maximum(np.ptp(laid_out, axis=0), 1e-12)
    everywhere[beside] += rng.normal(scale=spread, size=(beside.sum(), 2))
    return _on_the_map(everywhere)


def _among(E: NDArray[np.float32], sample: NDArray[np.float32], flat: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places (N, 2) of points (N, D) among some that are laid out."""
    everywhere, near = np.empty((len(E), 2)), min(NEIGHBOURS, len(sample))
    for start in range(0, len(E), ROWS_A_PIECE):
        similarity = E[start : start + ROWS_A_PIECE] @ sample.T  # (rows, sample)
        nearest = np.argpartition(-similarity, near - 1, axis=1)[:, :near]
        # The nearest one's place, pulled a little to the others': a mean of places far apart lies where nobody is.
        weights = np.exp(SHARPNESS * np.take_along_axis(similarity, nearest, axis=1))
        weighted = (weights[:, :, None] * flat[nearest]).sum(1) / weights.sum(1)[:, None]
        everywhere[start : start + ROWS_A_PIECE] = weighted
    return everywhere


def _laid_out(E: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return places (N, 2) of distinct points (N, D)."""
    if len(E) < FEW:
        return _main_directions(E, 2)
    points = _main_directions(E, DIMENSIONS)
    with threadpool_limits(limits=1, user_api="openmp"):  # several threads add up in the order they finish
        flat = TSNE(2, perplexity=min(30.0, (len(E) - 1) / 3), init="pca", random_state=0).fit_transform(points)
    return np.asarray(flat, dtype=np.float64)


def _main_directions(E: NDArray[np.float32], most: int) -> NDArray[np.float64]:
    """Return the points in their main directions, `most` of them or zeros where there are fewer."""
    if len(E) < 2:
        return np.zeros((len(E), most))
    found = PCA(min(most, *E.shape), svd_solver="full" if len(E) < 500 else "randomized", random_state=0)
    points = found.fit_transform(E)
    return np.asarray(np.pad(points, ((0, 0), (0, max(0, min(most, 2) - points.shape[1])))), dtype=np.float64)


def _on_the_map(flat: NDArray[np.float64]) -> Places:
    """Return places in whole numbers that fill the map, strays at its edge."""
    low, high = np.quantile(flat, [0.001, 0.999], axis=0)
    middle, reach = (low + high) / 2, max(float((high - low).max()), 1e-12)
    return np.asarray(np.clip((flat - middle) / reach + 0.5, 0, 1) * FURTHEST, dtype=np.uint16)
