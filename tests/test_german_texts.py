"""German texts by the bundled encoder, which was trained on English: clusters do not collapse into one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from german_messages import TOPICS, make_messages
from rstc import RSTC
from rstc.metrics import evaluate

ENGLISH_ENCODER = "all-MiniLM-L6-v2"
MAX_SHARE = 0.4
MIN_ACC = 0.45  # of a sixth by chance


@pytest.fixture(scope="module")
def messages() -> tuple[list[str], list[str]]:
    return make_messages(240)


@pytest.fixture(scope="module")
def model(messages: tuple[list[str], list[str]]) -> RSTC:
    return RSTC(len(TOPICS), encoder=ENGLISH_ENCODER, repeats=0, random_state=0).fit(messages[0])


def test_no_cluster_swallows_the_others(model: RSTC, messages: tuple[list[str], list[str]]) -> None:
    labels = np.array(model.labels_)
    assert np.bincount(labels).max() <= MAX_SHARE * len(labels)
    assert evaluate(messages[1], labels.tolist()).acc >= MIN_ACC


def test_the_head_repeats_labels_that_were_found_in_centred_features(
    model: RSTC, messages: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    labels = np.array(model.labels_)
    np.testing.assert_array_equal(model.predict(messages[0]), labels)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(RSTC.load(tmp_path / "model").predict(messages[0]), labels)
    new_texts, new_topics = make_messages(120, seed=1)
    assert evaluate(new_topics, model.predict(new_texts).tolist()).acc >= MIN_ACC - 0.1


def test_no_cluster_swallows_the_others_if_their_number_is_estimated(messages: tuple[list[str], list[str]]) -> None:
    labels = np.array(RSTC("auto", encoder=ENGLISH_ENCODER, repeats=0, random_state=0).fit(messages[0]).labels_)
    assert np.bincount(labels).max() <= MAX_SHARE * len(labels)
