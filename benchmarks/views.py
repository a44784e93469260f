"""What each way to make views changes, what it costs, and what the clusters are like that are learned from it.

    python benchmarks/views.py --data DIR [--part changes] [--part clusters] [--jobs 2]

`changes`: the share of words that are changed, the cosine of a text and its version under the encoder, texts a second,
into results/views.json. `clusters`: runs of the default with these views, into the store. Both go on where they
stopped.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from default import tell
from measuring import RESULTS, ResultFile, circumstances
from rstc.benchmark.datasets import load
from rstc.benchmark.runs import jobs_for, run_all
from rstc.benchmark.store import Store
from rstc.representation.augmenters.base import Tools
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.representation.views import drawn_views, given_views
from store_tables import GIVEN, OURS, STORE, VIEW_RECIPES, VIEW_SETS

SEEDS = 3


def share_of_words_changed(before: str, after: str) -> float:
    """Return how many of a text's words its version lacks, as a share; their order does not count."""
    words = before.split()
    kept = sum((Counter(words) & Counter(after.split())).values())
    return 1 - kept / max(len(words), 1)


def cosines(encoder: Encoder, before: Sequence[str], after: Sequence[str]) -> np.ndarray:
    """Return the cosine of each text and its version."""
    A, B = (encoder.embed(encoder.tokenize(texts)).numpy() for texts in (before, after))
    return np.asarray((A * B).sum(1) / np.linalg.norm(A, axis=1) / np.linalg.norm(B, axis=1))


def measure_changes(data: Path) -> None:
    encoder = load_encoder(None, "mean", 32)
    tools = Tools(lambda: encoder, encoder.device)
    results = ResultFile(RESULTS / "views.json", circumstances(), key=("dataset", "views"))
    for dataset in VIEW_SETS:
        loaded = load(dataset, data)
        for recipe in (*VIEW_RECIPES, GIVEN):
            if results.has(dataset=dataset, views=recipe):
                continue
            rng = np.random.default_rng(0)
            start = time.perf_counter()
            if recipe == GIVEN:
                if loaded.views_from != GIVEN:
                    continue
                versions = given_views(loaded.texts, *loaded.views).draw(rng)
            else:
                with tempfile.TemporaryDirectory() as empty:  # nothing was kept before
                    views = drawn_views(loaded.texts, recipe, folder=Path(empty)).prepared(tools, rng)
                    tools.put_away()  # nor learned
                    versions = views.draw(rng)
            seconds = time.perf_counter() - start
            made = sum(b is not loaded.texts and b != loaded.texts for b in versions) * len(loaded.texts)
            changed = [[share_of_words_changed(a, b) for a, b in zip(loaded.texts, v, strict=True)] for v in versions]
            alike = [cosines(encoder, loaded.texts, version) for version in versions]
            results.add(
                {
                    "dataset": dataset,
                    "views": recipe,
                    "words_changed": [round(float(np.mean(one)), 4) for one in changed],
                    "cosine": [round(float(one.mean()), 4) for one in alike],
                    "texts_a_second": round(made / seconds) if made and recipe != GIVEN else None,
                }
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", choices=["changes", "clusters"], action="append")
    asked = parser.parse_args()
    parts = asked.part or ["changes", "clusters"]
    if "changes" in parts:
        measure_changes(asked.data)
    if "clusters" in parts:
        jobs = jobs_for(VIEW_SETS, [OURS], SEEDS, [{"views": recipe} for recipe in VIEW_RECIPES])
        run_all(jobs + jobs_for(VIEW_SETS, ["rstc-given"], SEEDS), Store(STORE), asked.data, tell, at_a_time=asked.jobs)


if __name__ == "__main__":
    main()
