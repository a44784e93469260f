"""The first labels: k-means of the embeddings, before any transport has a prediction to work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

TEXTS_TO_COMPETE_ON = 20_000


@dataclass(frozen=True)
class FirstLabels:
    """First labels (N,) and the cluster centres (C, D) they belong to."""

    labels: NDArray[np.int64]
    centres: NDArray[np.float32]


def kmeans_labels(E: NDArray[np.float32], n_clusters: int, rng: np.random.Generator, starts: int) -> FirstLabels:
    """Cluster embeddings (N, D) by k-means++, the best of `starts` runs.

    With many texts the runs compete on a random sample, and the best one's centres are then moved on all of them.

    >>> E = np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32)
    >>> found = kmeans_labels(E, 2, np.random.default_rng(0), starts=1).labels
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """
    kmeans = KMeans(n_clusters, n_init=starts, random_state=int(rng.integers(2**31)))
    # The threads of k-means add up in the order they finish; on one thread the same seed gives the same bits.
    with threadpool_limits(limits=1, user_api="openmp"):
        enough = max(TEXTS_TO_COMPETE_ON, 10 * n_clusters)
        if len(E) > enough:
            sample = np.sort(rng.choice(len(E), enough, replace=False))
            kmeans = KMeans(n_clusters, init=kmeans.fit(E[sample]).cluster_centers_, n_init=1)
        kmeans.fit(E)
    return FirstLabels(kmeans.labels_.astype(np.int64), kmeans.cluster_centers_.astype(np.float32))
