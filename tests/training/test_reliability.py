"""Reliability of runs whose repeated searches look at a sample of the texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rstc import RSTC
from rstc.training import reliability


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reliability, "MIN_SAMPLE_SIZE", 70)
    monkeypatch.setattr(reliability, "MAX_SAMPLE_SIZE", 70)


@pytest.mark.usefixtures("small_sample")
def test_texts_outside_of_the_sample_are_judged_as_new_ones(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts = texts_and_topics[0]
    model = RSTC(4, random_state=0, row_order="given", **quick).fit(texts)
    assert model.reliability_ is not None
    assert model.reliability_.repeats.labels.shape == (30, 70)
    others = np.setdiff1d(np.arange(len(texts)), model.reliability_.sample_rows)
    assert model.confidence_[others] == pytest.approx(model.assign(texts).confidence[others], abs=1e-5)
    sizes = model.cluster_info_[["size", "size_low", "size_high"]]
    assert (sizes["size_low"] <= sizes["size"] + 1).all()
    assert model.merge_to(2).confidence_.shape == (len(texts),)


@pytest.mark.usefixtures("small_sample")
def test_every_given_label_is_in_the_sample(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts, topics = texts_and_topics
    first_of_topic = {topic: topics.index(topic) for topic in set(topics)}
    y = [topic if first_of_topic[topic] == row else "" for row, topic in enumerate(topics)]
    model = RSTC(4, random_state=0, row_order="given", **quick).fit(texts, y)
    assert model.reliability_ is not None
    given = list(first_of_topic.values())
    assert set(given) <= set(model.reliability_.sample_rows.tolist())
    assert (model.confidence_[given] == 1).all()
    assert (model.merge_to(2).confidence_[given] == 1).all()


def test_a_run_in_which_every_text_has_a_label_is_not_repeated(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts, topics = texts_and_topics
    model = RSTC(4, random_state=0, **quick).fit(texts, topics)
    assert model.reliability_ is None
    assert (model.confidence_ == 1).all()


def test_updates_repeat_the_search_that_found_the_clusters(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts = texts_and_topics[0]
    model = RSTC(4, random_state=0, start="linkage", **quick).fit(texts[:100])
    model.update(texts[100:110]).update(texts[110:])
    assert model._fitted_model.start == "linkage"
    assert model.reliability_ is not None
