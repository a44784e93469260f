"""The nearest texts of each text, compared with all of them or with those that are close on the map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc.results import neighbours
from rstc.results.neighbours import N_STORED, find_text_neighbours
from rstc.results.points import read_points, write_points
from rstc.results.run_folder import read_summary, write_summary


def test_neighbours_are_the_most_similar_texts() -> None:
    rng = np.random.default_rng(0)
    E = rng.normal(size=(50, 8)).astype(np.float32)
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -2)
    found = find_text_neighbours(E, np.zeros((50, 2), dtype=np.uint16))
    assert found.tolist() == np.argsort(-similarity, axis=1)[:, :N_STORED].tolist()


@pytest.mark.parametrize(("n", "k"), [(1, 0), (2, 1), (4, 3)])
def test_few_texts_have_few_neighbours(n: int, k: int) -> None:
    assert find_text_neighbours(np.eye(n, dtype=np.float32), np.zeros((n, 2), dtype=np.uint16)).shape == (n, k)


def test_many_texts_are_compared_with_those_close_on_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "MAX_COMPARED", 10)
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, np.pi, 300)
    E = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    layout = np.stack([angles * 20_000, np.zeros(300)], axis=1).astype(np.uint16)
    found = find_text_neighbours(E, layout)
    assert (found != np.arange(300)[:, None]).all()
    order = np.argsort(np.abs(angles[:, None] - angles[None]), axis=1)[:, 1 : N_STORED + 1]
    assert np.sort(found).tolist() == np.sort(order).tolist()


def test_neighbours_and_place_of_the_text_survive_the_run_folder(run_folder: Path) -> None:
    points = read_points(run_folder)
    assert points.neighbours is not None
    assert points.neighbours.shape == (120, N_STORED)
    columns = pd.DataFrame({"id": range(120), "date": ["2026-01-01"] * 120})
    write_points(run_folder, replace(points, columns=columns, text_position=1))
    write_summary(run_folder, read_summary(run_folder))  # with their checksum
    stored = read_points(run_folder)
    assert stored.text_position == 1
    assert list(stored.columns) == ["id", "date"]
    assert np.array_equal(stored.neighbours, points.neighbours)
    write_points(run_folder, replace(points, neighbours=None))
    write_summary(run_folder, read_summary(run_folder))  # with their checksum
    assert read_points(run_folder).neighbours is None, "as in folders of earlier versions"
