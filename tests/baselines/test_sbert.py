from __future__ import annotations

from typing import Any

import numpy as np

from rstc.baselines.sbert import SBERT
from rstc.metrics import evaluate


def test_texts_of_one_topic_come_together(texts_and_topics: Any, tiny_encoder: str) -> None:
    texts, topics = texts_and_topics
    found = SBERT(4, random_state=0, encoder=tiny_encoder).fit_predict(texts)
    assert evaluate(topics, found).acc > 0.9


def test_embeddings_that_are_there_are_taken_as_they_are() -> None:
    E = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], dtype=np.float32)
    labels = SBERT(2, random_state=0).fit(["a", "b", "c", "d"], embeddings=E).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]


def test_at_unit_length_only_directions_count() -> None:
    E = np.array([[1, 0], [100, 0], [0, 1], [0, 100]], dtype=np.float32)
    labels = SBERT(2, random_state=0).fit(["a", "b", "c", "d"], embeddings=E).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]
    as_they_come = SBERT(2, random_state=0, unit_length=False).fit(["a", "b", "c", "d"], embeddings=E).labels_
    assert as_they_come[0] == as_they_come[2]
