"""Levels of detail of a model and of a run, with the bundled encoder on the bundled sample."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError
from rstc.errors import LevelWarning
from rstc.pipelines.apply_edits import switch_level
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.pseudo_labels.cluster_count import ClusterCount
from rstc.report.html.content import build_page_content
from rstc.results.corrected_run import CorrectedRun

LEVELS = ["coarse", "medium", "fine"]
QUICK = {"words": 0, "static": 0, "start": "kmeans", "rounds": 1, "kmeans_starts": 2, "repeats": 8}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        return list(pd.read_csv(sample)["text"])


@pytest.fixture(scope="module")
def fit(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RSTC]:
    """Return a function that fits the sample."""
    cache = tmp_path_factory.mktemp("cache")
    return lambda n_clusters, **settings: RSTC(n_clusters, random_state=0, **{**QUICK, **settings}).fit(
        texts, cache=cache
    )


@pytest.fixture(scope="module")
def medium(fit: Callable[..., RSTC]) -> RSTC:
    return fit(10)


def assert_nested(finer: np.ndarray, coarser: np.ndarray) -> None:
    assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == len(set(finer.tolist()))


def test_levels_are_nested_around_the_clusters_of_the_model(medium: RSTC) -> None:
    labels = {level: medium.labels_at(level) for level in LEVELS}
    assert np.array_equal(labels["medium"], medium.labels_)
    assert_nested(labels["medium"], labels["coarse"])
    assert_nested(labels["fine"], labels["medium"])
    numbers = [len(set(labels[level].tolist())) for level in LEVELS]
    assert numbers[0] < 10 == numbers[1] < numbers[2]


def test_the_frame_lists_the_groups_of_each_level_under_names_of_their_own(medium: RSTC) -> None:
    frame = medium.levels_
    assert frame["level"].unique().tolist() == LEVELS
    for level, groups in frame.groupby("level"):
        assert groups["name"].is_unique
        assert groups["size"].tolist() == np.bincount(medium.labels_at(str(level))).tolist()
    assert frame.query("level == 'medium'")["name"].tolist() == medium.cluster_names_
    coarse = frame.query("level == 'coarse'")["clusters"]
    assert sorted(cluster for clusters in coarse for cluster in clusters) == list(range(10))
    with pytest.raises(InputError, match="level='rough' must be one of coarse, medium, fine"):
        medium.labels_at("rough")


def test_the_coarse_and_the_fine_model_have_the_groups_of_the_medium_one(
    medium: RSTC, fit: Callable[..., RSTC], texts: list[str]
) -> None:
    coarse, fine = fit(10, detail="coarse"), fit(10, detail="fine")
    for model, level in ((coarse, "coarse"), (fine, "fine")):
        assert np.array_equal(model.labels_, medium.labels_at(level))
        for other in LEVELS:
            assert np.array_equal(model.labels_at(other), medium.labels_at(other))
        assert model.n_clusters_ == len(model.class_distribution_) == len(set(model.labels_.tolist()))
        assert (model.predict(texts[:100]) == model.labels_[:100]).mean() > 0.95
        assert model.reliability_ is not None
        assert len(model.reliability_.measure_stability()) == model.n_clusters_
        assert 0 < model.confidence_.min() <= model.confidence_.max() <= 1
    assert fine.confidence_.mean() <= medium.confidence_.mean() <= coarse.confidence_.mean()


def test_a_weak_estimate_takes_the_coarser_level_and_says_so(
    texts: list[str], tmp_path: Path, medium: RSTC, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Weak estimates with a second peak are rare: the estimate is given here, and everything that follows is real.
    search = ClusterCount(10, 10, 10, "weak", (4,), ())
    monkeypatch.setattr("rstc.training.trainer_parts.estimate_n_clusters", lambda *_: search)
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "in.csv", index=False)
    summary = cluster_file(RunRequest(str(tmp_path / "in.csv"), tmp_path / "run", settings=QUICK))
    assert summary is not None
    assert summary.n_clusters == len(summary.clusters) == 4
    assert "(4 or 10 fit about as well)" in summary.decisions[-1]
    assert [(level.name, len(level.groups)) for level in summary.levels if level.is_chosen] == [("coarse", 4)]

    run = switch_level(tmp_path / "run", "medium")
    assert len(np.unique(run.clusters)) == 10
    assert_nested(run.clusters, medium.labels_)
    assert_nested(medium.labels_, run.clusters)


def test_a_run_switches_to_another_level_and_back(texts: list[str], tmp_path: Path, medium: RSTC) -> None:
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "in.csv", index=False)
    folder = tmp_path / "run"
    cluster_file(RunRequest(str(tmp_path / "in.csv"), folder, 10, settings=QUICK))
    before = pd.read_csv(folder / "clusters.csv")
    assert before["cluster"].tolist() == medium.labels_.tolist()
    with pytest.raises(InputError, match="already has the level 'medium'"):
        switch_level(folder, "medium")
    with pytest.raises(InputError, match="is not a level of"):
        switch_level(folder, "rough")
    for detail in ("fine", "coarse"):
        run = switch_level(folder, detail)
        written = pd.read_csv(folder / "clusters.csv")
        assert_nested(written["cluster"].to_numpy(), medium.labels_at(detail))
        assert written["cluster"].nunique() == written["cluster_name"].nunique() == medium.labels_at(detail).max() + 1
        assert (RSTC.load(folder / "model").predict(texts[:100]) == written["cluster"][:100]).mean() > 0.95
        assert [level.name for level in run.levels() if level.is_chosen] == [detail]
    switch_level(folder, "medium")
    assert pd.read_csv(folder / "clusters.csv").equals(before)

    content = build_page_content(CorrectedRun.read(folder))["levels"]
    assert [(level["name"], level["is_chosen"]) for level in content] == [("coarse", 0), ("medium", 1), ("fine", 0)]
    for level in content:
        assert level["n_clusters"] == len(level["groups"])
        assert all(
            set(group) == {"name", "clusters"} | ({"rows"} if level["name"] == "fine" else set())
            for group in level["groups"]
        )
    rows = sorted(row for group in content[2]["groups"] for row in group["rows"])
    assert rows == list(range(len(texts)))


def test_two_clusters_have_no_coarse_level(fit: Callable[..., RSTC]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(2, detail="coarse", repeats=0)
    assert [str(warning.message) for warning in caught if warning.category is LevelWarning] == [
        "there is no coarse level: the 2 clusters are too few to be merged"
    ]
    assert model.n_clusters_ == 2
