"""What is known of a few texts is kept, called by its name, and helps with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError, MissingTextWarning
from rstc.validation.labels import read_knowledge

Data = tuple[list[str], list[str]]


def known_of(topics: list[str], every: int = 3, without: str | None = None) -> list[str | None]:
    return [topic if i % every == 0 and topic != without else None for i, topic in enumerate(topics)]


@pytest.fixture(scope="module")
def model(tiny_encoder: str, texts_and_topics: Data) -> RSTC:
    texts, topics = texts_and_topics
    settings = {"encoder": tiny_encoder, "max_steps": 10, "batch_size": 32, "kmeans_starts": 2}
    return RSTC(4, random_state=0, **settings).fit(texts, known_of(topics, without="refund"))


def test_known_texts_are_in_the_cluster_of_their_class(model: RSTC, texts_and_topics: Data) -> None:
    topics = texts_and_topics[1]
    assert model.classes_ is not None
    for i, label in enumerate(known_of(topics, without="refund")):
        if label is not None:
            assert model.classes_[model.labels_[i]] == label


def test_a_class_that_nobody_named_is_still_found(model: RSTC, texts_and_topics: Data) -> None:
    assert model.classes_ is not None
    assert sorted(str(one) for one in model.classes_) == ["None", "parcel", "password", "recipe"]
    new = model.classes_.index(None)
    refunds = np.array(texts_and_topics[1]) == "refund"
    assert np.mean(model.labels_[refunds] == new) > 0.8


def test_names_are_kept_with_the_model(model: RSTC, texts_and_topics: Data, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").classes_ == model.classes_
    assert set(model.cluster_info_["name"]) >= {"parcel", "password", "recipe"}


def test_labels_of_rows_without_a_text_say_nothing(quick: dict[str, Any]) -> None:
    texts = ["late parcel", "parcel lost", None, "reset password", "password code", ""] * 4
    with pytest.warns(MissingTextWarning):
        model = RSTC(2, random_state=0, **quick).fit(texts, [None, None, "lost", None, "login", "late"] * 4)
    assert sorted(filter(None, model.classes_ or [])) == ["login"]
    with pytest.warns(MissingTextWarning):
        assert RSTC(2, random_state=0, **quick).fit(texts, [None, None, "lost"] * 8).classes_ is None


def test_fit_predict_knows_them_too(model: RSTC, texts_and_topics: Data) -> None:
    texts, topics = texts_and_topics
    again = RSTC(**model.get_params())
    labels = again.fit_predict(texts, known_of(topics, without="refund"))
    assert again.classes_ == model.classes_
    assert np.array_equal(labels, model.labels_)


@pytest.mark.parametrize("labels", ["saot", "crossfit"])
def test_they_help_where_texts_alone_do_not_tell(labels: str, quick: dict[str, Any], texts_and_topics: Data) -> None:
    texts = texts_and_topics[0]
    by_first_word = [text.split()[0] for text in texts]  # a view of the world that no start would find
    first = sorted(set(by_first_word))
    odd = [first.index(word) % 2 for word in by_first_word]
    known = [one if i % 2 else -1 for i, one in enumerate(odd)]
    model = RSTC(2, random_state=0, **(quick | {"labels": labels, "max_steps": 10})).fit(texts, known)
    assert model.classes_ is not None
    assert sorted(model.classes_) == [0, 1]
    given = np.array(known) >= 0
    assert [model.classes_[label] for label in model.labels_[given]] == np.array(odd)[given].tolist()


def test_a_run_with_labels_goes_on_too(quick: dict[str, Any], texts_and_topics: Data, tmp_path: Path) -> None:
    texts, topics = texts_and_topics
    known = known_of(topics)
    whole = RSTC(4, random_state=0, **quick).fit(texts, known, checkpoints=tmp_path / "checkpoints")
    again = RSTC(4, random_state=0, **quick).fit(texts, known, checkpoints=tmp_path / "checkpoints")
    assert np.array_equal(again.labels_, whole.labels_)
    assert again.classes_ == whole.classes_


def test_what_says_nothing_is_no_label() -> None:
    known = read_knowledge(pd.Series(["b", None, np.nan, "", " ", "a", "b"]), range(7), 7)
    assert known is not None
    assert known.classes == ["a", "b"]
    assert known.of_text.tolist() == [1, -1, -1, -1, -1, 0, 1]
    assert read_knowledge([-1, -1], range(2), 2) is None
    assert read_knowledge(None, range(2), 2) is None


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, ["a"], "1 labels, but 120 texts"),
        ({"n_clusters": 2}, ["a", "b", "c"] * 40, "3 classes are known"),
        ({"class_contrast": False}, ["a", "b", None] * 40, "learns from no labels"),
        ({}, [["a"]] * 120, "a name or a number"),
    ],
)
def test_labels_that_make_no_sense_are_told(
    settings: dict[str, Any], y: Any, message: str, quick: dict[str, Any], texts_and_topics: Data
) -> None:
    with pytest.raises(InputError, match=message):
        RSTC(**({"n_clusters": 4} | quick | settings)).fit(texts_and_topics[0], y)


def test_the_command_line_takes_a_column(texts_and_topics: Data, quick: dict[str, Any], tmp_path: Path) -> None:
    from rstc.pipelines.cluster import cluster_file

    texts, topics = texts_and_topics
    table = pd.DataFrame({"text": texts, "mine": [label or "" for label in known_of(topics)]})
    table.to_csv(tmp_path / "tickets.csv", index=False)
    summary = cluster_file(
        str(tmp_path / "tickets.csv"), tmp_path / "run", 4, text_column="text", label_column="mine", settings=quick
    )
    assert summary is not None
    assert {one["label"] for one in summary["clusters"]} == {"parcel", "password", "refund", "recipe"}
    assert all(one["name"] == one["label"] for one in summary["clusters"])
    found = pd.read_csv(tmp_path / "run/clusters.csv")
    names = {one["cluster"]: one["label"] for one in summary["clusters"]}
    there = found["mine"].notna()
    assert found["cluster"][there].map(names).tolist() == found["mine"][there].tolist()
