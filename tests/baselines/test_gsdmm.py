"""GSDMM: clusters by word counts, most of which become empty."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from rstc.baselines.gsdmm import GSDMM
from rstc.metrics import evaluate


def test_superfluous_clusters_become_empty(texts_and_topics: tuple[list[str], list[str]]) -> None:
    texts, topics = texts_and_topics
    model = GSDMM(40, random_state=0).fit(texts)
    assert 4 <= model.n_clusters_ <= 12
    assert set(model.labels_) == set(range(model.n_clusters_))
    assert evaluate(topics, model.labels_).nmi > 0.7


def test_same_seed_gives_same_clusters() -> None:
    texts = ["late parcel", "parcel lost", "onion soup", "soup", "soup soup onion"] * 5
    model = GSDMM(10, random_state=1, n_iter=5)
    assert np.array_equal(model.fit_predict(texts), clone(model).fit_predict(texts))


def test_text_without_words_gets_a_cluster() -> None:
    assert GSDMM(5, random_state=0).fit_predict(["late parcel", "🙂", "soup", "parcel"]).shape == (4,)
