"""The content of a run's page besides its texts, as a JSON object that the script of the page reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rstc.io.predictions import HIGH_CONFIDENCE, MEDIUM_CONFIDENCE
from rstc.numerics.hierarchy import collapse_tree
from rstc.report.colours import GREY, HUES, assign_colours, colour_run
from rstc.results.corrected_run import CorrectedRun
from rstc.results.summary import ClusterEntry, OutlierSummary

N_CATEGORY_COLOURS = 10  # values of a column that have a colour of their own


def build_page_content(run: CorrectedRun) -> dict[str, Any]:
    """Build the content of the page of a run.

    Parameters
    ----------
    run : CorrectedRun
        The run, whose clusters are shown after the corrections.

    Returns
    -------
    dict
        A JSON object; `script/data.js` reads it as `content`.
    """
    summary, source = run.summary, run.summary.input
    stored = summary.to_json()
    sample = f" · trained on {source.n_trained:,} of them" if source.n_trained < source.n_texts else ""
    if len(run.points.texts) < source.n_texts:
        sample = f" · a sample of {source.n_texts:,}{sample}"
    return {
        "title": source.file,
        "facts": f"column “{source.text_column}”{sample} · made {summary.created[:10]}",
        "clusters": build_cluster_content(run),
        "count": stored["count"],
        "tree": build_tree_content(run),
        "history": summary.history,
        "losses": summary.losses,
        "steps": summary.n_iter,
        "settled": summary.converged,
        "truth": stored.get("truth"),
        "reliability": _build_reliability_content(run),
        "run": {
            **{name.replace("_", " "): value for name, value in stored["input"].items() if value is not None},
            "clusters requested": "auto" if summary.n_clusters_search else summary.n_clusters,
            "clusters found": len(summary.clusters),
            **_build_outlier_content(summary.outliers),
            **({"decided by the texts": " ".join(summary.decisions)} if summary.decisions else {}),
            "preset": summary.preset,
            "seed": summary.seed,
            "device": f"{summary.device}, {summary.precision}",
            "seconds": summary.seconds,
            "made": summary.created,
        },
        "confidence_levels": [MEDIUM_CONFIDENCE, HIGH_CONFIDENCE],
        "colours": {"hues": HUES, "grey": GREY, "categories": list(assign_colours(range(N_CATEGORY_COLOURS)).values())},
        "text_column": {"name": source.text_column, "position": run.points.text_position},
        "settings": summary.settings,
        "versions": summary.versions,
        "rows": None if _holds_all_rows(run) else (run.points.rows + 1).tolist(),
    }


def _build_outlier_content(outliers: OutlierSummary | None) -> dict[str, Any]:
    if outliers is None:
        return {}
    return {
        "outliers": outliers.n_texts,
        "expected share of outliers among the other texts": outliers.expected_left,
    }


def _build_reliability_content(run: CorrectedRun) -> dict[str, Any] | None:
    reliability = run.summary.reliability
    if reliability is None:
        return None
    sentence = reliability.describe()
    if run.changed.any():
        sentence = f"Before corrections: {sentence}"
    return {"sentence": sentence, "warning": reliability.is_warning, **reliability.to_json()}


def build_cluster_content(run: CorrectedRun) -> list[dict[str, Any]]:
    """Build the clusters of a run after its corrections, as the script of the page reads them.

    Parameters
    ----------
    run : CorrectedRun
        The run.

    Returns
    -------
    list of dict
        One JSON object per cluster.
    """
    entries = run.entries()
    names, colours = {entry.cluster: entry.name for entry in entries}, colour_run(run)
    return [
        {
            "id": entry.cluster,
            "colour": colours[entry.cluster],
            "typical": entry.typical_rows,
            "doubtful": entry.doubtful_rows,
            "name": entry.name,
            "size": entry.size,
            "share": entry.share,
            "estimated_share": entry.estimated_share,
            "keywords": entry.keywords,
            "near": entry.near,
            "reliability": _build_cluster_reliability(entry, names),
        }
        for entry in entries
    ]


def _build_cluster_reliability(entry: ClusterEntry, names: dict[int, str]) -> dict[str, Any] | None:
    reliability = entry.reliability
    if reliability is None:
        return None
    return {"level": reliability.level, "sentence": reliability.describe(names), **reliability.to_json()}


def build_tree_content(run: CorrectedRun) -> list[list[float]]:
    """Build the tree over the clusters of a run after its corrections.

    Clusters that were merged are one leaf. Clusters that were split off are not in the tree.

    Parameters
    ----------
    run : CorrectedRun
        The run.

    Returns
    -------
    list of list
        Rows of (cluster, other cluster, distance): a row joins the subtrees that hold the two clusters.
    """
    hierarchy = run.summary.hierarchy
    successors = [run.find_successor(cluster) for cluster in range(len(hierarchy) + 1)]
    present = sorted({cluster for cluster in successors if cluster is not None})
    if not hierarchy or len(present) < 2:
        return []
    # Empty clusters share one more leaf, which is then left out.
    groups = np.array([present.index(cluster) if cluster is not None else len(present) for cluster in successors])
    leaves = [*present, None] if (groups == len(present)).any() else present
    rows, representatives = [], dict(enumerate(leaves))  # one cluster of each node
    for i, (a, b, distance, _) in enumerate(collapse_tree(np.array(hierarchy, dtype=np.float64), groups).tolist()):
        first, second = representatives[int(a)], representatives[int(b)]
        representatives[len(leaves) + i] = second if first is None else first
        if first is not None and second is not None:
            rows.append([first, second, round(distance, 4)])
    return rows


def _holds_all_rows(run: CorrectedRun) -> bool:
    """Return whether every row of the input holds a text, so that the index of a text is its row."""
    return bool(np.array_equal(run.points.rows, np.arange(len(run.points.rows))))
