"""Memory of transports with many classes, and the plan by rows, by blocks and by columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from rstc.pseudo_labels.transport import costs, gram, newton
from rstc.pseudo_labels.transport.costs import build_costs, softmax_rows
from rstc.pseudo_labels.transport.gram import GramOperator
from rstc.pseudo_labels.transport.saot import optimal_transport, saot


def make_log_p(N: int, C: int, seed: int = 0) -> torch.Tensor:
    """Return log P in float32 of a mostly confident network."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(N, C)) * 1.5
    logits[np.arange(N), rng.integers(C, size=N)] += 4
    return torch.from_numpy(logits).float().log_softmax(1)


MEASURE = """
import re, sys
from pathlib import Path
import numpy as np, torch
from rstc import saot
from rstc.pseudo_labels.transport import gram

def peak():  # not ru_maxrss, which starts at the memory of the parent process
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

gram.MAX_HELD_ENTRIES = 0  # so that the share of N C is the limit, as in a larger problem
saot(torch.randn(50, 600, generator=torch.Generator().manual_seed(0)).log_softmax(1)).labels  # warm-up
log_p = np.load(sys.argv[1])
before = peak()
transport = saot(log_p, eps2=0.01)
transport.labels
solved = peak()
transport.plan
print(transport.residual, solved - before, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_two_thousand_classes_need_little_memory_beyond_log_p(tmp_path: Path) -> None:
    log_p = make_log_p(20_000, 2_000)
    np.save(tmp_path / "log_p.npy", log_p.numpy())
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "log_p.npy")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    residual, solved, with_plan = map(float, output.split())
    assert residual <= 1e-8
    # Blocks and the allocator take 20 to 30 MB, whatever the size of log P.
    assert solved < 0.1 * log_p.nbytes + 40e6
    assert with_plan > 1.9 * log_p.nbytes, "the plan is in float64, which shows that the measurement sees tensors"


@pytest.mark.parametrize("max_entries", [0, 5_000, 10**6])
def test_gram_products_equal_those_of_the_dense_rows(max_entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram, "MAX_HELD_ENTRIES", max_entries)
    monkeypatch.setattr(gram, "MIN_ENTRY", 1e-12)
    monkeypatch.setattr(costs, "BLOCK_VALUES", 300)
    M, rng = build_costs(make_log_p(400, 30)), np.random.default_rng(0)
    g, v = rng.normal(size=(2, 30))
    S = softmax_rows(M.read(slice(0, 400)), torch.from_numpy(g), 0.5)[0].numpy()
    operator = GramOperator(M, 0.5, g)
    assert operator.n_held < 400 or max_entries == 10**6
    assert operator.diagonal == pytest.approx((S**2).sum(0), rel=1e-12)
    assert operator.multiply(v) == pytest.approx(S.T @ (S @ v), abs=1e-9)


def test_gram_drops_at_most_a_hundredth_of_a_row() -> None:
    M = build_costs(make_log_p(200, 50))
    operator = GramOperator(M, 0.1, np.zeros(50))
    assert operator.n_held == 200
    # The ones are mapped to the squared row sums of the entries that are held, spread over their classes.
    assert operator.multiply(np.ones(50)).sum() >= 200 * 0.99**2


@pytest.mark.parametrize("max_entries", [0, 10_000])
def test_rows_that_are_not_held_are_recomputed_to_the_same_plan(
    max_entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_p, b = make_log_p(600, 40), torch.full((40,), 1 / 40, dtype=torch.float64)
    dense = saot(log_p), optimal_transport(log_p, b)
    monkeypatch.setattr(newton, "MAX_DENSE_CLASSES", 10)
    monkeypatch.setattr(gram, "MAX_HELD_ENTRIES", max_entries)
    by_products = saot(log_p), optimal_transport(log_p, b)
    for t, other in zip(by_products, dense, strict=True):
        assert t.converged
        assert t.plan.numpy() == pytest.approx(other.plan.numpy(), abs=1e-9)


def test_classes_in_groups_converge_with_rows_spread_over_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    # The Hessian's small eigenvalues belong to whole groups, which its diagonal does not show.
    monkeypatch.setattr(gram, "MAX_HELD_ENTRIES", 0)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 100)  # of the classes
    logits = 0.1 * rng.normal(size=(900, 600)) + 2.0 * (rng.integers(6, size=900)[:, None] == groups)
    for eps2 in (0.1, 0.001):
        t = saot(logits, eps2=eps2)
        assert t.converged
        assert t.residual <= 1e-8


@pytest.mark.parametrize("is_tensor", [False, True])
def test_labels_rows_blocks_and_columns_are_those_of_the_plan(is_tensor: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "BLOCK_VALUES", 60)
    log_p = make_log_p(50, 7)
    t = saot(log_p if is_tensor else log_p.numpy())
    plan = np.asarray(t.plan)
    assert np.asarray(t.labels).tolist() == plan.argmax(1).tolist()
    assert np.asarray(t.labels).dtype == np.int64
    np.testing.assert_array_equal(np.concatenate([np.asarray(block) for _, block in t.iter_blocks()]), plan)
    np.testing.assert_array_equal(np.asarray(t.rows(10, 25)), plan[10:25])
    np.testing.assert_array_equal(np.asarray(t.columns(np.array([6, 2]))), plan[:, [6, 2]])
    kind = torch.Tensor if is_tensor else np.ndarray
    assert all(isinstance(values, kind) for values in (t.plan, t.labels, t.rows(0, 1), t.columns(np.array([0]))))


def test_log_p_is_not_copied_unless_torch_cannot_read_it() -> None:
    log_p = make_log_p(30, 6).numpy()
    for layout in (log_p, np.asfortranarray(log_p), log_p[::2, ::3]):
        assert np.shares_memory(build_costs(layout).log_p.numpy(), layout)
    for layout in (log_p[::-1], log_p.astype(">f8")):
        assert saot(layout).plan == pytest.approx(saot(np.array(layout, dtype=np.float64)).plan, abs=1e-12)
