"""Two-dimensional map of the texts: PCA for few texts, t-SNE for more, of a subsample where there are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

from rstc.runtime.threads import limit_library_threads

TSNE_TEXTS = 3_000  # the other texts are placed among these
PERPLEXITY = 15.0
ANGLE = 0.8  # of Barnes-Hut: larger is faster and coarser
MAX_ITER = 350  # scikit-learn takes 250 of them with exaggerated similarities; the map changes little afterwards
MIN_TSNE_TEXTS = 10  # t-SNE needs neighbours
PCA_DIMENSIONS = 50
N_NEIGHBOURS = 5  # that place a text outside the subsample
SHARPNESS = 20  # the weight of a neighbour is exp(SHARPNESS * cosine)
BLOCK_ROWS = 4096
JITTER = 0.004  # of the extent of the map: equal texts do not hide each other
MAX_COORDINATE = 65535

Layout = NDArray[np.uint16]  # (N, 2), coordinates from 0 to MAX_COORDINATE


@limit_library_threads("blas")
def compute_layout(E: NDArray[np.float32]) -> Layout:
    """Place texts on a map such that texts with similar embeddings are near each other.

    A random subsample of at most `TSNE_TEXTS` texts is laid out by t-SNE, or by PCA if it has fewer than
    `MIN_TSNE_TEXTS` distinct texts. The other texts are placed at the weighted mean of their nearest texts in the
    subsample. Equal texts are placed side by side. The result is deterministic.

    Parameters
    ----------
    E : array of float, shape (N, D)
        Embeddings of the texts.

    Returns
    -------
    array of uint16, shape (N, 2)
        Coordinates from 0 to `MAX_COORDINATE`.

    Examples
    --------
    >>> compute_layout(np.eye(3, dtype=np.float32)).shape
    (3, 2)
    """
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(len(E), min(TSNE_TEXTS, len(E)), replace=False))
    # Equal points would be drawn on top of each other, and t-SNE fails if all points are equal.
    points = np.asarray(normalize(E[sample]), dtype=np.float32)
    distinct, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    laid_out = _lay_out(distinct)  # (M, 2)
    layout = laid_out[inverse] if len(sample) == len(E) else _interpolate(E, distinct, laid_out)
    is_jittered = np.ones(len(E), dtype=bool)
    is_jittered[sample[first]] = False
    scale = JITTER * np.maximum(np.ptp(laid_out, axis=0), 1e-12)
    layout[is_jittered] += rng.normal(scale=scale, size=(is_jittered.sum(), 2))
    return _to_coordinates(layout)


def _interpolate(
    E: NDArray[np.float32], sample: NDArray[np.float32], laid_out: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Place points (N, D) among a sample (M, D) that is laid out (M, 2)."""
    layout, k = np.empty((len(E), 2)), min(N_NEIGHBOURS, len(sample))
    for start in range(0, len(E), BLOCK_ROWS):
        similarity = normalize(E[start : start + BLOCK_ROWS]) @ sample.T  # (rows, M)
        nearest = np.argpartition(-similarity, k - 1, axis=1)[:, :k]
        # Sharp weights: the plain mean of neighbours that lie far apart would be in an empty part of the map.
        weights = np.exp(SHARPNESS * np.take_along_axis(similarity, nearest, axis=1))
        mean = (weights[:, :, None] * laid_out[nearest]).sum(1) / weights.sum(1)[:, None]
        layout[start : start + BLOCK_ROWS] = mean
    return layout


def _lay_out(E: NDArray[np.float32]) -> NDArray[np.float64]:
    """Lay out distinct points (N, D) in two dimensions."""
    if len(E) < MIN_TSNE_TEXTS:
        return _project(E, 2)
    projected = _project(E, PCA_DIMENSIONS)
    with limit_library_threads("openmp"):  # several threads would sum in the order they finish
        perplexity = min(PERPLEXITY, (len(E) - 1) / 3)
        tsne = TSNE(2, perplexity=perplexity, init="pca", angle=ANGLE, max_iter=MAX_ITER, random_state=0)
        return np.asarray(tsne.fit_transform(projected), dtype=np.float64)


def _project(E: NDArray[np.float32], n_components: int) -> NDArray[np.float64]:
    """Project points on at most `n_components` principal components, padded with zeros to at least two."""
    if len(E) < 2:
        return np.zeros((len(E), n_components))
    pca = PCA(min(n_components, *E.shape), svd_solver="full" if len(E) < 500 else "randomized", random_state=0)
    projected = pca.fit_transform(E)
    padding = max(0, min(n_components, 2) - projected.shape[1])
    return np.asarray(np.pad(projected, ((0, 0), (0, padding))), dtype=np.float64)


def _to_coordinates(layout: NDArray[np.float64]) -> Layout:
    """Scale a layout to fill the map; points beyond the 0.1 % and 99.9 % quantiles are clipped to the edge."""
    low, high = np.quantile(layout, [0.001, 0.999], axis=0)
    middle, extent = (low + high) / 2, max(float((high - low).max()), 1e-12)
    return np.asarray(np.clip((layout - middle) / extent + 0.5, 0, 1) * MAX_COORDINATE, dtype=np.uint16)
