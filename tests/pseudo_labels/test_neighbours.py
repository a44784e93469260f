"""Averages over neighbours, and neighbour NMI."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest_neighbours
from rstc.pseudo_labels.features import average_over_neighbours
from rstc.pseudo_labels.neighbours import neighbour_nmi
from rstc.runtime.distributed_rows import DistributedRows


def test_averages_over_neighbours_have_length_one() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    half, rows = np.float32(np.sqrt(0.5)), DistributedRows((2,))
    assert average_over_neighbours(points, np.array([[0, 1], [1, 0]]), rows) == pytest.approx(np.full((2, 2), half))
    assert average_over_neighbours(points, np.array([[0], [1]]), rows) == pytest.approx(points)


def test_neighbour_nmi_is_high_along_dense_regions_and_low_across_them() -> None:
    rng = np.random.default_rng(0)
    E = normalize(np.concatenate([rng.normal(centre, 0.2, (60, 3)) for centre in np.eye(3)])).astype(np.float32)
    neighbours = nearest_neighbours(E, None, 10)
    along, across = np.repeat([0, 1, 2], 60), np.tile([0, 1, 2], 60)
    one_for_most = np.where(np.arange(180) == 7, 1, 0)
    assert neighbour_nmi(along, neighbours) > 0.95
    assert neighbour_nmi(across, neighbours) < 0.1
    assert neighbour_nmi(one_for_most, neighbours) < 0.5
    assert neighbour_nmi(np.zeros(180, dtype=np.int64), neighbours) == 0
