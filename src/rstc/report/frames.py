"""Results as tables, for Python and notebooks: a row a text, a row a cluster, and both as HTML with a map."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.report.colours import colour_of
from rstc.results.describe import describe
from rstc.results.layout import Places
from rstc.results.naming import keyword_names

MOST_SHOWN = 30  # clusters in a notebook
MOST_POINTS = 2000  # of a map in a notebook
_WIDTH = 360


def cluster_frame(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    confidence: NDArray[np.float32],
    E: NDArray[np.float32],
    b: NDArray[np.float64],
    given_names: Sequence[Any] | None = None,
) -> pd.DataFrame:
    """Return a row for each cluster that holds a text, by its number: what it is about, how large, how sure."""
    described = describe(texts, labels, confidence, E)
    rows = [
        {
            "name": name,
            "size": one.size,
            "share": one.size / max(len(texts), 1),
            "estimated_share": float(b[one.cluster]),
            "confidence": one.confidence,
            "keywords": one.keywords,
            "typical": [texts[row] for row in one.typical],
            "doubtful": [texts[row] for row in one.doubtful],
        }
        for one, name in zip(described, keyword_names(described, given_names), strict=True)
    ]
    index = pd.Index([one.cluster for one in described], name="cluster")
    return pd.DataFrame(rows, index=index)


def html_of(title: str, clusters: pd.DataFrame, places: Places, labels: NDArray[np.int64]) -> str:
    """Return the largest clusters as a table beside a map of some texts; nothing in it is run or fetched."""
    shown = clusters.sort_values("size", ascending=False, kind="stable").head(MOST_SHOWN)
    rows = "".join(
        f"<tr><td style='color:{colour_of(cluster)}'>&#9679;</td><td>{cluster}</td><td>{row['size']:,}</td>"
        f"<td style='text-align:left'>{escape(row['name'])}</td>"
        f"<td style='text-align:left'>{escape(row['typical'][0][:100])}</td></tr>"
        for cluster, (_, row) in zip(shown.index.tolist(), shown.iterrows(), strict=True)
    )
    more = f"<p>and {len(clusters) - len(shown)} smaller ones</p>" if len(clusters) > len(shown) else ""
    head = "<tr><th></th><th>cluster</th><th>size</th><th>name</th><th>a typical text</th></tr>"
    return (
        "<div style='display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start'>"
        f"<div style='flex:1 1 26em;min-width:0'><p>{escape(title)}</p>"
        f"<table>{head}{rows}</table>{more}</div>{_map(places, labels)}</div>"
    )


def _map(places: Places, labels: NDArray[np.int64]) -> str:
    """Return points at their places as SVG."""
    largest = max(int(places.max(initial=0)), 1)
    at = (places.astype(np.float64) / largest * (_WIDTH - 8) + 4).round(1)
    points = "".join(
        f"<circle cx='{x}' cy='{y}' r='2' fill='{colour_of(label)}' fill-opacity='.7'/>"
        for (x, y), label in zip(at.tolist(), labels.tolist(), strict=True)
    )
    size = f"viewBox='0 0 {_WIDTH} {_WIDTH}' width='{_WIDTH}' height='{_WIDTH}'"
    return f"<svg {size} style='flex:none' role='img' aria-label='a map of the texts'>{points}</svg>"
