"""Run what the tables of our default are made of: its steps one by one, noise, uneven sizes. Goes on where it stopped.

python benchmarks/default.py --data DIR [--jobs 2] [--part starts|ablations|noise|uneven]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rstc.benchmark.datasets import NOISY_SETS, SMALL_SETS, UNEVEN_SETS, WHOLE_SETS
from rstc.benchmark.runs import News, jobs_for, run_all
from rstc.benchmark.store import Job, Store
from store_tables import ABLATIONS, LINKAGE, OURS, STARTS, STORE

SEEDS = 3  # of the comparisons with k-means; the steps are shown on one


def jobs() -> dict[str, list[Job]]:
    """Return the runs of each part."""
    return {
        "starts": jobs_for(WHOLE_SETS, [OURS], 1, [changes for _, changes in STARTS]),
        "ablations": jobs_for(SMALL_SETS, [OURS], 1, [changes for _, changes in ABLATIONS]),
        "noise": jobs_for(NOISY_SETS, ["sbert", OURS], SEEDS),
        "uneven": jobs_for(UNEVEN_SETS, ["sbert", OURS], SEEDS) + jobs_for(UNEVEN_SETS, [OURS], SEEDS, [LINKAGE]),
    }


def tell(news: News) -> None:
    if news.result is not None or news.problem:
        print(news.sentence(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", choices=jobs(), action="append")
    asked = parser.parse_args()
    for part in asked.part or jobs():
        run_all(jobs()[part], Store(STORE), asked.data, tell, at_a_time=asked.jobs)


if __name__ == "__main__":
    main()
