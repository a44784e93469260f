"""What docs/saot.md says about SAOT and Algorithm 1, beyond the paper."""

from __future__ import annotations

import warnings

import numpy as np
import ot
import pytest
import torch

from rstc.errors import TransportWarning
from rstc.pseudo_labels.transport import alternating, costs, newton
from rstc.pseudo_labels.transport.costs import build_costs
from rstc.pseudo_labels.transport.marginals import LogBarrierMarginal
from rstc.pseudo_labels.transport.saot import Transport, optimal_transport, saot, semi_relaxed_transport


def imbalanced(N: int = 800, C: int = 12, seed: int = 0, confidence: float = 3.0) -> np.ndarray:
    """Return log P of a confident network on classes from large to rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(C, N, p=rng.dirichlet(np.full(C, 0.3)))
    logits = torch.from_numpy(rng.normal(size=(N, C)))
    logits[torch.arange(N), torch.from_numpy(y)] += confidence
    return logits.log_softmax(1).numpy()


def objective(plan: np.ndarray, b: np.ndarray, log_p: np.ndarray, eps1: float, eps2: float) -> float:
    """Eq. 2 as it stands in the paper."""
    entropy = (plan * (np.log(plan) - 1)).sum()
    return float((plan * -log_p).sum() + eps1 * entropy + eps2 * (-np.log(b) - np.log(1 - b)).sum())


def solve(log_p: np.ndarray, **options: object) -> Transport[np.ndarray]:
    """Solve SAOT without a warning if the solver does not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TransportWarning)
        return saot(log_p, **options)  # type: ignore[arg-type]


def test_the_objective_is_strictly_convex_between_any_two_feasible_plans() -> None:
    log_p, rng = imbalanced(60, 5), np.random.default_rng(1)
    for _ in range(50):
        plans = [rng.dirichlet(np.ones(5), 60) / 60 for _ in range(2)]
        middle = (plans[0] + plans[1]) / 2
        values = [objective(plan, plan.sum(0), log_p, 0.1, 0.01) for plan in (*plans, middle)]
        assert values[2] < (values[0] + values[1]) / 2


@pytest.mark.parametrize("eps2", [0.1, 0.001])
def test_all_starts_lead_to_one_optimum(eps2: float) -> None:
    log_p, rng = imbalanced(200), np.random.default_rng(0)
    plans = [saot(log_p, 0.1, eps2, start=rng.normal(size=12)).plan for _ in range(5)]
    assert max(np.abs(plan - plans[0]).max() for plan in plans) < 1e-9


@pytest.mark.parametrize("eps2", [1.0, 0.1, 0.01, 0.001])
def test_a_solution_is_certified_by_its_gap_and_its_conditions(eps2: float) -> None:
    transport = saot(imbalanced(), 0.1, eps2)
    assert transport.duality_gap < 1e-12
    assert transport.stationarity < 1e-9
    assert transport.residual < 1e-8


def test_the_gap_bounds_the_distance_to_the_optimum_of_any_potentials() -> None:
    log_p = imbalanced(300)
    optimal = saot(log_p, 0.1, 0.01)
    best = objective(optimal.plan, optimal.b, log_p, 0.1, 0.01)
    for iterations in (1, 2, 3, 4):
        early = solve(log_p, eps1=0.1, eps2=0.01, max_iter=iterations)
        value = objective(early.plan, early.column_sums, log_p, 0.1, 0.01)
        assert best <= value <= best + early.duality_gap + 1e-12


def test_semi_relaxed_transport_is_certified_too() -> None:
    transport = semi_relaxed_transport(imbalanced(), np.full(12, 1 / 12), 0.1, 0.05)
    assert transport.duality_gap < 1e-12
    assert transport.stationarity < 1e-9


def test_the_radius_is_that_of_the_numerical_jacobian() -> None:
    log_p, eps1, eps2 = imbalanced(300, 5), 0.1, 0.05
    cost_matrix, marginal = build_costs(log_p), LogBarrierMarginal(eps2)
    transport = saot(log_p, eps1, eps2)

    def iterate(g: np.ndarray) -> np.ndarray:
        b = marginal.minimise(g).b
        return np.asarray(g + eps1 * (np.log(b) - alternating._log_column_sums(cost_matrix, eps1, g)))

    g, step = transport.potentials, 1e-6
    jacobian = np.stack([(iterate(g + step * e) - iterate(g - step * e)) / (2 * step) for e in np.eye(5)], axis=1)
    eigenvalues = np.linalg.eigvals(jacobian)
    others = np.delete(eigenvalues, np.abs(eigenvalues - 1).argmin())  # that of the constant vector
    assert transport.spectral_radius == pytest.approx(np.abs(others).max(), rel=1e-5)


@pytest.mark.parametrize(("eps2", "converges"), [(0.1, True), (0.05, True), (0.003, False), (0.001, False)])
def test_algorithm_1_converges_if_and_only_if_the_radius_is_below_one(eps2: float, converges: bool) -> None:
    log_p = imbalanced()
    transport = saot(log_p, 0.1, eps2)
    assert (transport.spectral_radius < 1) is converges
    nearby = transport.potentials + 1e-4 * np.random.default_rng(0).normal(size=12)
    iterated = solve(log_p, eps1=0.1, eps2=eps2, method="alternating", start=nearby, max_iter=2000)
    assert iterated.converged is converges
    if not converges:
        assert iterated.residual > 0.01, "it moves away even from a start next to the solution"


@pytest.mark.parametrize("C", [12, 89])
def test_algorithm_1_diverges_at_the_papers_setting_for_heavy_imbalance(C: int) -> None:
    log_p = imbalanced(2000, C)
    heavy, balanced = saot(log_p, 0.1, 0.001), saot(log_p, 0.1, 0.1)
    assert 0.1 * heavy.b.max() > 2 * 0.001
    assert heavy.spectral_radius > 1
    assert balanced.spectral_radius < 1


def test_literal_algorithm_1_finds_the_optimum_for_a_large_eps2_only() -> None:
    log_p = imbalanced()
    literal, exact = solve(log_p, eps1=0.1, eps2=0.1, method="literal", max_iter=300), saot(log_p, 0.1, 0.1)
    assert literal.converged
    assert literal.iterations == 300, "all iterations are taken"
    assert np.abs(literal.plan - exact.plan).max() < 1e-9
    heavy = solve(log_p, eps1=0.1, eps2=0.001, method="literal", max_iter=300)
    assert heavy.residual > 0.1


def test_ten_newton_steps_on_h_can_miss_the_sum_of_one() -> None:
    g = np.array([5.0, 0.0, -3.0, 0.1])
    b, _ = alternating._take_newton_steps(LogBarrierMarginal(0.001), g, h=1.0)
    assert not abs(b.sum() - 1) < 0.1  # or NaN


def test_a_literal_iteration_that_fails_is_not_taken() -> None:
    log_p = np.log(np.array([[1.0, 1e-300], [1.0, 1e-300]]))
    transport = solve(log_p, eps1=1e-4, eps2=1e-9, method="literal", max_iter=50)
    assert np.isfinite(transport.potentials).all()
    assert transport.iterations <= 50


@pytest.mark.parametrize(("N", "C"), [(400, 8), (800, 8), (400, 16)])
def test_a_newton_step_reads_the_costs_a_fixed_number_of_times(N: int, C: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a reading is N C^2 for the Gram matrix; nothing is of the order N^2."""
    values_read = []
    softmax_rows = costs.softmax_rows

    def count(M: torch.Tensor, g: torch.Tensor, eps1: float) -> tuple[torch.Tensor, torch.Tensor]:
        values_read.append(M.numel())
        return softmax_rows(M, g, eps1)

    monkeypatch.setattr(newton, "softmax_rows", count)
    transport = saot(imbalanced(N, C), 0.1, 0.1)
    readings = sum(values_read) / (N * C)
    # One reading for each evaluation: at the start of each stage, and at each step of a line search.
    assert readings == int(readings)
    assert readings <= 3 * transport.iterations + 8


def test_the_limit_of_a_small_eps2_is_the_plan_without_a_penalty() -> None:
    log_p = imbalanced(300)
    free = saot(log_p, 0.1, 0.0)
    softmax = torch.from_numpy(log_p / 0.1).softmax(1).numpy() / 300
    assert free.plan == pytest.approx(softmax)
    distances = [np.abs(saot(log_p, 0.1, eps2).plan - free.plan).sum() for eps2 in (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-5


def test_m3_is_the_semi_relaxed_unbalanced_transport_of_pot() -> None:
    log_p, reference = imbalanced(120, 6), np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    ours = semi_relaxed_transport(log_p, reference, eps1=0.1, eps2=0.05)
    uniform = np.full(120, 1 / 120)
    theirs = ot.unbalanced.sinkhorn_unbalanced(
        uniform, reference, -log_p, reg=0.1, reg_m=(np.inf, 0.05), reg_type="entropy", numItermax=20_000, stopThr=1e-14
    )
    assert ours.plan == pytest.approx(theirs, abs=1e-8)


def test_a_given_b_is_the_entropic_transport_of_pot() -> None:
    log_p, b = imbalanced(120, 6), np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    theirs = ot.sinkhorn(
        np.full(120, 1 / 120), b, -log_p, reg=0.1, method="sinkhorn_log", numItermax=5000, stopThr=1e-12
    )
    assert optimal_transport(log_p, b, 0.1).plan == pytest.approx(theirs, abs=1e-8)
