"""Spectral clustering of the neighbour graph (Ng, Jordan and Weiss 2001): clusters of any shape and size.

The graph's edges have the weights of UMAP (McInnes et al. 2018): exp(-(d - rho_i) / sigma_i), where d is the cosine
distance of two neighbours, rho_i the smallest one of text i, and sigma_i is set so that the weights of each text sum to
log2 k; both directions of an edge are joined by a + b - a b. The rows of the first C eigenvectors of D^-1/2 W D^-1/2,
at length one, are clustered by k-means.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.preprocessing import normalize

BISECTION_STEPS = 40
EIGENVECTOR_TOLERANCE = 1e-4  # k-means follows; more digits would change hardly a label

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def embed_neighbour_graph(
    neighbours: Ints, similarities: Floats, n_clusters: int, rng: np.random.Generator
) -> Floats | None:
    """Embed texts by the first eigenvectors of their neighbour graph.

    Parameters
    ----------
    neighbours : (N, k) array
        Neighbours of each text, the text itself first.
    similarities : (N, k) array
        Cosine similarity to each of them.
    n_clusters : int
        Number of eigenvectors.
    rng : numpy.random.Generator
        Draws the start of the iteration.

    Returns
    -------
    (N, C) array or None
        Rows of length one; None if there are too few texts or the iteration does not converge.

    >>> neighbours = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1], [3, 4, 5], [4, 3, 5], [5, 3, 4]])
    >>> points = embed_neighbour_graph(neighbours, np.full((6, 3), 0.9, np.float32), 2, np.random.default_rng(0))
    >>> (points @ points.T > 0.5).astype(int)[0].tolist()
    [1, 1, 1, 0, 0, 0]
    """
    N = len(neighbours)
    if n_clusters >= N - 1 or neighbours.shape[1] < 2:
        return None
    W = weight_edges(neighbours, similarities)
    scale = diags(1 / np.sqrt(np.maximum(np.asarray(W.sum(1)).ravel(), 1e-12)))
    try:
        _, U = eigsh(scale @ W @ scale, k=n_clusters, v0=rng.random(N), tol=EIGENVECTOR_TOLERANCE)
    except ArpackNoConvergence:
        return None
    return np.asarray(normalize(U), dtype=np.float32)


def weight_edges(neighbours: Ints, similarities: Floats) -> csr_matrix:
    """Return the symmetric weights (N, N) of the graph that joins each text to its neighbours."""
    N, k = neighbours.shape[0], neighbours.shape[1] - 1
    distances = np.maximum(1 - similarities[:, 1:].astype(np.float64), 0)
    excess = distances - distances.min(1, keepdims=True)
    target = np.log2(k + 1)
    low: NDArray[np.float64] = np.zeros(N)
    high: NDArray[np.float64] = np.full(N, 10.0)
    for _ in range(BISECTION_STEPS):
        sigma = (low + high) / 2
        is_large = np.exp(-excess / np.maximum(sigma, 1e-9)[:, None]).sum(1) > target
        high, low = np.where(is_large, sigma, high), np.where(is_large, low, sigma)
    weights = np.exp(-excess / np.maximum(high, 1e-6)[:, None])
    W = csr_matrix((weights.ravel(), (np.repeat(np.arange(N), k), neighbours[:, 1:].ravel())), (N, N))
    return csr_matrix(W + W.T - W.multiply(W.T))
