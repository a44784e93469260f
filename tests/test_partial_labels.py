"""Partial labels: labelled texts stay in the cluster of their class, which has its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError, MissingTextWarning
from rstc.validation.labels import validate_partial_labels

Data = tuple[list[str], list[str]]


def label_some(topics: list[str], every: int = 3, without: str | None = None) -> list[str | None]:
    return [topic if i % every == 0 and topic != without else None for i, topic in enumerate(topics)]


@pytest.fixture(scope="module")
def model(tiny_encoder: str, texts_and_topics: Data) -> RSTC:
    texts, topics = texts_and_topics
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 10, "batch_size": 32, "kmeans_starts": 2}
    return RSTC(4, random_state=0, **settings).fit(texts, label_some(topics, without="refund"))


def test_labelled_texts_are_in_the_cluster_of_their_class(model: RSTC, texts_and_topics: Data) -> None:
    topics = texts_and_topics[1]
    assert model.classes_ is not None
    for i, label in enumerate(label_some(topics, without="refund")):
        if label is not None:
            assert model.classes_[model.labels_[i]] == label


def test_class_without_labels_is_still_found(model: RSTC, texts_and_topics: Data) -> None:
    assert model.classes_ is not None
    assert sorted(map(str, model.classes_)) == ["None", "parcel", "password", "recipe"]
    new = model.classes_.index(None)
    refunds = np.array(texts_and_topics[1]) == "refund"
    assert np.mean(model.labels_[refunds] == new) > 0.8


def test_classes_are_saved_and_name_the_clusters(model: RSTC, texts_and_topics: Data, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").classes_ == model.classes_
    assert set(model.cluster_info_["name"]) >= {"parcel", "password", "recipe"}


def test_merged_model_keeps_the_classes_that_agree(model: RSTC, texts_and_topics: Data) -> None:
    assert model.classes_ is not None
    coarse = model.merge_to(3)
    assert coarse.classes_ is not None
    assert len(coarse.classes_) == coarse.n_clusters_ == 3
    for cluster, known in enumerate(coarse.classes_):
        parts = {model.classes_[part] for part in model.labels_[coarse.labels_ == cluster]} - {None}
        assert known == (parts.pop() if len(parts) == 1 else None)
    assert model.merge_to(1).classes_ == [None]
    assert model.merge_to(4).classes_ == model.classes_


def test_labels_of_rows_without_text_are_ignored(quick: dict[str, Any]) -> None:
    texts = ["late parcel", "parcel lost", None, "reset password", "password code", ""] * 4
    with pytest.warns(MissingTextWarning):
        model = RSTC(2, random_state=0, **quick).fit(texts, [None, None, "lost", None, "login", "late"] * 4)
    assert sorted(filter(None, model.classes_ or [])) == ["login"]
    with pytest.warns(MissingTextWarning):
        assert RSTC(2, random_state=0, **quick).fit(texts, [None, None, "lost"] * 8).classes_ is None


def test_fit_predict_accepts_labels(model: RSTC, texts_and_topics: Data) -> None:
    texts, topics = texts_and_topics
    again = RSTC(**model.get_params())
    labels = again.fit_predict(texts, label_some(topics, without="refund"))
    assert again.classes_ == model.classes_
    assert np.array_equal(labels, model.labels_)


@pytest.mark.parametrize("labels", ["saot", "crossfit"])
def test_labels_define_clusters_that_texts_alone_do_not(
    labels: str, quick: dict[str, Any], texts_and_topics: Data
) -> None:
    texts = texts_and_topics[0]
    by_first_word = [text.split()[0] for text in texts]  # a partition that no start would find
    first = sorted(set(by_first_word))
    parity = [first.index(word) % 2 for word in by_first_word]
    y = [label if i % 2 else -1 for i, label in enumerate(parity)]
    model = RSTC(2, random_state=0, **(quick | {"labels": labels, "max_steps": 10})).fit(texts, y)
    assert model.classes_ is not None
    assert sorted(model.classes_) == [0, 1]
    is_labelled = np.array(y) >= 0
    assert [model.classes_[label] for label in model.labels_[is_labelled]] == np.array(parity)[is_labelled].tolist()


def test_fit_with_labels_resumes_from_checkpoints(
    quick: dict[str, Any], texts_and_topics: Data, tmp_path: Path
) -> None:
    texts, topics = texts_and_topics
    y = label_some(topics)
    whole = RSTC(4, random_state=0, **quick).fit(texts, y, checkpoints=tmp_path / "checkpoints")
    again = RSTC(4, random_state=0, **quick).fit(texts, y, checkpoints=tmp_path / "checkpoints")
    assert np.array_equal(again.labels_, whole.labels_)
    assert again.classes_ == whole.classes_


def test_missing_labels_are_recognised() -> None:
    labels = validate_partial_labels(pd.Series(["b", None, np.nan, "", " ", "a", "b"]), range(7), 7)
    assert labels is not None
    assert labels.classes == ["a", "b"]
    assert labels.codes.tolist() == [1, -1, -1, -1, -1, 0, 1]
    assert validate_partial_labels([-1, -1], range(2), 2) is None
    assert validate_partial_labels(None, range(2), 2) is None


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, ["a"], "1 labels, but 120 texts"),
        ({"n_clusters": 2}, ["a", "b", "c"] * 40, "n_clusters=2 is less than the 3 classes"),
        ({"class_contrast": False}, ["a", "b", None] * 40, "learns from no labels"),
        ({}, [["a"]] * 120, "a string or a number"),
    ],
)
def test_invalid_labels_are_refused(
    settings: dict[str, Any], y: Any, message: str, quick: dict[str, Any], texts_and_topics: Data
) -> None:
    with pytest.raises(InputError, match=message):
        RSTC(**({"n_clusters": 4} | quick | settings)).fit(texts_and_topics[0], y)


def test_label_column_of_a_file_is_used(texts_and_topics: Data, quick: dict[str, Any], tmp_path: Path) -> None:
    from rstc.pipelines.cluster import cluster_file
    from rstc.pipelines.request import RunRequest

    texts, topics = texts_and_topics
    table = pd.DataFrame({"text": texts, "mine": [label or "" for label in label_some(topics)]})
    table.to_csv(tmp_path / "tickets.csv", index=False)
    summary = cluster_file(
        RunRequest(
            str(tmp_path / "tickets.csv"), tmp_path / "run", 4, text_column="text", label_column="mine", settings=quick
        )
    )
    assert summary is not None
    assert {entry.label for entry in summary.clusters} == {"parcel", "password", "refund", "recipe"}
    assert all(entry.name == entry.label for entry in summary.clusters)
    rows = pd.read_csv(tmp_path / "run/clusters.csv")
    names = {entry.cluster: entry.label for entry in summary.clusters}
    is_labelled = rows["mine"].notna()
    assert rows["cluster"][is_labelled].map(names).tolist() == rows["mine"][is_labelled].tolist()
