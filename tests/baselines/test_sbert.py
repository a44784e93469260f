from __future__ import annotations

from typing import Any

import numpy as np

from rstc.baselines.sbert import SBERT
from rstc.metrics import evaluate


def test_clusters_match_the_topics(texts_and_topics: Any, tiny_encoder: str) -> None:
    texts, topics = texts_and_topics
    labels = SBERT(4, random_state=0, encoder=tiny_encoder).fit_predict(texts)
    assert evaluate(topics, labels).acc > 0.9


def test_precomputed_embeddings_are_used() -> None:
    E = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], dtype=np.float32)
    labels = SBERT(2, random_state=0).fit(["a", "b", "c", "d"], embeddings=E).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]


def test_unit_length_ignores_the_norm_of_embeddings() -> None:
    E = np.array([[1, 0], [100, 0], [0, 1], [0, 100]], dtype=np.float32)
    labels = SBERT(2, random_state=0).fit(["a", "b", "c", "d"], embeddings=E).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]
    unscaled = SBERT(2, random_state=0, unit_length=False).fit(["a", "b", "c", "d"], embeddings=E).labels_
    assert unscaled[0] == unscaled[2]
