"""Confidence, stability and verdicts of whole runs by the real encoder, on the bundled messages and random words."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC
from rstc.metrics import evaluate_confidence
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest

NONSENSE = ["xqz brl vvk wpl", "zzzz qqq wwpp lkj", "jjkw vbxq ppp"]


@pytest.fixture(scope="module")
def messages() -> pd.DataFrame:
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        return pd.read_csv(sample)


@pytest.fixture(scope="module")
def model(messages: pd.DataFrame) -> RSTC:
    return RSTC(10, random_state=0).fit(messages["text"].tolist())


def test_confidence_ranks_texts_better_than_the_head_and_is_nearer_to_the_truth(
    model: RSTC, messages: pd.DataFrame
) -> None:
    topics, clusters = messages["topic"].tolist(), model.labels_.tolist()
    own = evaluate_confidence(topics, clusters, model.confidence_.tolist())
    head = evaluate_confidence(topics, clusters, model.probabilities_.max(1).tolist())
    assert own.aurc < head.aurc
    assert own.ece < head.ece / 2


def test_a_text_that_belongs_nowhere_has_low_confidence_and_typical_new_texts_do_not(model: RSTC) -> None:
    assert model.assign(NONSENSE).confidence.max() < 0.1
    new = ["i forgot my password and cannot log in", "the app crashes when i open it"]
    assert model.assign(new).confidence.min() > 0.6
    assert model.assign([None, *new]).confidence[0] == 0


def test_a_saved_model_gives_new_texts_the_same_confidence(model: RSTC, tmp_path: Path) -> None:
    texts = ["where is my parcel", *NONSENSE]
    model.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").assign(texts).confidence == pytest.approx(model.assign(texts).confidence)


def test_frames_have_levels_of_texts_and_notes_of_clusters(model: RSTC) -> None:
    frame = model.to_frame()
    expected = np.select([frame["confidence"] >= 0.8, frame["confidence"] >= 0.5], ["high", "medium"], "low")
    assert frame["confidence_level"].tolist() == expected.tolist()
    info = model.cluster_info_
    assert info["stability"].between(0, 1).all()
    assert (info["size_low"] <= info["size_high"]).all()
    assert info["note"].str.startswith("found again in ").all()
    assert set(info["confused_with"].dropna()) <= set(info.index)


def test_merged_clusters_are_surer_than_their_parts(model: RSTC) -> None:
    coarse = model.merge_to(4)
    assert coarse.confidence_.mean() > model.confidence_.mean()
    assert coarse.cluster_info_["stability"].mean() >= model.cluster_info_["stability"].mean()
    assert coarse.assign(NONSENSE).confidence.max() < 0.1


def test_given_classes_are_certain(messages: pd.DataFrame) -> None:
    y = messages["topic"].where(np.arange(len(messages)) % 5 == 0, "").tolist()
    model = RSTC(10, random_state=0).fit(messages["text"].tolist(), y)
    is_given = np.array([label != "" for label in y])
    assert (model.confidence_[is_given] == 1).all()
    assert model.confidence_[~is_given].mean() < 0.95, "duplicates of given texts are given, too"


def test_without_repeats_the_confidence_is_the_probability_of_the_head(
    quick: dict[str, object], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    model = RSTC(4, random_state=0, repeats=0, **quick).fit(texts_and_topics[0])  # type: ignore[arg-type]
    assert model.reliability_ is None
    assert model.confidence_ == pytest.approx(model.probabilities_.max(1))
    assert "stability" not in model.cluster_info_
    assert model.merge_to(2).reliability_ is None


def test_a_run_on_random_words_warns_that_there_is_no_structure(messages: pd.DataFrame, tmp_path: Path) -> None:
    words = sorted({word for text in messages["text"] for word in text.lower().split() if word.isalpha()})
    rng = np.random.default_rng(0)
    salad = [" ".join(rng.choice(words, rng.integers(4, 12))) for _ in range(500)]
    pd.DataFrame({"text": salad}).to_csv(tmp_path / "salad.csv", index=False)
    summary = cluster_file(RunRequest(str(tmp_path / "salad.csv"), tmp_path / "run", 8))
    assert summary is not None
    assert summary.reliability is not None
    assert summary.reliability.verdict == "random words"
    assert summary.reliability.is_warning
    assert "No structure was found" in (tmp_path / "run" / "summary.json").read_text(encoding="utf-8")


def test_a_run_on_messages_does_not(messages: pd.DataFrame, tmp_path: Path) -> None:
    messages.to_csv(tmp_path / "messages.csv", index=False)
    summary = cluster_file(RunRequest(str(tmp_path / "messages.csv"), tmp_path / "run", 10, text_column="text"))
    assert summary is not None
    assert summary.reliability is not None
    assert summary.reliability.verdict in ("stable", "partly stable")
    assert all(entry.reliability for entry in summary.clusters)
