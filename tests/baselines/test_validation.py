from __future__ import annotations

from typing import Any

import pytest

from rstc.baselines.bow import BOW
from rstc.baselines.kmeans_ic import KMeansIC
from rstc.baselines.sbert import SBERT
from rstc.baselines.sccl import SCCL
from rstc.baselines.self_train import SelfTrain
from rstc.baselines.stc2 import STC2
from rstc.baselines.tfidf import TFIDF
from rstc.baselines.validation import validate_texts
from rstc.errors import InputError

ALL = [BOW, TFIDF, KMeansIC, SBERT, SCCL, SelfTrain, STC2]


@pytest.mark.parametrize(
    ("texts", "n_clusters", "message"),
    [
        ("late again", 2, "got a single string"),
        (["late", None], 2, "text 1 is None"),
        (["late", "again"], 1, "n_clusters=1 must be a whole number of at least 2"),
        (["late", "again"], 2.0, "n_clusters=2.0 must be a whole number"),
        (["late", "late", "again"], 3, "needs at least 3 distinct texts, got 2"),
    ],
)
def test_invalid_texts_and_cluster_counts_raise(texts: Any, n_clusters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate_texts(texts, n_clusters)
    for baseline in ALL:
        with pytest.raises(InputError, match=message):
            baseline(n_clusters).fit_predict(texts)


@pytest.mark.parametrize("baseline", ALL)
def test_parameters_can_be_read_and_set_as_in_scikit_learn(baseline: Any) -> None:
    model = baseline(5, random_state=1)
    assert model.get_params()["n_clusters"] == 5
    assert model.set_params(kmeans_starts=2).kmeans_starts == 2
