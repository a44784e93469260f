"""Render the page of a run: one HTML file with JSON content, packed arrays, texts in blocks, script and style.

Nothing is fetched: the Content-Security-Policy of the page allows its own script and style, by their checksums, and
nothing else. A text never becomes markup: `<` is escaped in JSON, and the script only sets text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.io.atomic import replace_file
from rstc.report.html.content import build_page_content
from rstc.report.html.packed_columns import pack_columns
from rstc.results.comparisons import Comparisons, repeat_comparisons, write_comparisons
from rstc.results.corrected_run import CorrectedRun
from rstc.results.run_files import REPORT

BLOCK_TEXTS = 2000  # texts per script element, which the page parses when it needs them
MAX_TEXT_LENGTH = 20_000  # characters of a text that the page holds
# Codes in the packed arrays; script/data.js has the same.
PACKED_NO_CLUSTER = 2**32 - 1  # uint32: the text has no cluster
PACKED_NO_CONFIDENCE = 255  # uint8: the text was corrected
STYLES = ("page", "tabs")
SCRIPTS = (
    "data",
    "columns",
    "languages",
    "dom",
    "state",
    "colours",
    "grouping",
    "map",
    "map_points",
    "map_contours",
    "map_labels",
    "map_input",
    "legend",
    "filters",
    "list",
    "edit",
    "detail",
    "overview",
    "search",
    "tabs",
    "charts",
    "count",
    "time",
    "groups",
    "tree",
    "truth",
    "proposals",
    "made",
    "print",
    "exports",
    "main",
)


def render_page(
    run: CorrectedRun, editing: dict[str, str] | None = None, comparisons: Comparisons | None = None
) -> str:
    """Render the page of a run, which shows the clusters after the corrections.

    Parameters
    ----------
    run : CorrectedRun
        The run. For a page that is served it is the run without corrections: the server sends them.
    editing : dict, optional
        Token of the server that saves corrections; by default the page is read-only.
    comparisons : Comparisons, optional
        The clusters over time and by group.

    Returns
    -------
    str
        An HTML document.
    """
    from jinja2 import Environment, StrictUndefined

    style = "\n".join(_read_asset(f"{name}.css") for name in STYLES)
    script = '(() => {\n"use strict";\n' + "\n".join(_read_asset(f"script/{name}.js") for name in SCRIPTS) + "\n})();\n"
    points, clusters = run.points, run.clusters
    columns, left_out = pack_columns(points.columns)
    content = build_page_content(run, comparisons) | {
        "block_texts": BLOCK_TEXTS,
        "editing": editing,
        "columns": [column.facts for column in columns],
        "columns_left_out": left_out,
    }
    # Rounded down, so that the level of the percentage is that of the confidence.
    percent = np.clip(np.floor(100 * np.round(points.confidence.astype(np.float64), 4) + 1e-6), 0, 100)
    arrays = {
        "x": _pack(points.layout[:, 0].astype("<u2")),
        "y": _pack(points.layout[:, 1].astype("<u2")),
        "cluster": _pack(np.where(clusters < 0, PACKED_NO_CLUSTER, clusters).astype("<u4")),
        "confidence": _pack(np.where(run.changed, PACKED_NO_CONFIDENCE, percent).astype("u1")),
        **{f"column-{i}": _pack(column.array) for i, column in enumerate(columns) if column.array is not None},
    }
    if points.neighbours is not None:
        # Two bytes are enough for the numbers of up to 65,536 texts; script/data.js decides in the same way.
        arrays["neighbours"] = _pack(points.neighbours.astype("<u2" if len(points.texts) <= 2**16 else "<u4"))
    texts = [text[:MAX_TEXT_LENGTH] for text in points.texts]
    # No autoescaping: script, style and JSON are inserted as they are, and the title is the only other text.
    template = Environment(undefined=StrictUndefined, autoescape=False).from_string(_read_asset("page.html.j2"))
    return template.render(
        policy=_build_policy(style, script, served=editing is not None),
        title=html.escape(content["title"]),
        style=style,
        script=script,
        content=_dump_json(content),
        arrays=arrays,
        texts=_dump_blocks(texts),
        cells=[(i, block) for i, column in enumerate(columns) if column.cells for block in _dump_blocks(column.cells)],
    )


def write_page(folder: Path, run: CorrectedRun | None = None, comparisons: Comparisons | None = None) -> Path:
    """Write the page of a run, with its corrections.

    Parameters
    ----------
    folder : Path
        The run folder.
    run : CorrectedRun, optional
        The run; by default it is read from the folder.
    comparisons : Comparisons, optional
        The clusters over time and by group. By default what was compared last is computed again, since the clusters may
        have changed, and written to comparisons.json.

    Returns
    -------
    Path
        The page.
    """
    run = run or CorrectedRun.read(folder)
    if comparisons is None:
        comparisons = repeat_comparisons(folder, run)
        if comparisons is not None:
            write_comparisons(folder, comparisons)
    with replace_file(folder / REPORT) as temporary:
        temporary.write_text(render_page(run, comparisons=comparisons), encoding="utf-8")
    return folder / REPORT


def _build_policy(style: str, script: str, served: bool) -> str:
    """Return a Content-Security-Policy that allows the page's own script and style, and its server if it has one."""
    parts = {
        "default-src": "'none'",
        "script-src": f"'sha256-{_compute_checksum(script)}'",
        "style-src": f"'sha256-{_compute_checksum(style)}'",
        "connect-src": "'self'" if served else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _compute_checksum(asset: str) -> str:
    return base64.b64encode(hashlib.sha256(asset.encode()).digest()).decode()


def _dump_blocks(texts: list[str]) -> list[str]:
    """Return texts as JSON in blocks, which the page parses when it needs them."""
    return [_dump_json(texts[start : start + BLOCK_TEXTS]) for start in range(0, len(texts), BLOCK_TEXTS)]


def _pack(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _dump_json(value: Any) -> str:
    """Return JSON for a script element: whatever could end the element or begin a comment in it is escaped."""
    text = json.dumps(_replace_nonfinite(value), ensure_ascii=False, allow_nan=False)
    return (
        text.replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def _replace_nonfinite(value: Any) -> Any:
    """Return a value with None in place of NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _replace_nonfinite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_nonfinite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_asset(name: str) -> str:
    return (resources.files("rstc.report.html") / name).read_text(encoding="utf-8")
