"""Marginals: the root of Eq. 14, its sum, and the derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rstc.pseudo_labels.transport.marginals import (
    FixedMarginal,
    KLMarginal,
    LogBarrierMarginal,
    _solve_quadratic,
    update_moving_average,
)

potentials = st.integers(2, 40).flatmap(lambda C: arrays(np.float64, C, elements=st.floats(-300, 300)))
weights = st.sampled_from([1.0, 0.1, 0.01, 0.001, 1e-5])


@settings(max_examples=300, deadline=None)
@given(potentials, weights)
def test_b_is_a_distribution_that_falls_with_the_potentials(g: np.ndarray, eps2: float) -> None:
    b = LogBarrierMarginal(eps2).minimise(g).b
    assert (b > 0).all()
    assert (b < 1).all() or len(b) == 2
    assert b.sum() == pytest.approx(1, abs=1e-9)
    assert (np.diff(b[np.argsort(g)]) <= 1e-9).all(), "a class of higher potential is never larger"


@pytest.mark.parametrize("d", [-1e6, -3.0, -1e-9, 0.0, 1e-9, 3.0, 1e6])
@pytest.mark.parametrize("eps2", [1.0, 0.001])
def test_root_solves_eq_14(d: float, eps2: float) -> None:
    b = _solve_quadratic(np.array([d]), eps2)[0]
    assert 0 < b <= 1
    # The stationarity of b from which Eq. 14 comes, multiplied by b (1 - b).
    assert abs(d * b * (1 - b) - eps2 * (1 - 2 * b)) <= 1e-9 * max(1, abs(d))


def test_two_classes_of_equal_potential_are_halves() -> None:
    assert LogBarrierMarginal(0.01).minimise(np.array([3.0, 3.0])).b == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("eps2", [0.1, 0.01])
def test_derivatives_of_the_value_are_b_and_the_curvature(eps2: float) -> None:
    g, step = np.array([0.3, -0.2, 0.1, 0.0]), 1e-5
    marginal = LogBarrierMarginal(eps2)
    solution = marginal.minimise(g)
    D = solution.curvature
    derivative = np.outer(D, D) / D.sum() - np.diag(D)
    for j in range(4):
        up, down = (marginal.minimise(g + sign * step * np.eye(4)[j]) for sign in (1, -1))
        assert (up.value - down.value) / (2 * step) == pytest.approx(solution.b[j], abs=1e-6)
        assert (up.b - down.b) / (2 * step) == pytest.approx(derivative[:, j], abs=1e-5)


def test_fixed_marginal_does_not_depend_on_the_potentials() -> None:
    b = np.array([0.25, 0.75])
    solution = FixedMarginal(b).minimise(np.array([2.0, 4.0]))
    assert solution.b is b
    assert solution.value == 3.5
    assert not solution.curvature.any()


def test_kl_marginal_has_the_closed_form_minimiser() -> None:
    reference = np.array([0.5, 0.3, 0.2])
    g = np.array([0.0, 0.1, -0.1])
    solution = KLMarginal(reference, eps2=0.1).minimise(g)
    expected = reference * np.exp(-g / 0.1)
    assert solution.b == pytest.approx(expected / expected.sum())
    penalty = 0.1 * (solution.b * np.log(solution.b / reference)).sum()
    assert solution.value == pytest.approx(penalty + g @ solution.b)


def test_curvature_of_the_kl_marginal_is_its_derivative() -> None:
    marginal, g, step = KLMarginal(np.array([0.5, 0.3, 0.2]), 0.05), np.array([0.01, 0.02, -0.01]), 1e-6
    solution = marginal.minimise(g)
    D = solution.curvature
    derivative = np.outer(D, D) / D.sum() - np.diag(D)
    for j in range(3):
        moved = marginal.minimise(g + step * np.eye(3)[j]).b
        assert (moved - solution.b) / step == pytest.approx(derivative[:, j], abs=1e-3)


def test_moving_average_keeps_a_tenth_of_the_last() -> None:
    b = update_moving_average(np.array([0.2, 0.8]), np.array([3, 1]), mu=0.1)
    assert b == pytest.approx([0.1 * 0.2 + 0.9 * 0.75, 0.1 * 0.8 + 0.9 * 0.25])


def test_share_of_an_empty_class_falls_but_stays_positive() -> None:
    b = np.array([0.5, 0.5])
    for _ in range(50):
        b = update_moving_average(b, np.eye(len(b), dtype=np.int64)[0])
    assert 0 < b[1] < 1e-8
    assert b.sum() == pytest.approx(1)
