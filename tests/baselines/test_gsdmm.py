"""GSDMM: clusters by words, of which those that are not needed empty."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from rstc.baselines.gsdmm import GSDMM
from rstc.metrics import evaluate


def test_clusters_that_are_not_needed_empty(texts_and_topics: tuple[list[str], list[str]]) -> None:
    texts, topics = texts_and_topics
    model = GSDMM(40, random_state=0).fit(texts)
    assert 4 <= model.n_clusters_ <= 12
    assert set(model.labels_) == set(range(model.n_clusters_))
    assert evaluate(topics, model.labels_).nmi > 0.7


def test_the_same_seed_gives_the_same_clusters() -> None:
    texts = ["late parcel", "parcel lost", "onion soup", "soup", "soup soup onion"] * 5
    model = GSDMM(10, random_state=1, n_iter=5)
    assert np.array_equal(model.fit_predict(texts), clone(model).fit_predict(texts))


def test_a_text_without_a_word_gets_a_cluster() -> None:
    assert GSDMM(5, random_state=0).fit_predict(["late parcel", "🙂", "soup", "parcel"]).shape == (4,)
