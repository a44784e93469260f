"""Neighbour NMI, which scores clusters by the nearest neighbours of each text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def neighbour_nmi(labels: NDArray[np.int64], neighbours: NDArray[np.int64]) -> float:
    """Compute the normalised mutual information between a text's label and its neighbours' labels.

    It is I(L; L') / H(L), where (L, L') are the labels of a text and of one of its neighbours, drawn at random. A
    boundary through a dense region lowers it, because neighbours are on both sides. So does a cluster that holds almost
    all texts, because its entropy is low. Balanced and imbalanced clusterings can be compared by it.

    Parameters
    ----------
    labels : (N,) array
        Cluster of each text.
    neighbours : (N, k) array
        Neighbours of each text; the first column, the text itself, is left out.

    Returns
    -------
    float
        From 0 to 1; 0 if there is one cluster only.

    >>> neighbours = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    >>> round(neighbour_nmi(np.array([0, 0, 1, 1]), neighbours), 3)
    1.0
    >>> round(neighbour_nmi(np.array([0, 0, 0, 1]), neighbours), 3)
    0.151
    """
    C = int(labels.max()) + 1
    joint = np.zeros((C, C))
    for column in neighbours.T[1:]:
        joint += np.bincount(labels * C + labels[column], minlength=C * C).reshape(C, C)
    joint = (joint + joint.T) / (2 * max(joint.sum(), 1))
    marginal = joint.sum(1)
    positive = marginal[marginal > 0]
    entropy = -(positive * np.log(positive)).sum()
    if entropy <= 0:
        return 0.0
    cells = joint > 0
    return float((joint[cells] * np.log(joint[cells] / np.outer(marginal, marginal)[cells])).sum() / entropy)
