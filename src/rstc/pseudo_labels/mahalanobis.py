"""Mahalanobis distances of embeddings to cluster means, with one covariance within all clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.numerics.fixed_blocks import BLOCK_ROWS as FIXED_ROWS
from rstc.numerics.fixed_blocks import multiply_rows

SHRINKAGE = 0.1  # of the covariance towards a sphere: directions of almost no variance are unreliable
PRIOR_TEXTS = 3  # texts at the mean of all that are added to each cluster when its mean is fitted
BLOCK_ROWS = 8_192

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ClusterDistances:
    """The means of clusters in a space in which Euclidean distance is the Mahalanobis distance.

    Attributes
    ----------
    whitening : (D, D) array
        Maps embeddings of length one to that space.
    centres : (M, D) array
        Cluster means in that space.
    """

    whitening: Floats
    centres: Floats

    def iter_squared(self, E: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of rows and their squared distances (n, M) to the means, for embeddings (N, D) of any length.

        Of at most `fixed_blocks.BLOCK_ROWS` embeddings, all bits of a row depend on its own embedding alone.
        """
        for start in range(0, len(E), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            multiply = multiply_rows if len(E) <= FIXED_ROWS else np.matmul
            points = multiply(normalize(E[block]), self.whitening)
            squares = (points**2).sum(1)[:, None] + (self.centres**2).sum(1) - 2 * multiply(points, self.centres.T)
            yield block, np.maximum(squares, 0)


def fit_cluster_distances(U: Floats, labels: Ints) -> ClusterDistances:
    """Fit the covariance within clusters, and the means of the clusters that hold a text, by number.

    Parameters
    ----------
    U : (N, D) array
        Embeddings of length one.
    labels : (N,) array
        Cluster of each text.

    Returns
    -------
    ClusterDistances
    """
    N, (clusters, cluster_ids) = len(U), np.unique(labels, return_inverse=True)
    sizes = np.bincount(cluster_ids)[:, None]
    membership = csr_matrix((np.ones(N), (cluster_ids, np.arange(N))), shape=(len(clusters), N))
    sums = membership @ U  # (M, D)
    deviations = U - (sums / sizes).astype(np.float32)[cluster_ids]
    covariance = (deviations.T @ deviations).astype(np.float64) / max(N - len(clusters), 1)
    D = len(covariance)
    sphere = max(np.trace(covariance) / D, 1e-12) * np.eye(D)
    root = np.linalg.cholesky((1 - SHRINKAGE) * covariance + SHRINKAGE * sphere)
    whitening = solve_triangular(root, np.eye(D), lower=True).T  # its product with its transpose is the inverse
    means = (sums + PRIOR_TEXTS * U.mean(0, dtype=np.float64)) / (sizes + PRIOR_TEXTS)
    return ClusterDistances(whitening.astype(np.float32), (means @ whitening).astype(np.float32))
