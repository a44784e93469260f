"""What the nearest texts tell."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest
from rstc.pseudo_labels.neighbours import smoothed, told_by_neighbours


def test_smoothing_averages_and_keeps_length_one() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    half = np.float32(np.sqrt(0.5))
    assert smoothed(points, np.array([[0, 1], [1, 0]])) == pytest.approx(np.full((2, 2), half))
    assert smoothed(points, np.array([[0], [1]])) == pytest.approx(points)


def test_a_clustering_along_the_crowds_tells_more_than_one_across_them() -> None:
    rng = np.random.default_rng(0)
    E = normalize(np.concatenate([rng.normal(centre, 0.2, (60, 3)) for centre in np.eye(3)])).astype(np.float32)
    near = nearest(E, None, 10)
    crowds, across = np.repeat([0, 1, 2], 60), np.tile([0, 1, 2], 60)
    one_for_most = np.where(np.arange(180) == 7, 1, 0)
    assert told_by_neighbours(crowds, near) > 0.95
    assert told_by_neighbours(across, near) < 0.1
    assert told_by_neighbours(one_for_most, near) < 0.5
    assert told_by_neighbours(np.zeros(180, dtype=np.int64), near) == 0
