"""Where the paper's Algorithm 1 converges: its spectral radius at the solution beside what its iterations reach.

    python benchmarks/algorithm1.py            measure, and draw docs/figures/algorithm1.png
    python benchmarks/algorithm1.py --draw     only draw what was measured

Predictions are random, as in transport.py: 2,000 texts, classes of very different sizes, a network that is mostly
right. "Alternating" takes Algorithm 1's updates from g = 0 with the exact class sizes, "literal" is the algorithm to
the letter (random start, h = 1, ten Newton steps on h in each iteration). Rows are written to results/algorithm1.json;
rows that are present are skipped.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from measuring import FIGURES, RESULTS, ResultFile, make_parser
from rstc.errors import TransportWarning
from rstc.pseudo_labels.transport.saot import Transport, saot
from transport import EPS1, make_predictions

N = 2000
CLASSES = (12, 89)
EPS2 = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
ITERATIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DRAWN_EPS2 = (0.1, 0.01, 0.001)  # the paper's, for balanced, lightly and heavily imbalanced data


def solve(C: int, eps2: float, method: str, max_iter: int | None = None) -> Transport[Any]:
    """Solve the problem of C classes without a warning if the solver does not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TransportWarning)
        return saot(make_predictions(N, C), EPS1, eps2, method, max_iter=max_iter)


def measure(C: int, eps2: float) -> dict[str, Any]:
    """Compare the solvers on one problem."""
    newton = solve(C, eps2, "newton")
    runs = {
        method: [solve(C, eps2, method, max_iter) for max_iter in ITERATIONS] for method in ("alternating", "literal")
    }
    return {
        "N": N,
        "C": C,
        "eps1": EPS1,
        "eps2": eps2,
        "largest_class": float(newton.b.max()),
        "spectral_radius": newton.spectral_radius,
        "newton": {
            "steps": newton.iterations,
            "residual": newton.residual,
            "duality_gap": newton.duality_gap,
            "stationarity": newton.stationarity,
        },
        **{method: {"residuals": [run.residual for run in solved]} for method, solved in runs.items()},
        "literal_iterations": runs["literal"][-1].iterations,  # before the first one that yields NaN
        "iterations": list(ITERATIONS),
    }


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw the radius against eps2, and the residuals over the iterations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    colours = ("#0072b2", "#d55e00", "#009e73")
    for C, colour, marker in zip(CLASSES, colours, "os", strict=False):
        chosen = sorted((row for row in rows if row["C"] == C), key=lambda row: row["eps2"])
        x = [row["eps2"] for row in chosen]
        left.loglog(x, [row["spectral_radius"] for row in chosen], f"{marker}-", color=colour, label=f"C = {C}")
        bounds = [EPS1 * row["largest_class"] / (2 * row["eps2"]) for row in chosen]
        left.loglog(x, bounds, ":", color=colour, label=f"eps1 max b / (2 eps2), C = {C}")
    left.axhline(1, color="grey", lw=0.8)
    left.text(0.02, 1.1, "diverges above 1", va="bottom", fontsize=8, color="grey")
    left.set(xlabel="eps2", ylabel="spectral radius of Algorithm 1 at the solution")
    for eps2, colour in zip(DRAWN_EPS2, colours, strict=True):
        row = next(row for row in rows if (row["C"], row["eps2"]) == (CLASSES[-1], eps2))
        exact, literal = row["alternating"]["residuals"], row["literal"]["residuals"]
        right.loglog(row["iterations"], exact, "o-", color=colour, ms=4, label=f"exact b, eps2 = {eps2:g}")
        right.loglog(
            row["iterations"], literal, "s:", color=colour, ms=4, mfc="white", label=f"literal, eps2 = {eps2:g}"
        )
    right.set(xlabel="iterations of Algorithm 1", ylabel="residual (L1)", title=f"C = {CLASSES[-1]}")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(FIGURES / "algorithm1.png", dpi=120)


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--draw", action="store_true", help="only draw the figure")
    options = parser.parse_args()
    if not options.draw:
        results = ResultFile("algorithm1", key=("C", "eps2"))
        for C in CLASSES:
            for eps2 in EPS2:
                if not results.has(C=C, eps2=eps2):
                    results.add(measure(C, eps2))
    draw(json.loads((RESULTS / "algorithm1.json").read_text())["rows"])


if __name__ == "__main__":
    main()
