from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rstc.baselines.sccl import SCCL
from rstc.metrics import evaluate

QUICK = {"max_steps": 10, "batch_size": 32, "watch_interval": 5, "kmeans_starts": 3}


@pytest.fixture(scope="module")
def fitted(texts_and_topics: Any, tiny_encoder: str) -> SCCL:
    return SCCL(4, random_state=0, encoder=tiny_encoder, **QUICK).fit(texts_and_topics[0])


def test_clusters_match_the_topics(fitted: SCCL, texts_and_topics: Any) -> None:
    assert evaluate(texts_and_topics[1], fitted.labels_.tolist()).acc > 0.9


def test_instance_loss_decreases(texts_and_topics: Any, tiny_encoder: str) -> None:
    model = SCCL(4, random_state=0, encoder=tiny_encoder, **{**QUICK, "max_steps": 40, "encoder_lr": 1e-3})
    losses = [entry["loss_instance"] for entry in model.fit(texts_and_topics[0]).history_[1:]]
    assert losses[-1] < losses[0]


def test_same_seed_gives_same_clusters(fitted: SCCL, texts_and_topics: Any, tiny_encoder: str) -> None:
    second = SCCL(4, random_state=0, encoder=tiny_encoder, **QUICK).fit(texts_and_topics[0])
    assert (second.labels_ == fitted.labels_).all()


def test_watch_is_called_at_each_evaluation(texts_and_topics: Any, tiny_encoder: str) -> None:
    calls: list[tuple[int, np.ndarray, np.ndarray]] = []
    texts, _ = texts_and_topics
    SCCL(4, random_state=0, encoder=tiny_encoder, **QUICK).fit(texts, watch=lambda *arguments: calls.append(arguments))
    assert [step for step, _, _ in calls] == [0, 5, 10]
    assert all(len(rows) == len(clusters) == len(texts) for _, rows, clusters in calls)


def test_given_views_are_contrasted(texts_and_topics: Any, tiny_encoder: str) -> None:
    """With identical views for all texts NT-Xent stays at chance level, log(2B - 1)."""
    texts, _ = texts_and_topics
    same = ["parcel late"] * len(texts)
    model = SCCL(4, random_state=0, encoder=tiny_encoder, **{**QUICK, "encoder_lr": 1e-9})
    loss = model.fit(texts, views=(same, same)).history_[1]["loss_instance"]
    assert loss == pytest.approx(np.log(2 * 32 - 1), abs=0.02)


def test_all_layers_or_none_can_be_trained(texts_and_topics: Any, tiny_encoder: str) -> None:
    for layers in ("all", 0):
        model = SCCL(4, random_state=0, encoder=tiny_encoder, trainable_layers=layers, **QUICK)
        assert evaluate(texts_and_topics[1], model.fit_predict(texts_and_topics[0]).tolist()).acc > 0.9
