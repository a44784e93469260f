"""t-SNE maps of text embeddings, for the paper's figure of representations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

MAX_POINTS = 2000  # more would hide each other


def tsne_map(E: NDArray[np.float32], true_labels: Sequence[str]) -> dict[str, Any]:
    """Project a random sample of embeddings to two dimensions by t-SNE.

    Parameters
    ----------
    E : ndarray of shape (N, D)
        The embeddings.
    true_labels : sequence of str of length N
        The true class of each text, which colours its point.

    Returns
    -------
    dict
        `x` and `y` of each point, and the number of its class, `class`.

    Examples
    --------
    >>> points = tsne_map(np.eye(8, dtype=np.float32), list("abababab"))
    >>> len(points["x"]), len(points["y"]), points["class"]
    (8, 8, [0, 1, 0, 1, 0, 1, 0, 1])
    """
    rows: list[int] = list(range(len(E)))
    if len(E) > MAX_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(len(E), MAX_POINTS, replace=False)).tolist()
    unit = normalize(E[rows])  # so that neighbours by Euclidean distance are those by cosine
    perplexity = min(30.0, (len(rows) - 1) / 3)
    xy = TSNE(2, perplexity=perplexity, init="pca", random_state=0).fit_transform(unit)
    class_numbers = {name: number for number, name in enumerate(sorted(set(true_labels)))}
    return {
        "x": np.round(xy[:, 0], 2).tolist(),
        "y": np.round(xy[:, 1], 2).tolist(),
        "class": [class_numbers[true_labels[row]] for row in rows],
    }
