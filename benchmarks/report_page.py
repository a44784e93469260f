"""Time to open a run's HTML report in Chromium and the frame rate of its map, with 1,000 and 20,000 texts.

    python benchmarks/report_page.py [--sizes 1000 20000]

The texts are random, in 50 clusters, with six other columns and the nearest texts of each text. "Open" is from the
start of the navigation to the first drawn map; "a frame" is the mean time from one drawn map to the next while it is
dragged, at least 16 ms. Rows are written to results/report_page.json; sizes that are present are skipped.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import ResultFile, make_parser
from rstc.report.html.render import render_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.describe import describe
from rstc.results.kept_columns import make_storable
from rstc.results.layout import MAX_COORDINATE
from rstc.results.naming import name_by_keywords
from rstc.results.neighbours import N_STORED
from rstc.results.points import Points
from rstc.results.summary import InputInfo, Summary, build_cluster_entry

N_CLUSTERS = 50
N_FRAMES = 60


def make_run(size: int) -> CorrectedRun:
    """Make a run of texts of ten words, half of them of their cluster; each cluster is a Gaussian on the map."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(N_CLUSTERS, size=size)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(5000)])
    cluster_words = rng.integers(5000, size=(N_CLUSTERS, 30))
    picked = np.where(
        rng.random((size, 10)) < 0.5, cluster_words[clusters[:, None], rng.integers(30, size=(size, 10))], 0
    )
    picked = np.where(picked == 0, rng.integers(5000, size=(size, 10)), picked)
    texts = [" ".join(row) for row in words[picked]]
    centres = rng.random((N_CLUSTERS, 2))
    coordinates = np.clip(centres[clusters] + 0.04 * rng.normal(size=(size, 2)), 0, 1) * MAX_COORDINATE
    confidence = rng.random(size).astype(np.float32)
    layout = coordinates.astype(np.uint16)
    neighbours = rng.integers(size, size=(size, N_STORED), dtype=np.int32)
    columns = make_columns(rng, words, size)
    points = Points(texts, np.arange(size), clusters, confidence, layout, columns, 1, neighbours)
    described = describe(texts, clusters, confidence, coordinates)
    entries = [
        build_cluster_entry(description, texts, name=name, n_texts=size, estimated_share=description.size / size)
        for description, name in zip(described, name_by_keywords(described), strict=True)
    ]
    summary = Summary(
        input=InputInfo(
            file="made-up.csv",
            format="csv",
            text_column="text",
            n_rows=size,
            n_texts=size,
            n_missing=0,
            n_trained=size,
            n_shown=size,
        ),
        n_clusters=N_CLUSTERS,
        n_clusters_search=None,
        clusters=entries,
        outliers=None,
        class_distribution=[1 / N_CLUSTERS] * N_CLUSTERS,
        hierarchy=[],
        n_iter=0,
        converged=False,
        history=[],
        losses=[],
        preset="",
        seed=0,
        resumed_at=None,
        update=None,
        settings={},
        device="",
        precision="",
        versions={},
        created="2026-01-01",
        seconds={},
    )
    return CorrectedRun(summary, points)


def make_columns(rng: np.random.Generator, words: np.ndarray, size: int) -> pd.DataFrame:
    """Make columns as a file of messages has them: an identifier, a date, two categories, a number and a remark."""
    dates = np.datetime64("2025-01-01T00:00:00") + rng.integers(365 * 86_400, size=size).astype("timedelta64[s]")
    columns = {
        "id": [f"M-{number:07d}" for number in rng.permutation(size)],
        "date": [str(date).replace("T", " ") for date in dates],
        "airline": rng.choice(words[:8], size=size),
        "country": rng.choice(words[8:48], size=size),
        "amount": [f"{amount:.2f}" for amount in rng.lognormal(3, 1, size=size)],
        "remark": [" ".join(row) for row in rng.choice(words, size=(size, 4))],
    }
    return make_storable(pd.DataFrame(columns))


def start_chromium() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1300,900",
    ):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))


DRAG_SCRIPT = """
const done = arguments[1], canvas = document.getElementById("map"), box = canvas.getBoundingClientRect();
const at = (x) => ({ pointerId: 1, clientX: box.left + x, clientY: box.top + 200 });
const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, at(x)));
canvas.setPointerCapture = () => {};
send("pointerdown", 200);
let left = arguments[0];
const start = performance.now();
const move = () => {
  send("pointermove", 200 + (left % 20));
  if (left-- > 0) requestAnimationFrame(move);
  else { send("pointerup", 200); done((performance.now() - start) / arguments[0]); }
};
requestAnimationFrame(move);
"""
OPEN_SCRIPT = """
const done = arguments[0];
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
"""


def measure(size: int, browser: Any, folder: Path) -> dict[str, Any]:
    """Open the report of a run and drag its map."""
    path = folder / "report.html"
    path.write_text(render_page(make_run(size)), encoding="utf-8")
    browser.get(path.as_uri())
    opened = browser.execute_async_script(OPEN_SCRIPT)
    return {
        "texts": size,
        "megabytes": round(path.stat().st_size / 1e6, 2),
        "open_seconds": round(opened / 1000, 2),
        "frame_milliseconds": round(browser.execute_async_script(DRAG_SCRIPT, N_FRAMES), 1),
    }


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 20_000], help="numbers of texts")
    options = parser.parse_args()
    browser = start_chromium()
    version = f"Chromium {browser.capabilities['browserVersion']}"
    results = ResultFile("report_page", key=("texts",), packages=("selenium",), browser=version)
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            if not results.has(texts=size):
                results.add(measure(size, browser, Path(folder)))
    browser.quit()


if __name__ == "__main__":
    main()
