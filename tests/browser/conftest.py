"""Runs whose pages the browser opens."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.pipelines.score import score_run
from rstc.report.html.render import write_page
from rstc.results.kept_columns import make_storable
from rstc.results.points import read_points, write_points
from rstc.results.run_folder import read_summary, write_summary

AIRLINES = ["Delta", "United", "Virgin"]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cluster the bundled messages with the real encoder, for a few steps; return the folder, which stays unchanged."""
    out = tmp_path_factory.mktemp("messages") / "run"
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        cluster_file(
            RunRequest(str(sample), out, 10, truth_column="topic", settings={"training": "always", "max_steps": 2})
        )
    score_run(out, "topic")
    return out


@pytest.fixture(scope="session")
def run_with_columns(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the run whose messages have other columns, an id before them and four after."""
    folder = tmp_path_factory.mktemp("columns") / "run"
    shutil.copytree(run, folder)
    points = read_points(folder)
    n = len(points.texts)
    days = np.datetime64("2026-01-01") + np.arange(n) % 100
    columns = pd.DataFrame(
        {
            "id": [f"M-{i:04d}" for i in range(n)],
            "date": [str(day) for day in days],
            "stars": [str(1 + i % 5) if i % 10 else "" for i in range(n)],
            "airline": [AIRLINES[(i % 10 > 5) + (i % 10 > 8)] for i in range(n)],
            "note": ["=1+1" if i == 0 else f"seat {i}, Café" for i in range(n)],
        }
    )
    write_points(folder, replace(points, columns=make_storable(columns), text_position=1))
    write_summary(folder, read_summary(folder))  # with their checksum
    write_page(folder)
    return folder
