"""The merges that reduce the clusters of a run to a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rstc.io.predictions import NO_CLUSTER
from rstc.numerics.hierarchy import build_tree, cut_tree
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit


def find_merges(run: CorrectedRun, U: NDArray[np.float32], n_clusters: int) -> list[Edit]:
    """Return the corrections that merge the most similar clusters of a run until `n_clusters` are left.

    Parameters
    ----------
    run : CorrectedRun
        The run, N texts.
    U : array of float, shape (N, D)
        The embeddings of the texts at unit length.
    n_clusters : int
        The number of clusters to keep.
    """
    rows = np.flatnonzero(run.clusters != NO_CLUSTER)
    clusters, labels, sizes = np.unique(run.clusters[rows], return_inverse=True, return_counts=True)
    groups = cut_tree(build_tree(U[rows], labels, len(clusters)), n_clusters)
    edits: list[Edit] = []
    corrected, renamed = run.clusters.copy(), []
    for group in range(n_clusters):
        parts = np.flatnonzero(groups == group)
        parts = parts[np.argsort(-sizes[parts], kind="stable")]
        into, *others = (int(cluster) for cluster in clusters[parts])
        corrected[np.isin(corrected, others)] = into
        edits += [{"do": "merge", "cluster": cluster, "into": into, "name": None} for cluster in others]
        if others and not run.has_given_name(into):
            renamed.append(into)
    for into, name in zip(renamed, run.suggest_names(corrected, renamed), strict=True):
        last = max(i for i, edit in enumerate(edits) if edit["into"] == into)
        edits[last] = {**edits[last], "name": name}
    return edits
