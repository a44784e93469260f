"""A flat map of a representation, by t-SNE: what the paper's figure of representations shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

MOST_POINTS = 2000  # more would hide each other


def flat_map(E: NDArray[np.float32], truth: Sequence[str]) -> dict[str, Any]:
    """Return places x, y for a fixed random sample of embeddings (N, D), and the class of each, as a number.

    >>> found = flat_map(np.eye(8, dtype=np.float32), list("abababab"))
    >>> len(found["x"]), len(found["y"]), found["class"]
    (8, 8, [0, 1, 0, 1, 0, 1, 0, 1])
    """
    rows: list[int] = list(range(len(E)))
    if len(E) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(len(E), MOST_POINTS, replace=False)).tolist()
    points = normalize(E[rows])  # so that Euclidean neighbours are those by cosine
    perplexity = min(30.0, (len(rows) - 1) / 3)
    xy = TSNE(2, perplexity=perplexity, init="pca", random_state=0).fit_transform(points)
    names = {name: number for number, name in enumerate(sorted(set(truth)))}
    return {
        "x": np.round(xy[:, 0], 2).tolist(),
        "y": np.round(xy[:, 1], 2).tolist(),
        "class": [names[truth[row]] for row in rows],
    }
