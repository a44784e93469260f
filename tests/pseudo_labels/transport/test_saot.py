"""Transports: their constraints and optimality, warm starts, and extreme inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rstc.errors import InputError, TransportWarning
from rstc.pseudo_labels.transport import costs, newton
from rstc.pseudo_labels.transport.saot import optimal_transport, saot, semi_relaxed_transport
from rstc.runtime.distributed import SINGLE_PROCESS


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return torch.from_numpy(logits).log_softmax(1).numpy()


def imbalanced(N: int = 800, C: int = 12, seed: int = 0) -> np.ndarray:
    """Return log P of a confident network on classes from large to rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(C, N, p=rng.dirichlet(np.full(C, 0.3)))
    logits = rng.normal(size=(N, C))
    logits[np.arange(N), y] += 3
    return log_softmax(logits)


def assert_feasible(plan: np.ndarray, b: np.ndarray, tol: float = 1e-8) -> None:
    N = len(plan)
    assert (plan >= 0).all()
    assert np.abs(plan.sum(1) - 1 / N).sum() <= tol
    assert np.abs(plan.sum(0) - b).sum() <= tol
    assert abs(b.sum() - 1) <= tol


def objective(plan: np.ndarray, b: np.ndarray, log_p: np.ndarray, eps1: float, eps2: float) -> float:
    """Eq. 2, written down as it stands in the paper."""
    entropy = (plan * (np.log(plan) - 1)).sum()
    return float((plan * -log_p).sum() + eps1 * entropy + eps2 * (-np.log(b) - np.log(1 - b)).sum())


shapes = st.tuples(st.integers(1, 30), st.integers(2, 12))
logits = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-60, 60)))


@settings(max_examples=150, deadline=None)
@given(logits, st.sampled_from([0.05, 0.1, 0.5]), st.sampled_from([1.0, 0.1, 0.01, 0.001]))
def test_constraints_hold_to_1e_8_for_any_predictions(logits: np.ndarray, eps1: float, eps2: float) -> None:
    t = saot(log_softmax(logits), eps1, eps2)
    assert t.converged
    assert t.residual <= 1e-8
    assert_feasible(t.plan, t.b)


def test_plan_of_two_mirrored_texts_is_that_computed_by_hand() -> None:
    P = np.array([[0.9, 0.1], [0.1, 0.9]])
    t = saot(np.log(P), eps1=0.5, eps2=0.01)
    # By symmetry b = (1/2, 1/2) and g = 0, so a row is (0.9^2, 0.1^2) / (0.81 + 0.01) / N.
    assert t.b == pytest.approx([0.5, 0.5], abs=1e-10)
    assert t.plan == pytest.approx(np.array([[0.81, 0.01], [0.01, 0.81]]) / 0.82 / 2, abs=1e-10)


@pytest.mark.parametrize("eps2", [0.1, 0.01, 0.001])
def test_no_feasible_plan_nearby_has_a_lower_objective(eps2: float) -> None:
    log_p, rng = imbalanced(N=60, C=5), np.random.default_rng(1)
    t = saot(log_p, 0.1, eps2)
    best = objective(t.plan, t.b, log_p, 0.1, eps2)
    for _ in range(50):
        rows = rng.dirichlet(np.ones(5), size=60) / 60
        other = 0.99 * t.plan + 0.01 * rows
        assert objective(other, other.sum(0), log_p, 0.1, eps2) > best


def test_large_eps2_gives_equal_classes_and_zero_those_of_the_predictions() -> None:
    log_p = imbalanced()
    assert saot(log_p, 0.1, 1000.0).b == pytest.approx(np.full(12, 1 / 12), abs=1e-4)
    free = torch.from_numpy(log_p / 0.1).softmax(1).mean(0).numpy()
    assert saot(log_p, 0.1, 0.0).b == pytest.approx(free, abs=1e-12)
    spread = [np.ptp(saot(log_p, 0.1, eps2).b) for eps2 in (1.0, 0.1, 0.01, 0.001)]
    assert spread == sorted(spread)


def test_newton_and_alternating_agree_where_alternating_converges() -> None:
    log_p = imbalanced()
    by_newton, alternating = (saot(log_p, 0.1, 0.1, method) for method in ("newton", "alternating"))
    assert alternating.converged
    assert by_newton.iterations < alternating.iterations
    assert np.abs(by_newton.plan - alternating.plan).sum() < 1e-6
    assert np.abs(by_newton.b - alternating.b).sum() < 1e-6


def test_a_solver_that_does_not_converge_warns_with_the_residual() -> None:
    with pytest.warns(TransportWarning) as caught:
        t = saot(imbalanced(), 0.1, 0.001, method="alternating", max_iter=200)
    assert not t.converged
    assert t.residual > 0.01
    assert caught[0].message.residual == t.residual
    assert saot(imbalanced(), 0.1, 0.001).residual <= 1e-8


HARD = {
    "one-hot": np.eye(4)[[0, 1, 2, 3, 0, 0, 0, 1]],
    "a class of probability 0": np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]),
    "more classes than texts": np.eye(30)[[0, 1]],
    "one text": np.array([[0.7, 0.3, 0.0]]),
    "everything in one class": np.eye(6)[np.zeros(200, dtype=int)],
    "equal rows": np.full((20, 5), 0.2),
    "1e-300": np.where(np.eye(3)[[0, 1, 2, 2]] > 0, 1.0, 1e-300),
}


@pytest.mark.parametrize("P", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize("eps2", [0.1, 0.01, 0.001])
def test_constraints_hold_for_exact_zeros_and_extreme_shapes(P: np.ndarray, eps2: float) -> None:
    with np.errstate(divide="ignore"):
        t = saot(np.log(P), 0.1, eps2)
    assert_feasible(t.plan, t.b)
    assert (t.b > 0).all()


extreme = st.one_of(st.sampled_from([0.0, 1.0, 1e-300, 5e-324, 1e-12]), st.floats(0, 1))
odd_shapes = st.tuples(st.integers(1, 6), st.integers(1, 9))
odd_predictions = odd_shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=extreme))


@settings(max_examples=30, deadline=None)
@given(odd_predictions, st.sampled_from([0.01, 0.1, 0.5, 10.0]), st.sampled_from([0.0, 1e-6, 0.001, 0.1, 100.0]))
def test_plans_of_any_predictions_are_finite(P: np.ndarray, eps1: float, eps2: float) -> None:
    P[(P == 0).all(1), 0] = 1.0  # a text without a possible class is an error
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("ignore", TransportWarning)
        for method in ("newton", "alternating"):
            t = saot(np.log(P), eps1, eps2, method)
            assert np.isfinite(t.plan).all()
            assert (t.plan >= 0).all()
            assert np.isfinite(t.b).all()
            assert np.abs(t.plan.sum(1) - 1 / len(P)).max() < 1e-6, "every text is transported"


def test_one_class_gets_all_mass() -> None:
    t = saot(np.zeros((4, 1)))
    assert t.b == pytest.approx([1.0])
    assert t.plan == pytest.approx(np.full((4, 1), 0.25))


def test_a_constant_added_to_a_row_changes_nothing() -> None:
    log_p = imbalanced(N=50)
    shifted = log_p + np.random.default_rng(0).normal(size=(50, 1)) * 10
    assert saot(log_p).plan == pytest.approx(saot(shifted).plan, abs=1e-12)


def test_results_are_of_the_kind_of_the_input() -> None:
    log_p = imbalanced(N=50)
    numpy_result, torch_result = saot(log_p), saot(torch.from_numpy(log_p).float())
    assert isinstance(numpy_result.plan, np.ndarray)
    assert isinstance(numpy_result.b, np.ndarray)
    assert isinstance(torch_result.plan, torch.Tensor)
    assert isinstance(torch_result.b, torch.Tensor)
    assert torch_result.plan.numpy() == pytest.approx(numpy_result.plan, abs=1e-6)


def test_input_is_not_changed() -> None:
    with np.errstate(divide="ignore"):
        log_p = np.log(HARD["one-hot"])
    before = log_p.copy()
    saot(log_p)
    assert np.array_equal(log_p, before)


@pytest.mark.parametrize(
    ("log_p", "options", "message"),
    [
        (np.array([[np.nan, 0.0]]), {}, "NaN"),
        (np.array([[0.0, 0.0], [-np.inf, -np.inf]]), {}, "row 1"),
        (np.zeros(3), {}, r"\(3,\)"),
        (np.zeros((0, 3)), {}, r"\(0, 3\)"),
        (np.zeros((2, 2)), {"eps1": 0.0}, "eps1=0.0"),
        (np.zeros((2, 2)), {"eps2": -1.0}, "eps2=-1.0"),
        (np.zeros((2, 2)), {"method": "magic"}, "'magic'"),
    ],
)
def test_invalid_input_is_named_in_the_error(log_p: np.ndarray, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        saot(log_p, **options)


@pytest.mark.parametrize("method", ["newton", "alternating"])
def test_a_given_class_distribution_is_met(method: str) -> None:
    b = np.array([0.6, 0.2, 0.1, 0.1])
    t = optimal_transport(imbalanced(N=200, C=4), b, 0.1, method, tol=1e-8)
    assert_feasible(t.plan, b)


def test_duplicates_are_split_to_meet_a_given_class_distribution() -> None:
    # Texts of equal costs move all at once: the dual is nearly piecewise linear.
    rng = np.random.default_rng(0)
    for _ in range(60):
        C, n_distinct = rng.integers(2, 15), rng.integers(1, 6)
        log_p = log_softmax(
            (rng.normal(size=(n_distinct, C)) * rng.choice([0.5, 5, 50]))[rng.integers(n_distinct, size=80)]
        )
        b = rng.random(C) + 1e-3
        assert_feasible(optimal_transport(log_p, b / b.sum(), rng.choice([0.05, 0.1, 0.5])).plan, b / b.sum())


def test_a_given_class_distribution_must_sum_to_one() -> None:
    with pytest.raises(InputError, match="2 positive shares"):
        optimal_transport(np.zeros((3, 2)), np.array([0.9, 0.9]))


def test_a_solver_that_converges_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saot(imbalanced())


def confident(N: int, C: int, seed: int = 0) -> torch.Tensor:
    """Return log P in float32 of a mostly confident network on N texts in C classes of very different sizes."""
    rng = np.random.default_rng(seed)
    sizes = rng.dirichlet(np.full(C, 0.5))
    logits = rng.normal(size=(N, C)) * 1.5
    logits[np.arange(N), rng.choice(C, N, p=sizes)] += 4
    return torch.from_numpy(logits).float().log_softmax(1)


@pytest.mark.parametrize("eps2", [0.1, 0.001])
def test_conjugate_gradients_agree_with_the_dense_hessian(eps2: float, monkeypatch: pytest.MonkeyPatch) -> None:
    log_p = confident(3000, 40)
    dense = saot(log_p, eps2=eps2)
    monkeypatch.setattr(newton, "MAX_DENSE_CLASSES", 10)
    by_cg = saot(log_p, eps2=eps2)
    assert by_cg.converged
    assert by_cg.plan.numpy() == pytest.approx(dense.plan.numpy(), abs=1e-10)
    assert by_cg.b.numpy() == pytest.approx(dense.b.numpy(), abs=1e-8)


def test_a_thousand_classes_converge() -> None:
    t = saot(confident(2000, 1000), eps2=0.001)
    assert t.converged
    assert t.iterations < 60


def test_plan_does_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    log_p = confident(500, 7)
    whole = saot(log_p)
    monkeypatch.setattr(costs, "BLOCK_VALUES", 50)
    assert saot(log_p).plan.numpy() == pytest.approx(whole.plan.numpy(), abs=1e-12)


def test_a_start_from_a_subsample_ends_at_the_same_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    log_p = confident(4000, 12)
    from_zero = saot(log_p)
    monkeypatch.setattr(newton, "SUBSAMPLE_ROWS", 300)
    from_subsample = saot(log_p)
    assert from_subsample.converged
    assert from_subsample.plan.numpy() == pytest.approx(from_zero.plan.numpy(), abs=1e-10)
    assert from_subsample.iterations < from_zero.iterations


def test_a_warm_start_takes_fewer_iterations_to_the_same_plan() -> None:
    before = confident(2000, 30)
    after = (before + 0.1 * torch.randn(2000, 30, generator=torch.Generator().manual_seed(0))).log_softmax(1)
    cold, warm = saot(after), saot(after, start=saot(before).potentials)
    assert warm.plan.numpy() == pytest.approx(cold.plan.numpy(), abs=1e-9)
    assert warm.iterations < cold.iterations
    assert saot(after, start=cold.potentials).iterations == 0


def test_a_bad_start_is_abandoned() -> None:
    log_p = confident(300, 5)
    t = saot(log_p, start=torch.tensor([700.0, -700.0, 0.0, 300.0, -5.0], dtype=torch.float64))
    assert t.plan.numpy() == pytest.approx(saot(log_p).plan.numpy(), abs=1e-9)


def test_a_start_of_another_size_is_an_error() -> None:
    with pytest.raises(InputError, match="start must hold 5 finite potentials"):
        saot(confident(20, 5), start=torch.zeros(4, dtype=torch.float64))


def test_half_precision_input_is_solved_in_double() -> None:
    log_p = confident(200, 5).bfloat16()
    t = saot(log_p)
    assert t.plan.dtype == torch.float64
    assert t.plan.numpy() == pytest.approx(saot(log_p.double()).plan.numpy(), abs=1e-12)


def test_alternating_stays_at_the_solution_it_starts_from() -> None:
    log_p = confident(300, 5)
    solution = saot(log_p, eps2=0.1)
    assert saot(log_p, eps2=0.1, method="alternating", start=solution.potentials).iterations == 0


def test_semi_relaxed_plan_is_feasible_and_optimal() -> None:
    log_p, last = imbalanced(), np.full(12, 1 / 12)
    t = semi_relaxed_transport(log_p, last, 0.1, 0.05)
    assert t.converged
    assert_feasible(t.plan, t.b)

    def cost(plan: np.ndarray, b: np.ndarray) -> float:
        entropy = (plan * (np.log(plan) - 1)).sum()
        return float(-(plan * log_p).sum() + 0.1 * entropy + 0.05 * (b * np.log(b / last)).sum())

    best, rng = cost(t.plan, t.b), np.random.default_rng(0)
    for _ in range(20):  # any other class sizes, with the best plan for them, cost more
        b = t.b * np.exp(0.2 * rng.normal(size=12))
        b /= b.sum()
        assert cost(optimal_transport(log_p, b, 0.1).plan, b) > best


def test_semi_relaxed_b_lies_between_the_reference_and_that_of_the_predictions() -> None:
    log_p, last = imbalanced(), np.full(12, 1 / 12)
    free = saot(log_p, 0.1, 0.0).b
    held, loose = semi_relaxed_transport(log_p, last, 0.1, 1e3).b, semi_relaxed_transport(log_p, last, 0.1, 1e-4).b
    assert held == pytest.approx(last, abs=1e-3)
    assert np.abs(loose - free).sum() < np.abs(held - free).sum() / 10


def test_repeated_semi_relaxed_transport_ends_at_the_predictions_sizes_and_saot_above_them() -> None:
    log_p, b = imbalanced(), np.full(12, 1 / 12)
    for _ in range(30):
        b = semi_relaxed_transport(log_p, b, 0.1, 0.01).b
    alone = saot(log_p, 0.1, 0.0).b
    assert b == pytest.approx(alone, abs=1e-6)
    assert saot(log_p, 0.1, 0.01).b.min() > 2 * b.min()


def test_the_reference_may_have_an_empty_class() -> None:
    t = semi_relaxed_transport(imbalanced(C=3), np.array([0.5, 0.5, 0.0]), 0.1, 0.01)
    assert_feasible(t.plan, t.b)


def test_the_reference_may_have_many_empty_classes() -> None:
    b = np.zeros(2000)
    b[:10] = 0.1
    t = semi_relaxed_transport(imbalanced(N=50, C=2000), b, 0.1, 0.01)
    assert_feasible(t.plan, t.b)


@pytest.mark.parametrize("b", [[1.0, -0.3, 0.3], [np.nan, 0.5, 0.5], [0.5, 0.6, 0.5], [0.5, 0.5]])
def test_b_that_is_no_distribution_is_an_error(b: list[float]) -> None:
    for solve in (semi_relaxed_transport, optimal_transport):
        with pytest.raises(InputError, match="b must hold 3"):
            solve(imbalanced(C=3), np.array(b))


def test_semi_relaxed_transport_needs_a_positive_eps2() -> None:
    with pytest.raises(InputError, match="eps2=0 must be positive"):
        semi_relaxed_transport(imbalanced(C=3), np.full(3, 1 / 3), 0.1, 0)


def test_the_former_name_of_processes_works_with_a_deprecation_warning() -> None:
    log_p = np.log([[0.8, 0.2], [0.3, 0.7]])
    with pytest.warns(DeprecationWarning, match="use saot\\(processes"):
        former = saot(log_p, ranks=SINGLE_PROCESS)
    np.testing.assert_array_equal(former.plan, saot(log_p).plan)
