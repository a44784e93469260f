"""The content of a run's page besides its texts, as a JSON object that the script of the page reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rstc.io.columns import format_text_column, list_text_columns
from rstc.io.predictions import HIGH_CONFIDENCE, MEDIUM_CONFIDENCE
from rstc.language.names import are_english, describe_languages
from rstc.numerics.hierarchy import collapse_tree
from rstc.report.colours import GREY, HUES, assign_colours, colour_run
from rstc.results.comparisons import Comparisons
from rstc.results.corrected_run import CorrectedRun
from rstc.results.summary import ClusterEntry, OutlierSummary

N_CATEGORY_COLOURS = 10  # values of a column that have a colour of their own


def build_page_content(run: CorrectedRun, comparisons: Comparisons | None = None) -> dict[str, Any]:
    """Build the content of the page of a run.

    Parameters
    ----------
    run : CorrectedRun
        The run, whose clusters are shown after the corrections.
    comparisons : Comparisons, optional
        The clusters over time and by group.

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
        "facts": f"{format_text_column(source.text_column, '“”')}{sample} · made {summary.created[:10]}",
        "clusters": build_cluster_content(run),
        "count": stored["count"],
        "tree": build_tree_content(run),
        "levels": build_level_content(run),
        "over_time": comparisons and comparisons.over_time and comparisons.over_time.to_json(),
        "groups": [shares.to_json() for shares in comparisons.groups] if comparisons else [],
        "history": summary.history,
        "losses": summary.losses,
        "steps": summary.n_iter,
        "settled": summary.converged,
        "truth": stored.get("truth"),
        "reliability": _build_reliability_content(run),
        "messages": [
            {"text": message.text, "advice": message.advice, "level": message.level} for message in summary.messages
        ],
        "proposals": build_proposal_content(run),
        "updates": [{"file": entry.file, "rows": entry.n_rows, "date": entry.date} for entry in summary.updates],
        "run": {
            **{name.replace("_", " "): value for name, value in stored["input"].items() if value is not None},
            "clusters requested": "auto" if summary.n_clusters_search else summary.n_clusters,
            "clusters found": len(summary.clusters),
            **_build_outlier_content(summary.outliers),
            **({"languages": describe_languages(summary.languages)} if summary.languages else {}),
            "preset": summary.preset,
            "seed": summary.seed,
            "device": f"{summary.device}, {summary.precision}",
            "seconds": summary.seconds,
            "made": summary.created,
        },
        "decisions": summary.decisions,
        "confidence_levels": [MEDIUM_CONFIDENCE, HIGH_CONFIDENCE],
        "colours": {"hues": HUES, "grey": GREY, "categories": list(assign_colours(range(N_CATEGORY_COLOURS)).values())},
        "text_column": {
            "name": " + ".join(list_text_columns(source.text_column)),
            "position": run.points.text_position,
        },
        "languages": summary.languages,
        "language_sentence": None if are_english(summary.languages) else describe_languages(summary.languages),
        "settings": summary.settings,
        "versions": summary.versions,
        "rows": None if _holds_all_rows(run) else (run.points.rows + 1).tolist(),
    }


def build_proposal_content(run: CorrectedRun) -> list[dict[str, Any]]:
    """Build the proposals of new clusters of a run, as the script of the page reads them.

    Parameters
    ----------
    run : CorrectedRun
        The run.

    Returns
    -------
    list of dict
        One JSON object per proposal, whose nearest cluster is that of the corrected run.
    """

    def find_near(cluster: int | None) -> int | None:
        return cluster if cluster is None or cluster in run.state.names else run.find_successor(cluster)

    return [{**proposal.to_json(), "near": find_near(proposal.near)} for proposal in run.proposals]


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
            "description": entry.description,
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


def build_level_content(run: CorrectedRun) -> list[dict[str, Any]] | None:
    """Build the levels of detail of a run after its corrections, coarse to fine; None if there is but one.

    Parameters
    ----------
    run : CorrectedRun
        The run.

    Returns
    -------
    list of dict
        The groups of each level with their clusters, and their texts where the level is finer than the clusters.
    """
    return [
        {
            "name": level.name,
            "n_clusters": len(level.groups),
            "is_chosen": level.is_chosen,
            "groups": [
                {"name": group.name, "clusters": group.clusters}
                | ({} if group.rows is None else {"rows": group.rows.tolist()})
                for group in level.groups
            ],
        }
        for level in run.levels()
    ] or None


def _holds_all_rows(run: CorrectedRun) -> bool:
    """Return whether every row of the input holds a text, so that the index of a text is its row."""
    return bool(np.array_equal(run.points.rows, np.arange(len(run.points.rows))))
