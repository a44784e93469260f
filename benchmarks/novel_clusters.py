"""Proposals of new clusters when an update brings a class that the run has not seen, and when it brings none.

    python benchmarks/novel_clusters.py --data DIR [--seeds 5] [--datasets agnews,tweet]

Of 800 texts of a data set, 30 % at random are new. In the first trial of a seed, a class of at least 10 texts is left
out of the earlier ones, and up to 60 of its texts arrive with the new ones; in the second trial, no class is new. The
earlier texts are clustered in the bundled encoder's space by k-means with swaps, with the number of their classes, and
`find_novel_groups` is applied as `rstc update` applies it. The constants were chosen on half A. Sets of DIR that are
not in the project are read from files with the columns label and text. Rows are written to
results/novel_clusters.json; rows that are present are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import ResultFile, embed, make_parser
from rstc.pseudo_labels import novelty
from rstc.pseudo_labels.kmeans import fit_kmeans_with_swaps

HALF_A = ["agnews", "stackoverflow", "tweet", "googlenews-t", "packages", "commands"]
HALF_B = ["searchsnippets", "biomedical", "googlenews-ts", "googlenews-s", "assistant", "encyclopedia"]
POOL_SIZE = 1_600  # texts of a set that samples are drawn from, which are embedded once
SAMPLE_SIZE = 800
NEW_SHARE = 0.3
MIN_CLASS_SIZE, MAX_CLASS_SIZE = 10, 60  # of the class that is left out


def read_pool(name: str, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read distinct texts of a set; return embeddings and class numbers."""
    path = next(path for path in (data / f"{name}.csv", data / "more" / f"{name}.csv") if path.exists())
    table = pd.read_csv(path, keep_default_na=False, dtype=str).drop_duplicates("text")
    table = table.sample(min(POOL_SIZE, len(table)), random_state=0)
    return embed(table["text"].tolist()), pd.factorize(table["label"])[0]


def measure(E: np.ndarray, classes: np.ndarray, seed: int, leave_out: bool) -> dict[str, Any]:
    """Draw a sample, with or without a class that is new, and compare the proposals with the classes."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(E), min(SAMPLE_SIZE, len(E)), replace=False)
    is_new, novel_class = rng.random(len(rows)) < NEW_SHARE, -1
    if leave_out:
        novel_class = int(rng.choice(np.flatnonzero(np.bincount(classes[rows]) >= MIN_CLASS_SIZE)))
        members = np.flatnonzero(classes[rows] == novel_class)
        is_new[members] = True
        kept = np.setdiff1d(np.arange(len(rows)), members[MAX_CLASS_SIZE:])
        rows, is_new = rows[kept], is_new[kept]
    old, new = rows[~is_new], rows[is_new]
    n_clusters = len(np.unique(classes[old]))
    labels = fit_kmeans_with_swaps(E[old], n_clusters, rng, 1).labels.astype(np.int64)
    groups = novelty.find_novel_groups(E[old], labels, E[new], rng)
    is_novel = classes[new] == novel_class
    proposals = [
        {
            "size": len(group.rows),
            "stability": group.stability,
            "precision": round(float(is_novel[group.rows].mean()), 3),
            "recall": round(float(is_novel[group.rows].sum() / max(is_novel.sum(), 1)), 3),
        }
        for group in groups
    ]
    right = [proposal for proposal in proposals if proposal["precision"] > 0.5]
    return {
        "clusters": n_clusters,
        "earlier": len(old),
        "new": len(new),
        "novel": int(is_novel.sum()),
        "found": bool(right),
        "precision": right[0]["precision"] if right else None,
        "recall": right[0]["recall"] if right else None,
        "false": len(proposals) - len(right),
        "proposals": proposals,
    }


def main() -> None:
    parser = make_parser(__doc__, datasets=HALF_A + HALF_B, seeds=5)
    options = parser.parse_args()
    names = (
        "N_NEIGHBOURS",
        "FLAGGED_SHARE",
        "MIN_FLAGGED",
        "MIN_COHESION",
        "MAX_LIKENESS",
        "MIN_TIGHTNESS",
        "MIN_RATE_RATIO",
        "MIN_STABILITY",
        "N_RESAMPLES",
    )
    config = {name.lower(): getattr(novelty, name) for name in names}
    results = ResultFile(
        "novel_clusters", key=("dataset", "seed", "leave_out"), config=config, halves={"A": HALF_A, "B": HALF_B}
    )
    for name in options.datasets:
        E, classes = read_pool(name, options.data)
        for seed in range(options.seeds):
            for leave_out in (True, False):
                row = {"dataset": name, "seed": seed, "leave_out": leave_out}
                if not results.has(**row):
                    results.add(row | measure(E, classes, seed, leave_out))


if __name__ == "__main__":
    main()
