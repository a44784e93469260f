"""`RSTC.update` and `rstc update`: new texts, the same clusters, and the drift between old and new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fork_server import run_rstc
from rstc import RSTC, InputError
from tiny_encoder import make_texts


@pytest.fixture
def model(quick: dict[str, Any]) -> RSTC:
    texts = make_texts({"parcel": 50, "password": 30, "refund": 15, "recipe": 15}, seed=1)[0]
    return RSTC(4, random_state=0, **quick).fit(texts)


def test_similar_texts_change_few_labels(model: RSTC) -> None:
    texts = make_texts({"parcel": 25, "password": 15, "refund": 8, "recipe": 7}, seed=2)[0]
    before, expected = model.labels_.copy(), model.predict(texts)
    assert model.update(texts) is model
    assert len(model.labels_) == 110 + 55
    assert np.mean(model.labels_[:110] == before) > 0.95, "old texts keep their clusters"
    assert np.mean(model.labels_[110:] == expected) > 0.9
    assert np.array_equal(model.predict(texts), model.labels_[110:])
    assert model.drift_.texts == 55
    assert model.drift_.distance < 3 * model.drift_.expected + 0.05
    assert model.drift_.moved < 0.05
    assert len(model.to_frame()) == 165


def test_drift_shows_a_change_of_shares(model: RSTC) -> None:
    before = model.labels_.copy()
    model.update(make_texts({"recipe": 60}, seed=3)[0])
    drift = model.drift_
    assert drift.distance > 3 * drift.expected
    assert drift.shares.max() > 0.9
    assert drift.to_dict()["texts"] == 60
    assert np.mean(model.labels_[:110] == before) > 0.9
    assert model.class_distribution_[int(drift.shares.argmax())] > 0.3


def test_loaded_model_needs_its_texts(model: RSTC, tmp_path: Path) -> None:
    texts = [str(text) for text in model._texts]
    model.save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    with pytest.raises(InputError, match="pass them"):
        loaded.update(["late parcel"])
    loaded.update(["late parcel", None], old=texts)
    assert loaded.labels_[-1] == -1
    assert loaded.n_texts_ == 111


def test_update_without_text_is_refused(model: RSTC) -> None:
    with pytest.raises(InputError, match="at least one new text"):
        model.update([None, " "])


@pytest.mark.parametrize(
    "settings", [{"labels": "saot", "renewals": 3}, {"class_contrast": False}, {"trainable_layers": 0}]
)
def test_update_works_for_each_kind_of_training(settings: dict[str, Any], quick: dict[str, Any]) -> None:
    texts = make_texts({"parcel": 40, "password": 30, "refund": 20}, seed=1)[0]
    model = RSTC(3, random_state=0, **(quick | settings)).fit(texts[:60])
    before = model.labels_.copy()
    if settings.get("class_contrast") is False:
        with pytest.raises(InputError, match="class_contrast=False"):
            model.update(texts[60:])
        return
    model.update(texts[60:])
    assert np.mean(model.labels_[:60] == before) > 0.85


def test_command_line_updates_a_run(run_folder: Path, tmp_path: Path) -> None:
    new = pd.DataFrame({"text": make_texts({"parcel": 10, "recipe": 5}, seed=5)[0], "channel": "mail"})
    new.to_csv(tmp_path / "new.csv", index=False)
    before = pd.read_csv(run_folder / "clusters.csv")
    done = run_rstc("update", run_folder, tmp_path / "new.csv")
    assert done.returncode == 0, done.stderr
    assert "15 new texts" in done.stdout
    assert "Drift" in done.stdout
    after = pd.read_csv(run_folder / "clusters.csv")
    assert len(after) == len(before) + 15
    assert (after["cluster"][: len(before)] == before["cluster"]).mean() > 0.9
    assert after["channel"].tolist()[-1] == "mail"
    summary = json.loads((run_folder / "summary.json").read_text())
    assert summary["update"]["rows"] == 15
    names = {entry["cluster"]: entry["name"] for entry in summary["clusters"]}
    assert after["cluster_name"].tolist() == [names[cluster] for cluster in after["cluster"]]
    again = run_rstc("update", run_folder, tmp_path / "none.csv")
    assert (again.returncode, "there is no file" in again.stderr) == (2, True)
    assert pd.read_csv(run_folder / "clusters.csv").equals(after)
