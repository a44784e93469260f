"""The state of a fitted model: what belongs to the clusters changes together, and all of it is stored."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc.persistence.fitted_model import FittedModel
from rstc.persistence.model_folder import load_model, save_model


@pytest.fixture(scope="module")
def model(finished_run: Path) -> FittedModel:
    return replace(load_model(finished_run / "model"), classes=["late", None, "lost", "late"])


def test_facts_hold_all_but_network_settings_and_outlier_detector(model: FittedModel) -> None:
    facts = json.loads(json.dumps(model.to_facts()))
    again = FittedModel.from_facts(facts, model.network, model.config, model.outlier_detector, model.confidence_model)
    for field in fields(FittedModel):
        before, after = getattr(model, field.name), getattr(again, field.name)
        assert np.array_equal(before, after) if isinstance(before, np.ndarray) else before == after, field.name


def test_saved_model_is_loaded_with_its_state(model: FittedModel, tmp_path: Path) -> None:
    save_model(tmp_path / "model", model)
    loaded = load_model(tmp_path / "model")
    assert loaded.to_facts() == model.to_facts()
    assert loaded.n_clusters == 4


@pytest.mark.parametrize(
    ("groups", "classes"),
    [
        ([0, 0, 1, 2], ["late", "lost", "late"]),  # a labelled and a new cluster
        ([0, 1, 2, 0], ["late", None, "lost"]),  # two clusters of one class
        ([0, 1, 0, 0], [None, None]),  # two classes
        ([1, 0, 0, 1], ["lost", "late"]),
    ],
)
def test_merged_cluster_keeps_the_class_its_labelled_parts_agree_on(
    groups: list[int], classes: list[Any], model: FittedModel
) -> None:
    coarse = model.merge_clusters(np.array(groups))
    assert coarse.classes == classes
    assert coarse.n_clusters == len(coarse.class_distribution) == len(classes)
    assert coarse.hierarchy is not None
    assert coarse.hierarchy.shape == (len(classes) - 1, 4)
    assert model.classes == ["late", None, "lost", "late"]


def test_clusters_without_a_share_or_a_class_are_refused(model: FittedModel) -> None:
    with pytest.raises(ValueError, match="4 clusters needs a share, a class and a name"):
        model.with_clusters(model.network, model.class_distribution, model.hierarchy, ["late"], None, None)
    with pytest.raises(ValueError, match="4 clusters needs a share, a class and a name"):
        model.with_clusters(model.network, np.ones(3) / 3, model.hierarchy, None, None, None)


def test_classes_of_corrected_0_1_0_models_are_filled_up(model: FittedModel) -> None:
    facts = model.to_facts() | {"classes": ["late", "lost"]}
    loaded = FittedModel.from_facts(facts, model.network, model.config, None, None)
    assert loaded.classes == ["late", "lost", None, None]
