"""Intervals and tests of proportions, against values computed by hand and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rstc.numerics.proportions import (
    adjust_p_values,
    assess_table,
    compute_cell_p_values,
    compute_lower_tail,
    compute_ratio_interval,
    compute_shares,
    compute_upper_tail,
    compute_wilson_interval,
)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_intervals_are_those_of_scipy(n: int, share: float) -> None:
    k = round(n * share)
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    low, high = compute_wilson_interval(k, n)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)
    assert low <= k / n <= high


def test_empty_periods_have_no_share() -> None:
    assert np.isnan(compute_wilson_interval([0], [0])).all()
    np.testing.assert_array_equal(compute_shares([0, 1], [0, 4]), [np.nan, 0.25])


def test_untested_cells_do_not_count_in_the_adjustment() -> None:
    q = adjust_p_values([[0.01, np.nan], [0.2, np.nan]])
    np.testing.assert_allclose(q, [[0.02, 1], [0.2, 1]])
    np.testing.assert_array_equal(adjust_p_values([np.nan]), [1])


@given(st.integers(0, 30), st.integers(1, 30), st.floats(0.01, 0.99))
def test_tails_are_those_of_the_binomial_distribution(k: int, n: int, p: float) -> None:
    k = min(k, n)
    assert compute_lower_tail(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), abs=1e-9)
    assert compute_upper_tail(k, n, p) == pytest.approx(stats.binom.sf(k - 1, n, p), abs=1e-9)


def test_overdispersion_makes_tails_larger() -> None:
    assert compute_lower_tail(0, 40, 0.2, phi=4) == pytest.approx(0.8**10)
    assert compute_upper_tail(30, 40, 0.5, phi=4) > 10 * compute_upper_tail(30, 40, 0.5)


def test_p_values_of_cells_are_twice_a_tail_of_fishers_test() -> None:
    table = np.array([[8, 2], [10, 30]])
    p = compute_cell_p_values(table, table.sum(1), table.sum(0), 50)
    assert p[0, 0] == pytest.approx(2 * stats.fisher_exact([[8, 2], [10, 30]], "greater").pvalue)
    np.testing.assert_allclose(p, p[0, 0])  # of a 2 x 2 table


def test_ratio_is_finite_if_a_cluster_occurs_in_one_group_only() -> None:
    ratio, low, high = compute_ratio_interval([10, 0, 0], [50, 50, 50], [0, 10, 0], [100, 100, 100])
    assert ratio[0] == pytest.approx((10.5 / 50.5) / (0.5 / 100.5))
    assert ratio[1] == 0
    assert (low <= ratio).all()
    assert low[0] > 1
    assert low[1] == 0
    assert high[1] < low[0]
    assert low[2] < 1 < high[2]


def test_effect_of_independent_columns_is_zero_though_the_statistic_is_not() -> None:
    table = np.array([[30, 20], [28, 22]])
    result = assess_table(table, np.random.default_rng(0))
    assert result.effect == 0
    assert result.p_value == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)


def test_small_counts_are_compared_with_random_tables() -> None:
    table = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3], [0, 0, 0]])
    result = assess_table(table, np.random.default_rng(0), n_draws=4999)
    # 9! / (3!)^3 = 1680 tables of labelled texts, of which the 3! permutations are as extreme
    assert result.p_value == pytest.approx(6 / 1680, abs=0.003)
    assert result.effect == pytest.approx(1)
    assert assess_table(table, np.random.default_rng(0)) == assess_table(table, np.random.default_rng(0))


def test_a_table_with_one_row_or_column_has_no_effect() -> None:
    result = assess_table(np.array([[3, 4], [0, 0]]), np.random.default_rng(0))
    assert (result.effect, result.p_value) == (0, 1)
