"""Class sizes: the root of Eq. 14, its sum, and its derivative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rstc.pseudo_labels.transport.marginals import _root, fixed, moving_average, near, penalised

potentials = st.integers(2, 40).flatmap(lambda C: arrays(np.float64, C, elements=st.floats(-300, 300)))
weights = st.sampled_from([1.0, 0.1, 0.01, 0.001, 1e-5])


@settings(max_examples=300, deadline=None)
@given(potentials, weights)
def test_sizes_are_a_distribution_and_follow_the_potentials(g: np.ndarray, eps2: float) -> None:
    b = penalised(eps2)(g).b
    assert (b > 0).all()
    assert (b < 1).all() or len(b) == 2
    assert b.sum() == pytest.approx(1, abs=1e-9)
    assert (np.diff(b[np.argsort(g)]) <= 1e-9).all(), "a dearer class is never larger"


@pytest.mark.parametrize("d", [-1e6, -3.0, -1e-9, 0.0, 1e-9, 3.0, 1e6])
@pytest.mark.parametrize("eps2", [1.0, 0.001])
def test_root_solves_the_quadratic(d: float, eps2: float) -> None:
    b = _root(np.array([d]), eps2)[0]
    assert 0 < b <= 1
    # The stationarity of b from which Eq. 14 comes, multiplied by b (1 - b).
    assert abs(d * b * (1 - b) - eps2 * (1 - 2 * b)) <= 1e-9 * max(1, abs(d))


def test_two_equal_classes_are_halves() -> None:
    assert penalised(0.01)(np.array([3.0, 3.0])).b == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("eps2", [0.1, 0.01])
def test_value_has_slope_b_and_the_stated_bend(eps2: float) -> None:
    g, step = np.array([0.3, -0.2, 0.1, 0.0]), 1e-5
    marginal = penalised(eps2)
    at = marginal(g)
    bend = np.outer(at.bend, at.bend) / at.bend.sum() - np.diag(at.bend)
    for j in range(4):
        up, down = (marginal(g + sign * step * np.eye(4)[j]) for sign in (1, -1))
        assert (up.value - down.value) / (2 * step) == pytest.approx(at.b[j], abs=1e-6)
        assert (up.b - down.b) / (2 * step) == pytest.approx(bend[:, j], abs=1e-5)


def test_fixed_sizes_do_not_move() -> None:
    b = np.array([0.25, 0.75])
    at = fixed(b)(np.array([2.0, 4.0]))
    assert at.b is b
    assert at.value == 3.5
    assert not at.bend.any()


def test_near_has_the_closed_form_minimiser() -> None:
    last = np.array([0.5, 0.3, 0.2])
    g = np.array([0.0, 0.1, -0.1])
    found = near(last, eps2=0.1)(g)
    expected = last * np.exp(-g / 0.1)
    assert found.b == pytest.approx(expected / expected.sum())
    penalty = 0.1 * (found.b * np.log(found.b / last)).sum()
    assert found.value == pytest.approx(penalty + g @ found.b)


def test_near_bends_as_its_derivative_says() -> None:
    marginal, g, step = near(np.array([0.5, 0.3, 0.2]), 0.05), np.array([0.01, 0.02, -0.01]), 1e-6
    found = marginal(g)
    claimed = np.outer(found.bend, found.bend) / found.bend.sum() - np.diag(found.bend)
    for j in range(3):
        moved = marginal(g + step * np.eye(3)[j]).b
        assert (moved - found.b) / step == pytest.approx(claimed[:, j], abs=1e-3)


def test_moving_average_keeps_a_tenth_of_the_last() -> None:
    b = moving_average(np.array([0.2, 0.8]), np.array([3, 1]), mu=0.1)
    assert b == pytest.approx([0.1 * 0.2 + 0.9 * 0.75, 0.1 * 0.8 + 0.9 * 0.25])


def test_moving_average_lets_an_empty_class_fade_but_not_vanish() -> None:
    b = np.array([0.5, 0.5])
    for _ in range(50):
        b = moving_average(b, np.eye(len(b), dtype=np.int64)[0])
    assert 0 < b[1] < 1e-8
    assert b.sum() == pytest.approx(1)
