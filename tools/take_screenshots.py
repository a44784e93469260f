"""Take the pictures of the documents from a run of `rstc demo`: python tools/take_screenshots.py [DIR]

Without DIR, the demo is run first. The pictures are of headless Chromium (tools/install-browser.sh), 1300 x 850 pixels.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
SIZE = (1300, 850)
MAX_BYTES = 250_000
TEXT_TO_SPLIT = "gift card code not working"  # its cluster is the one that the tutorial splits
TEXTS_TO_MERGE = "how do I cancel??", "cancel my subscription"  # the first one's cluster into the second one's
GIFT_CARDS = re.compile("gift|voucher", re.IGNORECASE)  # what a reader takes for a message about gift cards


def main() -> None:
    """Run the demo if no folder is given, and take all pictures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo-run"
        if len(sys.argv) > 1:
            shutil.copytree(sys.argv[1], folder)
        else:
            subprocess.run([sys.executable, "-m", "rstc", "demo", "--out", str(folder)], check=True)
        with open_browser(Path(temporary) / "profile") as browser:
            take_report_pictures(browser, folder)
            take_split_picture(browser, folder)
            correct(folder)
            for command in ("apply", "compare"):
                subprocess.run([sys.executable, "-m", "rstc", command, str(folder)], check=True)
            take_tab_picture(browser, folder, "time", "tutorial-new.png", "section[data-trend='new']")


@contextmanager
def open_browser(profile: Path) -> Iterator[Any]:
    """Open Chromium with a page of the pictures' size."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not (program and driver):
        sys.exit("Chromium and chromedriver are missing: tools/install-browser.sh")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-device-scale-factor=1",
        "--hide-scrollbars",
        f"--window-size={SIZE[0]},{SIZE[1]}",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        width, height = browser.execute_script("return [innerWidth, innerHeight]")
        browser.set_window_size(2 * SIZE[0] - width, 2 * SIZE[1] - height)
        yield browser
    finally:
        browser.quit()


def take_report_pictures(browser: Any, folder: Path) -> None:
    """Take the pictures of the page: its overview, Over time, Groups, and the largest cluster for the README."""
    browser.get((folder / "report.html").as_uri())
    save(browser, "tutorial-overview.png")
    take_tab_picture(browser, folder, "time", "tutorial-time.png")
    take_tab_picture(browser, folder, "groups", "tutorial-groups.png")
    browser.find_element("id", "tab-map").click()
    browser.find_element("css selector", "#clusters li").click()
    save(browser, "report.png")


def take_tab_picture(browser: Any, folder: Path, tab: str, name: str, top: str | None = None) -> None:
    """Take a picture of a tab of the page; `top` is the CSS selector of the part that it begins with."""
    browser.get((folder / "report.html").as_uri())
    browser.find_element("id", f"tab-{tab}").click()
    if top is not None:
        browser.execute_script("arguments[0].scrollIntoView()", browser.find_element("css selector", top))
    save(browser, name)


def correct(folder: Path) -> tuple[int, int]:
    """Correct as the tutorial does with the buttons; return the clusters of gift cards and of cancellations."""
    from rstc.pipelines.edit_session import EditSession

    session = EditSession(folder)
    texts = session.run.points.texts
    mixed = session.run.clusters[texts.index(TEXT_TO_SPLIT)]
    merged, into = (int(session.run.clusters[texts.index(text)]) for text in TEXTS_TO_MERGE)
    rows = [row for row, text in enumerate(texts) if session.run.clusters[row] == mixed and GIFT_CARDS.search(text)]
    session.correct({"do": "split", "cluster": int(mixed)})
    clusters = [int(session.run.clusters[row]) for row in rows]
    part = max(clusters, key=clusters.count)
    left = [row for row, cluster in zip(rows, clusters, strict=True) if cluster != part]
    session.correct({"do": "move", "rows": left, "into": part})
    session.correct({"do": "rename", "cluster": part, "name": "gift cards"})
    session.correct({"do": "merge", "cluster": merged, "into": into})
    session.close()
    return part, into


def take_split_picture(browser: Any, folder: Path) -> None:
    """Take a picture of `rstc explore` with the cluster that the tutorial splits."""
    from rstc.pipelines.edit_session import EditSession
    from rstc.pipelines.server import LOOPBACK, ExploreServer
    from rstc.results.corrected_run import CorrectedRun

    run = CorrectedRun.read(folder)
    row = next(row for row, text in enumerate(run.points.texts) if text == TEXT_TO_SPLIT)
    session = EditSession(folder)
    with ExploreServer(session, LOOPBACK, 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        browser.get(server.address)
        browser.find_element("css selector", f"#clusters li[data-id='{run.clusters[row]}']").click()
        save(browser, "tutorial-split.png")
        server.shutdown()


def save(browser: Any, name: str) -> None:
    """Save what the browser shows as a picture, once it is drawn, with as few colours as are needed for its size."""
    from PIL import Image

    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    path = FIGURES / name
    browser.save_screenshot(str(path))
    with Image.open(path) as image:
        image.convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    if path.stat().st_size > MAX_BYTES:
        sys.exit(f"{path} has {path.stat().st_size:,} bytes, more than {MAX_BYTES:,}")


if __name__ == "__main__":
    main()
