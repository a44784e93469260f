"""The figure of the hierarchy: the tree over the clusters as a dendrogram, with their names and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rstc.report.colours import GREY
from rstc.report.figure_style import shorten_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INCHES_PER_CLUSTER = 0.24
MIN_HEIGHT, MAX_HEIGHT = 2.5, 60.0  # inches
MAX_NAME_LENGTH = 44  # characters
FONT_SIZE = 9.0
LINE = "#5f6368"

Join = Sequence[float]  # cluster, other cluster, distance: joins the subtrees that hold the two


def draw_hierarchy(
    figure: Figure,
    joins: Sequence[Join],
    names: Mapping[int, str],
    sizes: Mapping[int, int],
    colours: Mapping[int, str],
) -> None:
    """Draw the tree over the clusters from left, where all are one, to right, with a bar for each cluster's size.

    Parameters
    ----------
    figure : Figure
        An empty figure, whose height is set to the number of clusters.
    joins : sequence of (int, int, float)
        The joins of subtrees, nearest first; a cluster that no join mentions is drawn below the tree.
    names : mapping
        The name of each cluster.
    sizes : mapping
        The number of texts of each cluster.
    colours : mapping
        The colour of each cluster in hexadecimal.
    """
    from scipy.cluster.hierarchy import dendrogram

    leaves, linkage = build_linkage(joins, list(names))
    figure.set_figheight(min(max(INCHES_PER_CLUSTER * len(names) + 0.9, MIN_HEIGHT), MAX_HEIGHT))
    tree_axes, bar_axes = figure.subplots(1, 2, width_ratios=[1.15, 1])
    order = leaves
    if len(linkage):
        drawn = dendrogram(linkage, no_plot=True, orientation="left")
        order = [leaves[i] for i in drawn["leaves"]]
        # scipy's leaves lie at 5, 15, 25, ...; here at 0, 1, 2, ... from the top.
        for heights, positions in zip(drawn["dcoord"], drawn["icoord"], strict=True):
            tree_axes.plot(heights, (np.array(positions) - 5) / 10, color=LINE, lw=1.0, solid_joinstyle="miter")
    order = [*order, *(cluster for cluster in names if cluster not in set(order))]
    rows = np.arange(len(order))
    shown = [colours.get(cluster, GREY) for cluster in order]
    tree_axes.scatter(np.zeros(len(order)), rows, c=shown, s=26, zorder=3, clip_on=False)
    tree_axes.invert_xaxis()
    tree_axes.set_xlim(right=0)
    tree_axes.set_ylim(len(order) - 0.4, -0.6)
    tree_axes.set_yticks([])
    tree_axes.set_xlabel("distance (1 - cosine similarity)", fontsize=FONT_SIZE)
    tree_axes.spines[["top", "left", "right"]].set_visible(False)

    bar_axes.barh(rows, [sizes.get(cluster, 0) for cluster in order], height=0.62, color=shown)
    bar_axes.set_yticks(rows, [shorten_name(names[cluster], MAX_NAME_LENGTH) for cluster in order], fontsize=FONT_SIZE)
    bar_axes.tick_params(axis="y", length=0)
    bar_axes.set_ylim(*tree_axes.get_ylim())
    bar_axes.set_xlabel("number of texts", fontsize=FONT_SIZE)
    for row, cluster in enumerate(order):
        bar_axes.annotate(
            f"{sizes.get(cluster, 0):,}", (sizes.get(cluster, 0), row), (4, 0), textcoords="offset points",
            va="center", fontsize=FONT_SIZE - 1, color=LINE,
        )  # fmt: skip
    bar_axes.margins(x=0.12)
    bar_axes.spines[["top", "right", "left"]].set_visible(False)


def build_linkage(joins: Sequence[Join], clusters: Sequence[int]) -> tuple[list[int], NDArray[np.float64]]:
    """Return the clusters of a tree in some order, and its joins as a linkage matrix of scipy over them.

    Parameters
    ----------
    joins : sequence of (int, int, float)
        The joins of subtrees, in the order in which they are made.
    clusters : sequence of int
        The clusters; those that are in no join are left out.

    Returns
    -------
    leaves : list of int
        The clusters in the tree.
    linkage : array of float, shape (n - 1, 4)

    Examples
    --------
    >>> leaves, linkage = build_linkage([(3, 5, 0.2), (5, 8, 0.9)], [3, 5, 7, 8])
    >>> leaves, linkage.tolist()
    ([3, 5, 8], [[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 0.9, 3.0]])
    """
    joined = {int(cluster) for first, second, _ in joins for cluster in (first, second)}
    leaves = [cluster for cluster in clusters if cluster in joined]
    node = {cluster: i for i, cluster in enumerate(leaves)}
    size = dict.fromkeys(leaves, 1)
    rows, highest = [], 0.0
    for first, second, distance in joins:
        a, b = node[int(first)], node[int(second)]
        highest = max(highest, distance)  # rounding may leave a join below an earlier one, which scipy refuses
        count = size[int(first)] + size[int(second)]
        rows.append([min(a, b), max(a, b), highest, count])
        for cluster in leaves:
            if node[cluster] in (a, b):
                node[cluster], size[cluster] = len(leaves) + len(rows) - 1, count
    return leaves, np.array(rows, dtype=np.float64).reshape(-1, 4)
