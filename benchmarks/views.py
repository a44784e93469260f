"""What each way to make views changes in the texts, how fast it is, and how well the default clusters with it.

    python benchmarks/views.py --data DIR [--part changes] [--part clusters] [--jobs 2]

`changes` measures the share of changed words, the cosine similarity of a text and its view, and the texts per second,
and writes results/views.json. `clusters` runs the default with training and each kind of views, and stores the runs in
results/views; the stored ones are of version 0.1.0. Both skip what is present.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from measuring import RESULTS, ResultFile, default_encoder, embed, make_parser, measure_time, print_outcome
from rstc.benchmark.datasets import LoadedDataset, load
from rstc.benchmark.runs import make_jobs, run_jobs
from rstc.benchmark.store import Store
from rstc.config import Config
from rstc.representation.augmenters.base import AugmenterResources
from rstc.representation.views import make_views, use_precomputed_views

SEEDS = 3
VIEW_RUNS = RESULTS / "views"  # a store of `rstc benchmark`
VIEW_DATASETS = ["tweet", "stackoverflow-4k", "agnews-4k"]
VIEW_SPECS = [
    "virtual",
    "cutoff@0.1",
    "deletion@0.1",
    "swap@0.1",
    "typos@0.1",
    "synonyms@0.1",
    "learned@0.1",
    "neighbours",
    "deletion@0.1+typos@0.1",
]
GIVEN = "given"  # the views that come with a data set
DEFAULT_VIEWS = str(Config().views)


def share_of_words_changed(text: str, view: str) -> float:
    """Return the share of a text's words that its view lacks, whatever their order."""
    words = text.split()
    n_common = sum((Counter(words) & Counter(view.split())).values())
    return 1 - n_common / max(len(words), 1)


def draw_views(spec: str, loaded: LoadedDataset, resources: AugmenterResources) -> tuple[Sequence[str], Sequence[str]]:
    """Draw the two views of each text, without caches of an earlier call."""
    rng = np.random.default_rng(0)
    if spec == GIVEN:
        return use_precomputed_views(loaded.texts, *loaded.views).draw(rng)
    with tempfile.TemporaryDirectory() as empty:
        views = make_views(loaded.texts, spec, folder=Path(empty)).prepare(resources, rng)
        resources.release()
        return views.draw(rng)


def measure_changes(data: Path) -> None:
    encoder = default_encoder()
    resources = AugmenterResources(lambda: encoder, encoder.device)
    results = ResultFile("views", key=("dataset", "views"))
    for name in VIEW_DATASETS:
        loaded = load(name, data)
        E = embed(loaded.texts, encoder)
        for spec in (*VIEW_SPECS, GIVEN):
            if results.has(dataset=name, views=spec) or (spec == GIVEN and loaded.views_from != GIVEN):
                continue
            pair, seconds = measure_time(lambda spec=spec, loaded=loaded: draw_views(spec, loaded, resources))
            n_made = sum(view is not loaded.texts and view != loaded.texts for view in pair) * len(loaded.texts)
            changed = [
                np.mean([share_of_words_changed(*texts) for texts in zip(loaded.texts, view, strict=True)])
                for view in pair
            ]
            cosines = [(E * embed(list(view), encoder)).sum(1).mean() for view in pair]
            results.add(
                {
                    "dataset": name,
                    "views": spec,
                    "words_changed": [round(float(share), 4) for share in changed],
                    "cosine": [round(float(cosine), 4) for cosine in cosines],
                    "texts_a_second": round(n_made / seconds) if n_made and spec != GIVEN else None,
                }
            )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="number of runs at the same time")
    parser.add_argument("--part", choices=["changes", "clusters"], action="append", help="default: both")
    options = parser.parse_args()
    parts = options.part or ["changes", "clusters"]
    if "changes" in parts:
        measure_changes(options.data)
    if "clusters" in parts:
        jobs = make_jobs(VIEW_DATASETS, ["rstc"], SEEDS, [{"views": spec, "training": "always"} for spec in VIEW_SPECS])
        jobs += make_jobs(VIEW_DATASETS, ["rstc-given"], SEEDS)
        run_jobs(jobs, Store(VIEW_RUNS), options.data, print_outcome, n_parallel=options.jobs)


if __name__ == "__main__":
    main()
