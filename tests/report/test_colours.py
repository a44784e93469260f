"""Colours of clusters: they stay apart, also for colour-blind readers, and related clusters have neighbouring hues."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.report.colours import (
    DEUTERANOPIA,
    GREY,
    N_SAFE,
    PROTANOPIA,
    assign_colours,
    convert_to_oklab,
    simulate_colour_blindness,
)

JUST_DIFFERENT = 0.02  # OKLab distance of two colours that can barely be told apart side by side


def smallest_distance(points: np.ndarray) -> float:
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(distances[~np.eye(len(points), dtype=bool)].min())


@pytest.mark.parametrize("n", range(2, 41))
def test_colours_of_two_to_forty_clusters_stay_apart(n: int) -> None:
    colours = convert_to_oklab([*assign_colours(range(n)).values(), GREY])
    assert smallest_distance(colours) >= 3 * JUST_DIFFERENT


@pytest.mark.parametrize("matrix", [PROTANOPIA, DEUTERANOPIA])
@pytest.mark.parametrize("n", [7, 8, 20, 40])
def test_first_seven_colours_differ_for_colour_blind_readers(n: int, matrix: np.ndarray) -> None:
    colours = list(assign_colours(range(n)).values())[:N_SAFE]
    assert smallest_distance(simulate_colour_blindness(colours, matrix)) >= 2 * JUST_DIFFERENT


def test_related_clusters_have_neighbouring_hues() -> None:
    # Two subtrees of ten clusters, whose numbers alternate.
    rows, nodes = [], {parity: parity for parity in (0, 1)}
    for i in range(2, 20):
        rows.append([nodes[i % 2], i, 1.0, 2])
        nodes[i % 2] = 19 + len(rows)
    rows.append([nodes[0], nodes[1], 2.0, 20])
    colours = assign_colours(range(20), rows)
    lab = convert_to_oklab([colours[cluster] for cluster in range(20)])
    hues = np.arctan2(lab[:, 2], lab[:, 1])
    apart = np.abs((hues[:, None] - hues[None] + np.pi) % (2 * np.pi) - np.pi)
    same = (np.arange(20)[:, None] % 2 == np.arange(20)[None] % 2) & ~np.eye(20, dtype=bool)
    assert apart[same].mean() < 0.8 * apart[~same & ~np.eye(20, dtype=bool)].mean()


def test_clusters_beyond_the_distinct_ones_repeat_colours() -> None:
    colours = assign_colours(range(300))
    assert len(colours) == 300
    assert colours[0] == colours[120]


def test_colours_do_not_depend_on_clusters_that_the_tree_does_not_know() -> None:
    colours = assign_colours([0, 1, 2, 9, 12, 3, 4, 5, 6], [[0, 1, 0.5, 2], [2, 3, 1.0, 3]])
    assert len(set(colours.values())) == 9
