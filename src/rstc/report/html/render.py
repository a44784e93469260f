"""From what a run found to one HTML file: facts as JSON, numbers packed, texts in pieces, script and style inside.

Nothing is fetched: the policy in the page allows its own script and style, known by their checksums, and nothing else.
A text never becomes markup, neither here, where `<` is written as an escape, nor in the script, which only sets text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.io.atomic import replaced_file
from rstc.results.corrected_run import RunNow
from rstc.report.html.content import facts
from rstc.results.run_folder import REPORT

TEXTS_A_PIECE = 2000
NO_CLUSTER = 2**32 - 1
UNKNOWN = 255  # the confidence of a text that was corrected
LONGEST_TEXT = 20_000  # characters that the page holds of a text
SCRIPTS = (
    "data",
    "colours",
    "dom",
    "state",
    "map",
    "list",
    "edit",
    "detail",
    "search",
    "count",
    "charts",
    "exports",
    "main",
)


def page(run: RunNow, editing: dict[str, str] | None = None) -> str:
    """Return the page of a run, which shows the clusters as they are now.

    `editing` tells how to reach a server that keeps corrections. Such a page is of the run as it was found; the server
    says what came of it.
    """
    from jinja2 import Environment, StrictUndefined

    style = _part("page.css")
    script = '(() => {\n"use strict";\n' + "\n".join(_part(f"script/{name}.js") for name in SCRIPTS) + "\n})();\n"
    content = facts(run) | {"texts_a_piece": TEXTS_A_PIECE, "editing": editing}
    points, clusters = run.points, run.clusters
    confidence = np.where(run.changed, UNKNOWN, np.clip(np.round(100 * points.confidence), 0, 100))
    arrays = {
        "x": _packed(points.places[:, 0].astype("<u2")),
        "y": _packed(points.places[:, 1].astype("<u2")),
        "cluster": _packed(np.where(clusters < 0, NO_CLUSTER, clusters).astype("<u4")),
        "confidence": _packed(confidence.astype("u1")),
    }
    texts = [text[:LONGEST_TEXT] for text in points.texts]
    # Everything that is put in is made here and safe where it stands; only the title needs escaping.
    template = Environment(undefined=StrictUndefined, autoescape=False).from_string(_part("page.html.j2"))
    return template.render(
        policy=_policy(style, script, served=editing is not None),
        title=_escaped(content["title"]),
        style=style,
        script=script,
        content=_json(content),
        arrays=arrays,
        texts=[_json(texts[start : start + TEXTS_A_PIECE]) for start in range(0, len(texts), TEXTS_A_PIECE)],
    )


def write_page(folder: Path, run: RunNow | None = None) -> Path:
    """Write a run's page again, with the corrections that there are; return where it is."""
    run = run or RunNow.read(folder)
    with replaced_file(folder / REPORT) as new:
        new.write_text(page(run), encoding="utf-8")
    return folder / REPORT


def _policy(style: str, script: str, served: bool) -> str:
    """Return a Content-Security-Policy under which the page works and nothing else does."""
    parts = {
        "default-src": "'none'",
        "script-src": f"'sha256-{_checksum(script)}'",
        "style-src": f"'sha256-{_checksum(style)}'",
        "connect-src": "'self'" if served else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _checksum(part: str) -> str:
    return base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _json(value: Any) -> str:
    """Return JSON that may stand in a script element: what could end it, or begin a comment in it, is escaped."""
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    return (
        text.replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def _finite(value: Any) -> Any:
    """Return a value with None in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _part(name: str) -> str:
    return (resources.files("rstc.report.html") / name).read_text(encoding="utf-8")
