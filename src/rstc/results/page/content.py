"""What a page has to show besides the texts, as plain facts that the page's script reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rstc.results.colours import GREY, HUES, SHADES
from rstc.results.now import RunNow


def facts(run: RunNow) -> dict[str, Any]:
    """Return the facts of a run for its page."""
    summary, source = run.summary, run.summary["input"]
    sampled = f" · trained on {source['trained_on']:,} of them" if source["trained_on"] < len(run.points.texts) else ""
    return {
        "title": source["file"],
        "facts": f"column “{source['text_column']}”{sampled} · made {summary['made'][:10]}",
        "clusters": shown_clusters(run),
        "history": summary["history"],
        "losses": summary["losses"],
        "steps": summary["steps"],
        "settled": summary["settled"],
        "truth": summary.get("truth"),
        "run": {
            **{name.replace("_", " "): value for name, value in source.items() if value is not None},
            "clusters asked for": summary["n_clusters"],
            "clusters found": summary["clusters_found"],
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


def _all_rows(run: RunNow) -> bool:
    """Tell whether every row of the input has a text, so that rows need no numbers of their own."""
    return bool(np.array_equal(run.points.rows, np.arange(len(run.points.rows))))
