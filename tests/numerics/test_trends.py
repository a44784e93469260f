"""Trends of counts: what was put in is found, and chance is found no more often than the level says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rstc.numerics.proportions import adjust_p_values
from rstc.numerics.trends import (
    PRIOR_SD,
    assess_beginnings,
    assess_ends,
    assess_peaks,
    assess_trends,
    estimate_dispersions,
    fit_logit_trends,
)

Floats = NDArray[np.float64]
N_RUNS, MAX_FALSE = 200, 15  # of 200 runs, 5 % and what chance adds to it at most in 19 of 20 cases
N_CLUSTERS, N_PERIODS = 12, 20
TIME = np.linspace(0, 1, N_PERIODS)


def draw_counts(
    rng: np.random.Generator, n_texts: int, burst: float = 0.0, growth: float = 1.0
) -> tuple[Floats, Floats]:
    """Draw multinomial counts of clusters of uneven sizes (C, T), and the totals (T,).

    `burst` is the standard deviation of random factors in each period; the last cluster, the largest, grows by a factor
    of about `growth` over the time.
    """
    logits = np.tile(np.log(np.linspace(1, 6, N_CLUSTERS)), (N_PERIODS, 1))
    logits += rng.normal(0, burst, logits.shape)
    logits[:, -1] += np.log(growth) * TIME
    P = np.exp(logits)
    totals = rng.multinomial(n_texts, rng.dirichlet(np.full(N_PERIODS, 20)))
    counts = [rng.multinomial(n, p) for n, p in zip(totals, P / P.sum(1, keepdims=True), strict=True)]
    return np.array(counts, dtype=np.float64).T, totals.astype(np.float64)


def combine(k: Floats, n: Floats) -> Floats:
    """Return the smallest p-value of the three tests of each cluster."""
    weighted = [
        assess_trends(k, n, TIME).p_values / 0.8,
        assess_beginnings(k, n).p_values / 0.1,
        assess_ends(k, n).p_values / 0.1,
    ]
    return np.minimum(1, np.min(weighted, axis=0))


def test_fit_is_the_maximum_of_the_penalised_likelihood() -> None:
    from scipy.optimize import minimize

    k, n, x = np.array([[2.0, 5, 9, 8, 0]]), np.array([40.0, 50, 60, 50, 0]), np.linspace(0, 1, 5)

    def loss(parameters: Floats) -> float:
        eta = parameters[0] + parameters[1] * (x - x.mean())
        return float(-(k[0] * eta - n * np.log1p(np.exp(eta))).sum() + parameters[1] ** 2 / (2 * PRIOR_SD**2))

    best = minimize(loss, np.zeros(2), tol=1e-12)
    trends = fit_logit_trends(k, n, x)
    assert trends.slopes[0] == pytest.approx(best.x[1], abs=1e-4)
    W = n * trends.P[0] * (1 - trends.P[0])
    design = np.array([np.ones(5), x - x.mean()])
    information = (W * design) @ design.T + np.diag([0, PRIOR_SD**-2])
    assert trends.slope_errors[0] == pytest.approx(np.sqrt(np.linalg.inv(information)[1, 1]))
    assert trends.residuals[0, 4] == 0


def test_series_that_starts_at_zero_has_a_finite_slope() -> None:
    k, n = np.array([[0.0, 0, 0, 30, 30], [60.0, 60, 60, 60, 60]]), np.full(5, 60.0)
    trends = fit_logit_trends(k, n, np.linspace(0, 1, 5))
    assert np.isfinite(trends.slopes).all()
    assert np.isfinite(trends.residuals).all()


@pytest.mark.parametrize("burst", [0.0, 0.5], ids=["independent texts", "bursts"])
def test_false_discoveries_without_change_are_at_most_as_many_as_the_level_says(burst: float) -> None:
    rng = np.random.default_rng(0)
    n_false = sum((adjust_p_values(combine(*draw_counts(rng, 1500, burst))) < 0.05).any() for _ in range(N_RUNS))
    assert n_false <= MAX_FALSE


def test_peaks_without_change_are_at_most_as_many_as_the_level_says() -> None:
    rng, everything = np.random.default_rng(1), np.ones(N_PERIODS, dtype=np.bool_)
    n_false = 0
    for _ in range(N_RUNS):
        k, n = draw_counts(rng, 1500)
        n_false += (adjust_p_values(assess_peaks(k, n, TIME, everything).p_values) < 0.05).any()
    assert n_false <= MAX_FALSE


def test_a_doubling_is_found() -> None:
    rng = np.random.default_rng(0)
    found = [adjust_p_values(combine(*draw_counts(rng, 3000, growth=2.4)))[-1] < 0.05 for _ in range(30)]
    assert np.mean(found) > 0.9
    k, n = draw_counts(rng, 30_000, growth=2.4)
    tests = assess_trends(k, n, TIME)
    assert tests.change_low[-1] < (k[-1, -4:].sum() / n[-4:].sum()) / (k[-1, :4].sum() / n[:4].sum()) * 1.15
    assert 1.5 < tests.last[-1] / tests.first[-1] < 2.4


def test_intervals_of_the_change_hold_the_truth_in_95_of_100_runs() -> None:
    rng, holds = np.random.default_rng(0), []
    for _ in range(N_RUNS):
        tests = assess_trends(*draw_counts(rng, 1500), TIME)
        holds.append(((tests.change_low <= 1) & (tests.change_high >= 1)).mean())
    assert 0.93 <= np.mean(holds) <= 0.99


def test_dispersion_of_bursts_is_found_and_that_of_independent_texts_is_one() -> None:
    rng = np.random.default_rng(0)
    for burst, low, high in ((0.0, 1.0, 1.25), (0.6, 3.0, 12.0)):
        k, n = draw_counts(rng, 4000, burst)
        residuals = fit_logit_trends(k, n, TIME).residuals
        phi = estimate_dispersions(residuals, k.mean(1), N_PERIODS - 2).phi
        assert low <= np.median(phi) <= high


def test_a_beginning_is_found_at_its_period() -> None:
    rng = np.random.default_rng(0)
    k, n = draw_counts(rng, 1500)
    k[3, :8] = 0
    tests = assess_beginnings(k, n)
    assert tests.p_values[3] < 1e-4
    assert np.delete(tests.p_values, 3).min() > 1e-3
    assert tests.periods[3] == 8
    assert tests.ratios[3] == 0
    ends = assess_ends(k[:, ::-1], n[::-1])
    assert ends.periods[3] == N_PERIODS - 9
    assert ends.p_values[3] == tests.p_values[3]


def test_one_stray_text_of_a_hundred_does_not_hide_a_beginning() -> None:
    k = np.array([[1.0] + [0] * 9 + [10] * 10, [100.0] * 20])
    tests = assess_beginnings(k, k.sum(0))
    assert tests.periods[0] == 10
    assert tests.p_values[0] < 1e-9
    assert tests.ratios[0] == pytest.approx(0.01, abs=0.005)


def test_p_value_of_a_beginning_is_the_probability_of_no_text_before_it() -> None:
    k = np.array([[0.0, 0, 2, 2, 2], [10.0, 10, 8, 8, 8]])
    assert assess_beginnings(k, k.sum(0)).p_values[0] == pytest.approx(0.6**6)


def test_a_peak_is_found_with_what_was_expected_there() -> None:
    rng = np.random.default_rng(0)
    k, n = draw_counts(rng, 3000)
    k[5, 12] += 25
    n[12] += 25
    peaks = assess_peaks(k, n, TIME, np.ones(N_PERIODS, dtype=np.bool_))
    assert peaks.p_values[5] < 0.001
    assert peaks.periods[5] == 12
    assert peaks.expected[5] == pytest.approx(n[12] * k[5].sum() / n.sum(), rel=0.4)


def test_a_peak_in_an_incomplete_period_is_found_though_no_trend_is_fitted_to_it() -> None:
    rng = np.random.default_rng(0)
    k, n = draw_counts(rng, 3000)
    k[5, -1] += 40
    n[-1] += 40
    peaks = assess_peaks(k, n, TIME, np.arange(N_PERIODS) < N_PERIODS - 1)
    assert peaks.periods[5] == N_PERIODS - 1
    assert peaks.p_values[5] < 0.001
