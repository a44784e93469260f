"""Colours of clusters, on the page, in figures and in notebooks: related clusters have neighbouring hues.

Colours are compared in OKLab (Ottosson 2020), where equal distances look about equally different. Up to seven
clusters get colours of Okabe and Ito, with a dark red for their yellow, which colour-blind readers can distinguish.
With more clusters, each gets a hue by its place in the tree of clusters, and then the lightness and chroma near that
hue which keep it apart from the others; the first seven are also kept apart as protanopes and deuteranopes see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rstc.results.corrected_run import CorrectedRun

Floats = NDArray[np.float64]

HUES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#a52c07"]
GREY = "#80868e"  # texts without cluster
N_SAFE = 7  # clusters whose colours colour-blind readers can distinguish
MAX_DISTINCT = 120  # clusters with a colour of their own; further ones repeat the colours

LIGHTNESS = (0.48, 0.79)  # of clusters: visible on white and on black
N_LIGHTNESS, N_CHROMA, N_HUES = 9, 4, 72  # of the candidates
CHROMA = (0.07, 0.21)
GREY_DISTANCE = 0.06  # of every cluster's colour from grey
HUE_WEIGHT = 0.12  # OKLab distance that a hue on the other side of the circle has to gain
CVD_SCALE = 1.6  # weight of a distance that colour-blind readers see, beside that which others see
MAX_DISTANCE = 0.35  # OKLab distance beyond which colours cannot be confused
ROUNDS = 4

# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as protanopes and deuteranopes see it.
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)

_RGB_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LMS_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def assign_colours(clusters: Sequence[int], hierarchy: Sequence[Sequence[float]] = ()) -> dict[int, str]:
    """Return a colour for each cluster.

    Parameters
    ----------
    clusters : sequence of int
        Numbers of the clusters, the most important first.
    hierarchy : sequence of (node, node, distance, size), optional
        The tree over the clusters, in the format of `scipy.cluster.hierarchy.linkage`; cluster i is leaf i.

    Returns
    -------
    dict
        From the number of a cluster to its colour in hexadecimal.

    Examples
    --------
    >>> assign_colours([3, 5])
    {3: '#0072b2', 5: '#e69f00'}
    """
    clusters = list(clusters)
    if len(clusters) <= N_SAFE:
        return dict(zip(clusters, HUES, strict=False))
    coloured = clusters[:MAX_DISTINCT]
    leaves = _order_leaves(coloured, hierarchy)
    positions = {cluster: position for position, cluster in enumerate(leaves)}
    palette = _build_palette(tuple(positions[cluster] for cluster in coloured))
    colours = dict(zip(coloured, palette, strict=True))
    return colours | {cluster: palette[i % MAX_DISTINCT] for i, cluster in enumerate(clusters[MAX_DISTINCT:])}


def colour_run(run: CorrectedRun) -> dict[int, str]:
    """Return a colour for each cluster of a run; corrections do not change the colours of the clusters that it found.

    Parameters
    ----------
    run : CorrectedRun
        The run.

    Returns
    -------
    dict
        From the number of a cluster to its colour in hexadecimal, for those that corrections made as well.
    """
    found = sorted(run.summary.clusters, key=lambda entry: -entry.size)
    colours = assign_colours([entry.cluster for entry in found], run.summary.hierarchy)
    made = [cluster for cluster in run.state.names if cluster not in colours]
    return colours | {cluster: HUES[i % len(HUES)] for i, cluster in enumerate(made, start=len(colours))}


def convert_to_oklab(colours: Sequence[str]) -> Floats:
    """Return colours in hexadecimal as OKLab coordinates (n, 3).

    >>> convert_to_oklab(["#ffffff"]).round(3)[0, 0].item()
    1.0
    """
    channels = np.array([[int(colour[start : start + 2], 16) for start in (1, 3, 5)] for colour in colours]) / 255
    return _linear_to_oklab(_decode_gamma(channels))


def simulate_colour_blindness(colours: Sequence[str], matrix: Floats) -> Floats:
    """Return colours as colour-blind readers see them, in OKLab (n, 3)."""
    channels = np.array([[int(colour[start : start + 2], 16) for start in (1, 3, 5)] for colour in colours]) / 255
    return _linear_to_oklab(np.clip(_decode_gamma(channels) @ matrix.T, 0, 1))


def _order_leaves(clusters: Sequence[int], hierarchy: Sequence[Sequence[float]]) -> list[int]:
    """Return the clusters in the order of the leaves of the tree, then those that are not in it."""
    n_leaves = len(hierarchy) + 1
    nodes = [[leaf] for leaf in range(n_leaves)]
    for a, b, *_ in hierarchy:
        nodes.append(nodes[int(a)] + nodes[int(b)])
    present = set(clusters)
    leaves = [leaf for leaf in nodes[-1] if leaf in present]
    return leaves + [cluster for cluster in clusters if cluster not in set(leaves)]


@lru_cache(maxsize=32)
def _build_palette(positions: tuple[int, ...]) -> list[str]:
    """Choose colours for clusters at the given positions of the circle of hues, by coordinate ascent.

    Each cluster in turn takes the candidate whose smallest distance to the colours of the others is largest, with a
    penalty on hues that are far from that of its position.
    """
    n, far = len(positions), 1.0
    names, lab, hue = _make_candidates()
    # As everybody sees the candidates, then as protanopes and deuteranopes do; the latter count for the first clusters.
    seen = [lab, *(CVD_SCALE * simulate_colour_blindness(names, matrix) for matrix in (PROTANOPIA, DEUTERANOPIA))]
    grey_distance = np.linalg.norm(lab - convert_to_oklab([GREY]), axis=1)
    limit = np.where(grey_distance < GREY_DISTANCE, -far, np.minimum(MAX_DISTANCE, 2 * grey_distance))
    chosen = np.zeros(n, dtype=int)
    distance = np.full((len(seen), n, len(names)), far)  # of each chosen colour from each candidate
    for _ in range(ROUNDS):
        for i in range(n):
            distance[:, i] = far
            nearest = np.minimum(limit, distance[0].min(0))
            if i < N_SAFE:
                nearest = np.minimum(nearest, distance[1:, :N_SAFE].min((0, 1)))
            turn = np.abs((hue - 2 * np.pi * positions[i] / n + np.pi) % (2 * np.pi) - np.pi) / np.pi  # 0 to 1
            chosen[i] = int((nearest - HUE_WEIGHT * np.maximum(turn - 1 / n, 0)).argmax())
            for colours, distances in zip(seen, distance, strict=True):
                distances[i] = np.linalg.norm(colours - colours[chosen[i]], axis=1)
    return [names[i] for i in chosen]


@lru_cache(maxsize=1)
def _make_candidates() -> tuple[list[str], Floats, Floats]:
    """Return candidate colours: in hexadecimal, in OKLab, and their hues in radians."""
    lightness, chroma, hue = (
        axis.ravel()
        for axis in np.meshgrid(
            np.linspace(*LIGHTNESS, N_LIGHTNESS),
            np.linspace(*CHROMA, N_CHROMA),
            np.linspace(0, 2 * np.pi, N_HUES, endpoint=False),
            indexing="ij",
        )
    )
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    linear = (lab @ np.linalg.inv(_LMS_TO_LAB).T) ** 3 @ np.linalg.inv(_RGB_TO_LMS).T
    is_shown = ((linear >= 0) & (linear <= 1)).all(1)
    channels = np.round(255 * _encode_gamma(linear[is_shown])).astype(int)
    names = ["#" + "".join(f"{channel:02x}" for channel in colour) for colour in channels.tolist()]
    return names, lab[is_shown], hue[is_shown]


def _linear_to_oklab(linear: Floats) -> Floats:
    return np.asarray(np.cbrt(linear @ _RGB_TO_LMS.T) @ _LMS_TO_LAB.T)


def _decode_gamma(channels: Floats) -> Floats:
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _encode_gamma(linear: Floats) -> Floats:
    clipped = np.clip(linear, 0, 1)
    return np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)
