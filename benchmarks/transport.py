"""The dual solver against the paper's alternation and against POT: time and residual.

    pip install 'rstc[bench]'
    python benchmarks/transport.py            measure, and draw docs/figures/transport.png
    python benchmarks/transport.py --draw     only draw what was measured

Predictions are made up: classes of very different sizes, a network that is mostly right; all solvers see the same.
The alternation takes the paper's 1,000 rounds, or fewer if it converges, where N C is at most 2 million. Above, only
the time of a round is measured, between round 5 and round 15: how many it would take is not known, though with the
same C and eps2 the number hardly changes with N where we let it run. POT solves the problem with fixed class sizes,
on torch tensors as we do.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from measuring import RESULTS, ResultFile, circumstances
from rstc.pseudo_labels.transport.saot import optimal_transport, saot

EPS1 = 0.1
SIZES = [(N, C) for N in (1_000, 10_000, 100_000, 1_000_000) for C in (4, 20, 100, 1_000) if N * C <= 10**8]
EPS2 = (0.1, 0.01, 0.001)
ALL_ROUNDS = 2_000_000  # N C up to which the alternation is let run
ROUNDS = 1_000
DRAWN_EPS2 = 0.001
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "transport.png"


def predictions(N: int, C: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(0)
    sizes = torch.softmax(1.5 * torch.randn(C, generator=rng), 0)
    logits = 1.5 * torch.randn(N, C, generator=rng)
    logits[torch.arange(N), torch.multinomial(sizes, N, replacement=True, generator=rng)] += 4
    return logits.log_softmax(1)


def timed(solve: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve()
    return found, time.perf_counter() - start


def against_alternation(N: int, C: int, eps2: float) -> dict[str, Any]:
    log_p = predictions(N, C)
    tol = 1e-6 if N * C > 10**7 else 1e-8
    ours, seconds = timed(lambda: saot(log_p, EPS1, eps2, tol=tol))
    if N * C <= ALL_ROUNDS:
        theirs, spent = timed(lambda: saot(log_p, EPS1, eps2, "alternating", tol=tol, max_iter=ROUNDS))
        alternation = {"seconds": round(spent, 4), "residual": theirs.residual, "rounds": theirs.iterations}
    else:
        few, many = (timed(lambda n=n: saot(log_p, EPS1, eps2, "alternating", tol=0, max_iter=n))[1] for n in (5, 15))
        alternation = {"seconds_a_round": round((many - few) / 10, 4)}
    return {
        "problem": "saot",
        "N": N,
        "C": C,
        "eps2": eps2,
        "tol": tol,
        "newton": {"seconds": round(seconds, 4), "residual": ours.residual, "steps": ours.iterations},
        "alternation": alternation,
    }


def against_pot(N: int, C: int) -> dict[str, Any]:
    import ot

    log_p = predictions(N, C).double()
    b = torch.softmax(torch.randn(C, generator=torch.Generator().manual_seed(1)).double(), 0)
    ours, seconds = timed(lambda: optimal_transport(log_p, b, EPS1))
    M, a = -log_p, torch.full((N,), 1 / N, dtype=torch.float64)
    plan, spent = timed(lambda: ot.sinkhorn(a, b, M, EPS1, method="sinkhorn_log", numItermax=ROUNDS, stopThr=1e-9))
    residual = max((plan.sum(1) - a).abs().sum(), (plan.sum(0) - b).abs().sum())
    return {
        "problem": "fixed b",
        "N": N,
        "C": C,
        "eps2": None,
        "newton": {"seconds": round(seconds, 4), "residual": ours.residual, "steps": ours.iterations},
        "pot": {"seconds": round(spent, 4), "residual": float(residual)},
        "largest_difference_of_rows": float((plan - ours.plan).abs().sum(1).max() * N),
    }


def draw(rows: list[dict[str, Any]]) -> None:
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
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    path = RESULTS / "transport.json"
    if not given.draw:
        results = ResultFile(path, circumstances("pot"), key=("problem", "N", "C", "eps2"))
        saot(predictions(1000, 20))  # warms up
        for N, C in SIZES:
            for eps2 in EPS2:
                if not results.has(problem="saot", N=N, C=C, eps2=eps2):
                    results.add(against_alternation(N, C, eps2))
            if N * C <= ALL_ROUNDS and not results.has(problem="fixed b", N=N, C=C, eps2=None):
                results.add(against_pot(N, C))
    draw(json.loads(path.read_text())["rows"])


if __name__ == "__main__":
    main()
