"""How long a run's page takes to open in Chromium, and how smooth its map is, from a thousand texts to 200,000.

    python benchmarks/page.py [--sizes 1000 20000 200000]

Texts are made up, in 50 clusters. "Open" is from the start of the navigation to the first drawn map; "a frame" is the
mean time from one drawn map to the next while it is dragged, at most one in 16 ms.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from measuring import RESULTS, ResultFile, circumstances
from rstc.results.describe import describe
from rstc.results.layout import FURTHEST
from rstc.results.naming import keyword_names
from rstc.results.corrected_run import RunNow, quotes
from rstc.report.html.render import page
from rstc.results.run_folder import Points

N_CLUSTERS = 50
FRAMES = 60


def made_up_run(size: int) -> RunNow:
    """Return a run of texts of ten words, half of them of their cluster, each cluster a cloud on the map."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(N_CLUSTERS, size=size)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(5000)])
    own = rng.integers(5000, size=(N_CLUSTERS, 30))
    picked = np.where(rng.random((size, 10)) < 0.5, own[clusters[:, None], rng.integers(30, size=(size, 10))], 0)
    picked = np.where(picked == 0, rng.integers(5000, size=(size, 10)), picked)
    texts = [" ".join(row) for row in words[picked]]
    middle = rng.random((N_CLUSTERS, 2))
    places = np.clip(middle[clusters] + 0.04 * rng.normal(size=(size, 2)), 0, 1) * FURTHEST
    confidence = rng.random(size).astype(np.float32)
    points = Points(texts, np.arange(size), clusters, confidence, places.astype(np.uint16))
    P = np.repeat(confidence[:, None], N_CLUSTERS, axis=1)
    described = describe(texts, clusters, P, places)
    entries = [
        {
            "cluster": one.cluster,
            "name": name,
            "size": one.size,
            "confidence": one.confidence,
            "keywords": one.keywords,
            "near": one.near,
            "share": one.size / size,
            "estimated_share": one.size / size,
            **quotes(texts, typical=one.typical, doubtful=one.doubtful),
        }
        for one, name in zip(described, keyword_names(described), strict=True)
    ]
    source = {"file": "made-up.csv", "text_column": "text", "rows": size, "texts": size, "trained_on": size}
    summary: dict[str, Any] = {
        "input": source,
        "clusters": entries,
        "class_distribution": [1 / N_CLUSTERS] * N_CLUSTERS,
        "n_clusters": N_CLUSTERS,
        "clusters_found": N_CLUSTERS,
        "steps": 0,
        "settled": False,
        "history": [],
        "losses": [],
        "settings": {},
        "versions": {},
        "seconds": {},
        **dict.fromkeys(("preset", "seed", "device", "precision"), ""),
        "made": "2026-01-01",
    }
    return RunNow(summary, points)


def chromium() -> Any:
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


DRAG = """
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
OPENED = """
const done = arguments[0];
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
"""


def measure(size: int, browser: Any, folder: Path) -> dict[str, Any]:
    path = folder / "report.html"
    path.write_text(page(made_up_run(size)), encoding="utf-8")
    browser.get(path.as_uri())
    opened = browser.execute_async_script(OPENED)
    return {
        "texts": size,
        "megabytes": round(path.stat().st_size / 1e6, 2),
        "open_seconds": round(opened / 1000, 2),
        "frame_milliseconds": round(browser.execute_async_script(DRAG, FRAMES), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 20_000, 200_000])
    asked = parser.parse_args()
    browser = chromium()
    made_with = circumstances("selenium") | {"browser": f"Chromium {browser.capabilities['browserVersion']}"}
    results = ResultFile(RESULTS / "page.json", made_with, key=("texts",))
    with tempfile.TemporaryDirectory() as folder:
        for size in asked.sizes:
            if not results.has(texts=size):
                results.add(measure(size, browser, Path(folder)))
    browser.quit()


if __name__ == "__main__":
    main()
