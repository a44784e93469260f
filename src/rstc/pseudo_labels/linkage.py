"""Labels by average linkage: the start for data of which a few clusters hold most texts and many hold few.

k-means cuts a large cluster in two sooner than it gives a small one a centre of its own. Average linkage merges what
is most similar, whatever its size. So that it can be done for many texts, and lone texts do not become clusters, texts
are first gathered into micro-clusters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

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
    means = np.zeros((len(sizes), points.shape[1]), dtype=np.float32)
    np.add.at(means, micro, points)
    means /= sizes[:, None]
    return _cut(_merges(means, sizes.astype(np.float64)), len(sizes), n_clusters)[micro]


def _micro_clusters(points: NDArray[np.float32], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    kmeans = KMeans(n, init="random", n_init=1, max_iter=LLOYD_STEPS, random_state=int(rng.integers(2**31)))
    return np.asarray(np.unique(fitted(kmeans, points).labels_, return_inverse=True)[1], dtype=np.int64)


def _merges(means: NDArray[np.float32], sizes: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Return all merges of average linkage as (kept, gone, similarity), found along chains of nearest neighbours.

    The mean similarity of two clusters is the product of their mean vectors, and that of a merged one is the mean of
    its parts', weighted by their sizes. scipy's linkage has no weights to begin with.
    """
    similarity = means @ means.T
    np.fill_diagonal(similarity, -np.inf)
    sizes, alive = sizes.copy(), np.ones(len(sizes), dtype=bool)
    merges: list[tuple[int, int, float]] = []
    chain: list[int] = []
    while len(merges) < len(sizes) - 1:
        if not chain:
            chain = [int(alive.argmax())]
        a, b = chain[-1], int(similarity[chain[-1]].argmax())
        before = chain[-2] if len(chain) > 1 else None
        if before is None or similarity[a, before] < similarity[a, b]:
            chain.append(b)
            continue
        del chain[-2:]
        merges.append((a, before, float(similarity[a, before])))
        row = (sizes[a] * similarity[a] + sizes[before] * similarity[before]) / (sizes[a] + sizes[before])
        row[a] = -np.inf
        similarity[a], similarity[:, a] = row, row
        similarity[before], similarity[:, before] = -np.inf, -np.inf
        alive[before] = False
        sizes[a] += sizes[before]
    return merges


def _cut(merges: list[tuple[int, int, float]], n: int, n_clusters: int) -> NDArray[np.int64]:
    """Apply merges, the most similar first, until so many clusters are left."""
    first = sorted(merges, key=lambda merge: -merge[2])[: max(n - n_clusters, 0)]
    kept, gone = [merge[0] for merge in first], [merge[1] for merge in first]
    joined = coo_matrix((np.ones(len(first)), (kept, gone)), shape=(n, n))
    return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)
