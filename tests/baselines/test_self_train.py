"""Self-Train: an autoencoder whose encoder is then trained by DEC."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone

from rstc.baselines.dec import soft_assignment
from rstc.baselines.self_train import SelfTrain
from rstc.errors import InputError
from rstc.metrics import evaluate
from tiny_encoder import TOPICS, make_texts

# Each dimension is scaled to the same range, so that those which say nothing about the topics must be few.
SMALL = {
    "random_state": 0,
    "word_dim": 8,
    "layers": (64, 64, 128, 10),
    "batch_size": 32,
    "max_steps": 60,
    "renew_every": 20,
}


def test_finds_balanced_topics() -> None:
    texts, topics = make_texts(dict.fromkeys(TOPICS, 50))
    model = SelfTrain(4, **SMALL)
    assert evaluate(topics, model.fit_predict(texts).tolist()).acc > 0.95
    assert model.labels_.dtype == np.int64
    assert model.embedding_.dtype == np.float32
    assert model.embedding_.shape == (len(texts), 10)


def test_self_training_raises_the_confidence(texts_and_topics: tuple[list[str], list[str]]) -> None:
    def confidence(max_steps: int) -> float:
        model = SelfTrain(4, **{**SMALL, "max_steps": max_steps, "tol": 0.0}).fit(texts_and_topics[0])
        E, labels = torch.from_numpy(model.embedding_), model.labels_
        centres = torch.stack([E[labels == c].mean(0) for c in range(4)])
        return float(soft_assignment(E, centres).max(1).values.mean())

    assert confidence(200) > confidence(0) + 0.01


def test_labels_are_the_largest_soft_assignments(texts_and_topics: tuple[list[str], list[str]]) -> None:
    # Without a step, the centres are those of k-means: the largest q is the nearest of them.
    model = SelfTrain(4, **{**SMALL, "max_steps": 0}).fit(texts_and_topics[0])
    E = torch.from_numpy(model.embedding_)
    centres = torch.stack([E[model.labels_ == c].mean(0) for c in range(4)])
    assert np.array_equal(soft_assignment(E, centres).argmax(1).numpy(), model.labels_)


def test_history_has_an_entry_per_update_of_the_target(texts_and_topics: tuple[list[str], list[str]]) -> None:
    model = SelfTrain(4, **{**SMALL, "tol": 0.0, "max_steps": 50}).fit(texts_and_topics[0])
    assert [entry["step"] for entry in model.history_] == [0, 20, 40, 50]
    assert model.history_[0]["loss"] is None
    assert all(entry["loss"] >= 0 for entry in model.history_[1:])
    assert all(entry["clusters"] == 4 for entry in model.history_)
    assert model.n_iter_ == 50


def test_training_stops_when_clusters_no_longer_change(texts_and_topics: tuple[list[str], list[str]]) -> None:
    model = SelfTrain(4, **{**SMALL, "tol": 1.1}).fit(texts_and_topics[0])
    assert model.n_iter_ == SMALL["renew_every"]


def test_same_seed_gives_same_labels_and_restores_the_torch_generator(
    texts_and_topics: tuple[list[str], list[str]],
) -> None:
    model, before = SelfTrain(4, **SMALL), torch.get_rng_state()
    first, second = (clone(model).fit(texts_and_topics[0]) for _ in range(2))
    assert np.array_equal(first.labels_, second.labels_)
    assert np.array_equal(first.embedding_, second.embedding_)
    assert torch.equal(before, torch.get_rng_state())


def test_texts_without_a_word_of_the_vocabulary_share_a_cluster(texts_and_topics: tuple[list[str], list[str]]) -> None:
    labels = SelfTrain(5, **SMALL).fit_predict([*texts_and_topics[0], "", "!!!", "unseen"])
    assert len(labels) == len(texts_and_topics[0]) + 3
    assert len(set(labels[-3:])) == 1


def test_more_clusters_than_texts_raise() -> None:
    with pytest.raises(InputError, match="n_clusters=3 needs at least 3 distinct texts, got 2"):
        SelfTrain(3).fit(["late van", "late bus"])
