"""All runs that the tables and figures of the reproduction need, the most important first.

    python benchmarks/reproduction.py --data DIR [--jobs 2] [--time-limit SECONDS] [--outdated] [--list]

The cells of the paper's Table 1 come first with one seed, then with all of their seeds, then the estimators, the sweeps
of Fig. 3 and 4, and one run on the paper's own schedule, for which checkpoints are kept. Runs are stored in
results/paper; stored runs are not repeated, but with --outdated those that lack the cluster of each text are.
"""

from __future__ import annotations

import time

from measuring import PAPER_RUNS, make_parser, print_outcome
from rstc.benchmark.datasets import PAPER_DATASETS, SMALL_DATASETS
from rstc.benchmark.published import published_scores
from rstc.benchmark.runs import make_jobs, run_jobs
from rstc.benchmark.store import Job, Store
from rstc.io.atomic import user_cache_dir

FAST = ("bow", "tfidf", "sbert")  # less than five minutes a run on every set
BASELINES = ("stc2-lpi", "self-train", "kmeans-ic", "sccl")
ABLATIONS = ("rstc-ot", "rstc-c", "rstc-i")
ESTIMATORS = ("rstc-m2", "rstc-m2-released", "rstc-m3", "sela")
SWEPT_DATASETS = ["googlenews-t", "stackoverflow", "searchsnippets"]  # those of the paper's Fig. 3
SWEEPS: dict[str, tuple[float, ...]] = {
    "eps1": (0.05, 0.1, 0.2, 0.5),
    "eps2": (0.0, 0.001, 0.01, 0.1, 1.0),
    "lambda_i": (1.0, 5.0, 10.0, 20.0, 50.0, 100.0),
}
SEEDS = 3


class CompleteRunsStore(Store):
    """A store that counts runs without the cluster of each text as missing."""

    def has(self, job: Job) -> bool:
        """Check whether a run is stored with its clusters."""
        return "labels" in (Store(self.folder).get(job) or {})


def list_jobs() -> list[Job]:
    """List the jobs in the order in which they are run, without repetitions."""
    methods = (*FAST, *BASELINES, *ABLATIONS, "rstc-paper", "rstc")
    cells = [(name, method) for name in PAPER_DATASETS for method in methods if is_needed(method, name)]
    jobs = [job for name, method in cells for job in make_jobs([name], [method], 1)]
    jobs += make_jobs(SMALL_DATASETS, [*BASELINES, *ABLATIONS, *ESTIMATORS, "rstc-paper", "rstc"], SEEDS)
    jobs += make_jobs(["tweet", "googlenews-t"], ["rstc-paper"], 5)
    jobs += make_jobs(PAPER_DATASETS, ["rstc-paper", "rstc"], SEEDS)
    jobs += make_jobs(PAPER_DATASETS, FAST, 5)
    for setting, values in SWEEPS.items():
        jobs += make_jobs(SWEPT_DATASETS, ["rstc-paper"], SEEDS, [{setting: value} for value in values])
    jobs += make_jobs(["tweet"], ["rstc-paper"], 1, [{"schedule": "paper"}])
    return list({job.path: job for job in jobs}.values())


def is_needed(method: str, dataset: str) -> bool:
    """Check whether a cell is in the paper's Table 1, or is one of ours."""
    return method == "rstc" or published_scores(method, dataset) is not None


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="number of runs at the same time")
    parser.add_argument("--time-limit", type=float, help="seconds after which running jobs are stopped")
    parser.add_argument("--outdated", action="store_true", help="repeat stored runs that lack the cluster of each text")
    parser.add_argument("--list", action="store_true", help="only list the missing runs")
    options = parser.parse_args()
    store = (CompleteRunsStore if options.outdated else Store)(PAPER_RUNS)
    missing = [job for job in list_jobs() if not store.has(job)]
    print(f"{len(missing)} of {len(list_jobs())} runs are missing", flush=True)
    if options.list:
        for job in missing:
            print(job.path)
        return
    start = time.monotonic()
    run_jobs(
        missing,
        store,
        options.data,
        print_outcome,
        n_parallel=options.jobs,
        time_limit=options.time_limit,
        checkpoints=user_cache_dir() / "checkpoints",
    )
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
