"""Matching of two clusterings of the same texts: which label of one is which cluster of the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

Ints = NDArray[np.int64]


def match_labels(
    labels: Ints, clusters: Ints, n_clusters: int, n_classes: int = 0, processes: ProcessGroup = SINGLE_PROCESS
) -> Ints:
    """Match labels one to one with clusters, so that as many texts as possible keep their cluster.

    Parameters
    ----------
    labels, clusters : ndarray of shape (n,)
        The label and the cluster of each text of this process.
    n_clusters : int
        C.
    n_classes : int
        Number of given classes; labels below it keep their numbers.
    processes : ProcessGroup
        The processes that the texts are distributed over.

    Returns
    -------
    ndarray of shape (C,)
        The cluster of each label.

    Examples
    --------
    >>> match_labels(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    array([1, 0])
    """
    pairs = processes.all_reduce_array(np.bincount(labels * n_clusters + clusters, minlength=n_clusters**2))
    overlap = pairs.reshape(n_clusters, n_clusters)
    cluster_of_label = np.arange(n_clusters)
    cluster_of_label[n_classes:] = n_classes + linear_sum_assignment(-overlap[n_classes:, n_classes:])[1]
    return cluster_of_label
