"""Shared by the tests: a tiny real encoder that is built on the spot, texts whose clusters are known, a browser."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers side by side on all cores: each one's threads, and those of the processes it starts, would only be in the
    # others' way. Set before torch is imported, which reads it once.
    os.environ["OMP_NUM_THREADS"] = "1"

os.environ["RSTC_CACHE_DIR"] = tempfile.mkdtemp(prefix="rstc-cache-")  # not the user's; also of started processes

from tiny_encoder import build_tiny_encoder, make_texts

DESKTOP = (1300, 900)


@pytest.fixture(scope="session")
def texts_and_topics() -> tuple[list[str], list[str]]:
    return make_texts({"parcel": 60, "password": 30, "refund": 20, "recipe": 10})


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build a tiny encoder; return its folder."""
    return build_tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def quick(tiny_encoder: str) -> dict[str, object]:
    """Settings that make a run of the tiny encoder take about a second."""
    return {
        "encoder": tiny_encoder,
        "training": "always",
        "max_steps": 12,
        "batch_size": 32,
        "kmeans_starts": 3,
    }


@pytest.fixture
def few_head_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train the cluster head for few steps even if it does not reach its accuracy.

    For texts that the tiny encoder cannot tell apart, where all of the steps would be in vain.
    """
    monkeypatch.setattr("rstc.representation.head_training.MAX_STEPS", 200)


@pytest.fixture
def tickets(tmp_path: Path, texts_and_topics: tuple[list[str], list[str]]) -> Path:
    """Return a CSV file with an id, a text and a topic in each row."""
    import pandas as pd

    texts, topics = texts_and_topics
    path = tmp_path / "tickets.csv"
    pd.DataFrame({"id": range(len(texts)), "text": texts, "topic": topics}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def finished_run(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Cluster the texts once; return the run's folder, which is not to be changed."""
    import pandas as pd

    from rstc.pipelines.cluster import cluster_file
    from rstc.pipelines.request import RunRequest

    texts, topics = texts_and_topics
    folder = tmp_path_factory.mktemp("finished")
    pd.DataFrame({"text": texts, "topic": topics}).to_csv(folder / "tickets.csv", index=False)
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 12, "batch_size": 32, "kmeans_starts": 3}
    cluster_file(RunRequest(str(folder / "tickets.csv"), folder / "run", 4, truth_column="topic", settings=settings))
    return folder / "run"


@pytest.fixture
def run_folder(finished_run: Path, tmp_path: Path) -> Path:
    """Return a run's folder of the test's own."""
    shutil.copytree(finished_run, tmp_path / "own-run")
    return tmp_path / "own-run"


@pytest.fixture(scope="session")
def make_run() -> Callable[..., dict[str, Any]]:
    """Return a function that makes runs as the benchmark stores them, for tables and figures."""

    def make(dataset: str, method: str, seed: int = 0, **more: Any) -> dict[str, Any]:
        scores = {"acc": 50.0, "nmi": 60.0, "ari": 40.0, "clusters": 4}
        facts = {"classes": 4, "views": None, "seconds": 10.0, "changes": {}, "settings": {}, "curve": []}
        return {"dataset": dataset, "method": method, "seed": seed, **scores, **facts, **more}

    return make


@pytest.fixture(scope="session")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Return what opens a browser of some size; without one installed the tests are skipped, but not in CI."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not (program and driver):
        problem = "Chromium and chromedriver are missing: tools/install-browser.sh"
        pytest.fail(problem) if os.environ.get("CI") else pytest.skip(problem)
    opened = []

    def start(size: tuple[int, int] = DESKTOP, downloads: Path | None = None) -> Any:
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # no name leads anywhere
            f"--window-size={size[0]},{size[1]}",
            f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
        ):
            options.add_argument(argument)
        if downloads:
            options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(driver))
        opened.append(browser)
        return browser

    yield start
    for browser in opened:
        browser.quit()


@pytest.fixture(scope="session")
def shared_browser(open_browser: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """Return one browser for all tests, and where its downloads go."""
    downloads = tmp_path_factory.mktemp("downloads")
    return open_browser(downloads=downloads), downloads


@pytest.fixture
def browser(shared_browser: tuple[Any, Path]) -> Iterator[Any]:
    """Return a browser; the page that was open must not have complained."""
    browser = shared_browser[0]
    browser.get_log("browser")
    yield browser
    complaints = browser.get_log("browser")
    browser.get("about:blank")
    assert complaints == []
