"""What a page has to show besides the texts, as plain facts that the page's script reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rstc.numerics.hierarchy import tree_above
from rstc.report.colours import GREY, HUES, SHADES
from rstc.results.corrected_run import RunNow


def facts(run: RunNow) -> dict[str, Any]:
    """Return the facts of a run for its page."""
    summary, source = run.summary, run.summary["input"]
    sampled = f" · trained on {source['trained_on']:,} of them" if source["trained_on"] < source["texts"] else ""
    if len(run.points.texts) < source["texts"]:
        sampled = f" · a sample of {source['texts']:,}{sampled}"
    return {
        "title": source["file"],
        "facts": f"column “{source['text_column']}”{sampled} · made {summary['made'][:10]}",
        "clusters": shown_clusters(run),
        "count": summary.get("count"),
        "tree": shown_tree(run),
        "history": summary["history"],
        "losses": summary["losses"],
        "steps": summary["steps"],
        "settled": summary["settled"],
        "truth": summary.get("truth"),
        "run": {
            **{name.replace("_", " "): value for name, value in source.items() if value is not None},
            "clusters asked for": "as many as the texts suggest" if summary.get("count") else summary["n_clusters"],
            "clusters found": summary["clusters_found"],
            **_told_of_noise(summary.get("noise")),
            "preset": summary["preset"],
            "seed": summary["seed"],
            "device": f"{summary['device']}, {summary['precision']}",
            "seconds": summary["seconds"],
            "made": summary["made"],
        },
        "colours": {"hues": HUES, "shades": SHADES, "grey": GREY},
        "settings": summary["settings"],
        "versions": summary["versions"],
        "rows": None if _all_rows(run) else (run.points.rows + 1).tolist(),
    }


def _told_of_noise(noise: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the page tells of texts that belong nowhere."""
    if noise is None:
        return {}
    return {"texts that belong nowhere": noise["texts"], "expected among the others": noise["expected_left"]}


def shown_clusters(run: RunNow) -> list[dict[str, Any]]:
    """Return the clusters as they are now, as the page's script knows them."""
    return [
        {
            "id": one["cluster"],
            "typical": one["typical_at"],
            "doubtful": one["doubtful_at"],
            **{name: one[name] for name in ("name", "size", "share", "estimated_share", "keywords", "near")},
        }
        for one in run.entries()
    ]


def shown_tree(run: RunNow) -> list[list[float]]:
    """Return the tree over the clusters as they are now, as rows of (a cluster, another, distance).

    A row joins all that the first is in by then with all that the other is in. Clusters that were made since the run
    are not in the tree, and those that were merged are one leaf of it.
    """
    found = run.summary.get("hierarchy")
    home = [run.where_most_are(number) for number in range(len(found or []) + 1)]
    there = sorted({number for number in home if number is not None})
    if not found or len(there) < 2:
        return []
    # An empty cluster is nowhere; its place in the tree is that of any other, and joins nothing.
    groups = np.array([there.index(number) if number is not None else len(there) for number in home])
    leaves = [*there, None] if (groups == len(there)).any() else there
    rows, first = [], dict(enumerate(leaves))
    for i, (a, b, distance, _) in enumerate(tree_above(np.array(found, dtype=np.float64), groups).tolist()):
        one, other = first[int(a)], first[int(b)]
        first[len(leaves) + i] = other if one is None else one
        if one is not None and other is not None:
            rows.append([one, other, round(distance, 4)])
    return rows


def _all_rows(run: RunNow) -> bool:
    """Tell whether every row of the input has a text, so that rows need no numbers of their own."""
    return bool(np.array_equal(run.points.rows, np.arange(len(run.points.rows))))
