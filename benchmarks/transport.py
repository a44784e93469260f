"""Time, residual and memory of the Newton solver of the transport, beside the paper's alternation and POT.

    pip install 'rstc[bench]'
    python benchmarks/transport.py            measure, and draw docs/figures/transport.png
    python benchmarks/transport.py --draw     only draw what was measured

Predictions are random: classes of very different sizes, a network that is mostly right, the same for all solvers.
Where N C is at most 2 million, the alternation takes the paper's 1,000 rounds, or fewer if it converges. Above, only
the time per round is measured, between round 5 and round 15; how many rounds it would take is not known, but with the
same C and eps2 the number hardly changes with N. POT solves the problem with fixed class sizes, also on torch
tensors. Memory is measured in a process of its own, as the growth of the largest resident set while the problem is
solved and labels are read, with log P in memory before. Rows are written to results/transport.json; rows that are
present are skipped.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from measuring import FIGURES, RESULTS, ResultFile, make_parser, measure_time, run_in_process
from rstc.pseudo_labels.transport.saot import optimal_transport, saot

EPS1 = 0.1
SIZES = [(N, C) for N in (1_000, 10_000, 100_000, 1_000_000) for C in (4, 20, 100, 1_000) if N * C <= 10**8]
MEMORY_SIZES = [(1_000_000, 100), (20_000, 10_000)]
EPS2 = (0.1, 0.01, 0.001)
MAX_ENTRIES_TO_CONVERGE = 2_000_000  # N C up to which the alternation runs to the end
MAX_ROUNDS = 1_000
DRAWN_EPS2 = 0.001


def make_predictions(N: int, C: int) -> torch.Tensor:
    """Make log predictions, (N, C)."""
    rng = torch.Generator().manual_seed(0)
    sizes = torch.softmax(1.5 * torch.randn(C, generator=rng), 0)
    logits = 1.5 * torch.randn(N, C, generator=rng)
    logits[torch.arange(N), torch.multinomial(sizes, N, replacement=True, generator=rng)] += 4
    return logits.log_softmax(1)


def time_solver(solve: Callable[[], Any]) -> tuple[Any, float]:
    """Time a solver without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measure_time(solve)


def compare_with_alternation(N: int, C: int, eps2: float) -> dict[str, Any]:
    log_p = make_predictions(N, C)
    tol = 1e-6 if N * C > 10**7 else 1e-8
    newton, seconds = time_solver(lambda: saot(log_p, EPS1, eps2, tol=tol))
    if N * C <= MAX_ENTRIES_TO_CONVERGE:
        converged, spent = time_solver(lambda: saot(log_p, EPS1, eps2, "alternating", tol=tol, max_iter=MAX_ROUNDS))
        alternation = {"seconds": round(spent, 4), "residual": converged.residual, "rounds": converged.iterations}
    else:
        few, many = (
            time_solver(lambda n=n: saot(log_p, EPS1, eps2, "alternating", tol=0, max_iter=n))[1] for n in (5, 15)
        )
        alternation = {"seconds_a_round": round((many - few) / 10, 4)}
    return {
        "problem": "saot",
        "N": N,
        "C": C,
        "eps2": eps2,
        "tol": tol,
        "newton": {"seconds": round(seconds, 4), "residual": newton.residual, "steps": newton.iterations},
        "alternation": alternation,
    }


def compare_with_pot(N: int, C: int) -> dict[str, Any]:
    import ot

    log_p = make_predictions(N, C).double()
    b = torch.softmax(torch.randn(C, generator=torch.Generator().manual_seed(1)).double(), 0)
    newton, seconds = time_solver(lambda: optimal_transport(log_p, b, EPS1))
    M, a = -log_p, torch.full((N,), 1 / N, dtype=torch.float64)
    plan, spent = time_solver(
        lambda: ot.sinkhorn(a, b, M, EPS1, method="sinkhorn_log", numItermax=MAX_ROUNDS, stopThr=1e-9)
    )
    residual = max((plan.sum(1) - a).abs().sum(), (plan.sum(0) - b).abs().sum())
    return {
        "problem": "fixed b",
        "N": N,
        "C": C,
        "eps2": None,
        "newton": {"seconds": round(seconds, 4), "residual": newton.residual, "steps": newton.iterations},
        "pot": {"seconds": round(spent, 4), "residual": float(residual)},
        "largest_difference_of_rows": float((plan - newton.plan).abs().sum(1).max() * N),
    }


def measure_memory(N: int, C: int, eps2: float) -> dict[str, Any]:
    """Solve a problem in a new process, which reads log P from a file that another process has written."""
    with tempfile.TemporaryDirectory() as folder:
        log_p, row = Path(folder) / "log_p.npy", Path(folder) / "row.json"
        run_in_process(write_predictions, log_p, N, C)
        run_in_process(write_memory_row, log_p, row, eps2)
        return dict(json.loads(row.read_text()))


def write_predictions(path: Path, N: int, C: int) -> None:
    np.save(path, make_predictions(N, C).numpy())


def write_memory_row(log_p_path: Path, row_path: Path, eps2: float) -> None:
    saot(make_predictions(1000, 20)).labels  # warm-up  # noqa: B018
    log_p = np.load(log_p_path)
    before = read_peak_memory()
    newton, seconds = time_solver(lambda: saot(log_p, EPS1, eps2))
    _, seconds_of_labels = time_solver(lambda: newton.labels)
    row = {
        "problem": "memory",
        "N": len(log_p),
        "C": log_p.shape[1],
        "eps2": eps2,
        "tol": 1e-8,
        "newton": {"seconds": round(seconds, 4), "residual": newton.residual, "steps": newton.iterations},
        "labels_seconds": round(seconds_of_labels, 4),
        "log_p_mb": round(log_p.nbytes / 1e6, 1),
        "extra_mb": round((read_peak_memory() - before) / 1e6, 1),
    }
    row_path.write_text(json.dumps(row))


def read_peak_memory() -> int:
    """Read the largest resident set of this process, in bytes (Linux).

    `resource.getrusage` does not tell it: its peak starts at the memory of the parent process.
    """
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(peak)


def draw_times(rows: list[dict[str, Any]]) -> None:
    """Draw the seconds against N and against C."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (by_n, by_c) = plt.subplots(1, 2, figsize=(11, 5), sharey=True)
    saot_rows = [row for row in rows if row["problem"] == "saot" and row["eps2"] == DRAWN_EPS2]
    for axis, along, fixed, values in ((by_n, "N", "C", (4, 20, 100)), (by_c, "C", "N", (1_000, 10_000, 100_000))):
        for colour, value in zip(("#0072b2", "#d55e00", "#009e73"), values, strict=True):
            chosen = sorted((row for row in saot_rows if row[fixed] == value), key=lambda row: row[along])
            label = f"{fixed} = {value:,}"
            x, seconds = [row[along] for row in chosen], [row["newton"]["seconds"] for row in chosen]
            axis.loglog(x, seconds, "o-", color=colour, label=f"Newton, {label}")
            whole = [row for row in chosen if "seconds" in row["alternation"]]
            x, seconds = [row[along] for row in whole], [row["alternation"]["seconds"] for row in whole]
            axis.loglog(x, seconds, "s:", color=colour, mfc="white", label=f"alternation, {label}")
        axis.set_xlabel("texts N" if along == "N" else "classes C")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    by_n.set_ylabel("seconds")
    figure.suptitle(f"Cost of the transport (eps1 = 0.1, eps2 = {DRAWN_EPS2}, two CPU cores)")
    figure.tight_layout()
    figure.savefig(FIGURES / "transport.png", dpi=120)


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--draw", action="store_true", help="only draw the figure")
    options = parser.parse_args()
    if not options.draw:
        results = ResultFile("transport", key=("problem", "N", "C", "eps2"), packages=("pot",))
        saot(make_predictions(1000, 20))  # warm-up
        for N, C in SIZES:
            for eps2 in EPS2:
                if not results.has(problem="saot", N=N, C=C, eps2=eps2):
                    results.add(compare_with_alternation(N, C, eps2))
            if N * C <= MAX_ENTRIES_TO_CONVERGE and not results.has(problem="fixed b", N=N, C=C, eps2=None):
                results.add(compare_with_pot(N, C))
        for N, C in MEMORY_SIZES:
            for eps2 in EPS2:
                if not results.has(problem="memory", N=N, C=C, eps2=eps2):
                    results.add(measure_memory(N, C, eps2))
    draw_times(json.loads((RESULTS / "transport.json").read_text())["rows"])


if __name__ == "__main__":
    main()
