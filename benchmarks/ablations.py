"""Runs of the default with one of its parts changed, on noisy and on imbalanced data, beside k-means.

    python benchmarks/ablations.py --data DIR [--jobs 2] [--part ablations|noise|uneven]

Runs are stored in results/paper; stored runs are not repeated.
"""

from __future__ import annotations

from typing import Any

from measuring import PAPER_RUNS, make_parser, print_outcome
from rstc.benchmark.datasets import IMBALANCED_DATASETS, NOISY_DATASETS, SMALL_DATASETS
from rstc.benchmark.runs import make_jobs, run_jobs
from rstc.benchmark.store import Job, Store

OURS = "rstc"
SEEDS = 3  # of the comparisons with k-means; the ablations have one

# Plain average linkage of the embeddings.
LINKAGE = {"start": "linkage", "rounds": 0, "words": 0.0, "static": 0.0, "neighbours": 0}
ABLATIONS: list[dict[str, Any]] = [
    {},
    {"start": "kmeans"},
    {"start": "linkage"},
    {"words": 0.0},
    {"static": 0.0},
    {"words": 0.0, "static": 0.0},
    {"neighbours": 0},
    {"swaps": False},
    {"rounds": 0},
    {"rounds": 8},
    {"eps2": 0.1},
    {"training": "always"},
]


def make_parts() -> dict[str, list[Job]]:
    """Make the jobs of each part."""
    return {
        "ablations": make_jobs(SMALL_DATASETS, [OURS], 1, ABLATIONS),
        "noise": make_jobs(NOISY_DATASETS, ["sbert", OURS], SEEDS),
        "uneven": make_jobs(IMBALANCED_DATASETS, ["sbert", OURS], SEEDS)
        + make_jobs(IMBALANCED_DATASETS, [OURS], SEEDS, [LINKAGE]),
    }


def main() -> None:
    parts = make_parts()
    parser = make_parser(__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="number of runs at the same time")
    parser.add_argument("--part", choices=parts, action="append", help="default: all")
    options = parser.parse_args()
    for part in options.part or parts:
        run_jobs(parts[part], Store(PAPER_RUNS), options.data, print_outcome, n_parallel=options.jobs)


if __name__ == "__main__":
    main()
