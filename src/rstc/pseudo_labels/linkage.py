"""Labels by average linkage: the start for data of which a few clusters hold most texts and many hold few.

k-means cuts a large cluster in two sooner than it gives a small one a centre of its own. Average linkage merges what
is most similar, whatever its size. So that it can be done for many texts, and lone texts do not become clusters, texts
are first gathered into micro-clusters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from rstc.numerics.hierarchy import group_means, groups_of, tree_over_means
from rstc.pseudo_labels.kmeans import fitted

MICRO_CLUSTERS = 1500
MICRO_CLUSTERS_A_CLUSTER = 4
LLOYD_STEPS = 10  # micro-clusters need not be good, only small


def linkage_labels(points: NDArray[np.float32], n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Cluster points of length one (N, D) by average linkage in cosine, from micro-clusters on.

    >>> points = np.array([[1, 0], [1, 0.01], [1, 0.02], [0, 1], [0.01, 1], [-1, 0]], dtype=np.float32)
    >>> found = linkage_labels(points, 3, np.random.default_rng(0))
    >>> len(set(found)), bool(found[3] == found[4])
    (3, True)
    """
    N = len(points)
    wanted = min(max(MICRO_CLUSTERS, MICRO_CLUSTERS_A_CLUSTER * n_clusters), max(N // 2, n_clusters))
    micro = _micro_clusters(points, wanted, rng)
    sizes = np.bincount(micro)
    tree = tree_over_means(group_means(points, micro, len(sizes)), sizes.astype(np.float64))
    return groups_of(tree, min(n_clusters, len(sizes)))[micro]


def _micro_clusters(points: NDArray[np.float32], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    kmeans = KMeans(n, init="random", n_init=1, max_iter=LLOYD_STEPS, random_state=int(rng.integers(2**31)))
    return np.asarray(np.unique(fitted(kmeans, points).labels_, return_inverse=True)[1], dtype=np.int64)
