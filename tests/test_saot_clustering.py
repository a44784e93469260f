"""SAOTClustering on points: its own behaviour, and its use in scikit-learn and BERTopic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from rstc import InputError, SAOTClustering
from tiny_encoder import make_texts


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs([200, 60, 20], n_features=6, center_box=(-4, 4), cluster_std=1.0, random_state=0)
    return X, y


CHECKS = list(estimator_checks_generator(SAOTClustering(kmeans_starts=2, rounds=1)))


@pytest.mark.parametrize("check", [check for _, check in CHECKS], ids=[c.func.__name__ for _, c in CHECKS])
def test_scikit_learn_checks_pass(check: Any) -> None:
    check(SAOTClustering(kmeans_starts=2, rounds=1))


def test_uneven_blobs_and_their_sizes_are_found(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    model = SAOTClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert np.bincount(model.labels_).tolist() == sorted(np.bincount(model.labels_), reverse=True)
    assert model.class_distribution_ == pytest.approx([200 / 280, 60 / 280, 20 / 280], abs=0.03)
    for cluster, centre in enumerate(model.cluster_centers_):
        assert np.linalg.norm(centre - X[model.labels_ == cluster].mean(0)) < 0.5


def test_predictions_for_fitted_points_equal_their_labels(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = blobs
    model = SAOTClustering(5, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    P = model.predict_proba(X)
    assert P.sum(1) == pytest.approx(np.ones(len(X)))
    assert P.mean(0) == pytest.approx(model.class_distribution_, abs=1e-6), "the plan has the estimated class sizes"


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"start": "lnkage"}, "start='lnkage'"), ({"eps2": "any"}, "eps2='any'"), ({"rounds": -1}, "rounds=-1")],
)
def test_invalid_settings_are_refused(
    setting: dict[str, Any], message: str, blobs: tuple[np.ndarray, np.ndarray]
) -> None:
    with pytest.raises(InputError, match=message):
        SAOTClustering(3, **setting).fit(blobs[0])


def test_labels_do_not_depend_on_shift_and_scale(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = blobs
    original, moved = (SAOTClustering(3, random_state=0).fit(points).labels_ for points in (X, 1e-3 * X + 50))
    assert adjusted_rand_score(original, moved) > 0.99


def test_unit_length_compares_directions_only(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = blobs
    lengths = np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    model = SAOTClustering(3, unit_length=True, random_state=0).fit(X)
    assert np.array_equal(model.predict(X * lengths), model.labels_)


def test_partial_fit_keeps_cluster_numbers_and_moves_centres(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    order = np.random.default_rng(0).permutation(len(X))
    first, later = order[:140], np.concatenate([order[140:], order[140:], order[140:]])
    model = SAOTClustering(3, random_state=0).partial_fit(X[first])
    centres, before = model.cluster_centers_.copy(), model.predict(X)
    model.partial_fit(X[later])
    assert np.mean(model.predict(X) == before) > 0.97
    assert 0 < np.abs(model.cluster_centers_ - centres).max() < 1.5
    assert adjusted_rand_score(y, model.predict(X)) > 0.9
    assert model.class_distribution_.sum() == pytest.approx(1)


def test_works_in_a_pipeline_and_a_grid_search(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), SAOTClustering(3, random_state=0, kmeans_starts=2))
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) > 0.9

    def mean_confidence(model: Any, X: np.ndarray, y: object = None) -> float:
        return float(model.predict_proba(X).max(1).mean())

    search = GridSearchCV(pipeline, {"saotclustering__n_clusters": [2, 3]}, scoring=mean_confidence, cv=2).fit(X)
    assert search.best_estimator_.predict(X[:5]).shape == (5,)
    assert clone(pipeline).get_params()["saotclustering__n_clusters"] == 3


def test_bertopic_accepts_it_as_cluster_model() -> None:
    bertopic = pytest.importorskip("bertopic")
    from bertopic.dimensionality import BaseDimensionalityReduction

    texts, topics = make_texts({"parcel": 40, "password": 30, "refund": 20, "recipe": 15})
    names = sorted(set(topics))
    rng = np.random.default_rng(0)
    E = np.eye(8)[[names.index(topic) for topic in topics]] + 0.15 * rng.normal(size=(len(texts), 8))
    model = bertopic.BERTopic(
        hdbscan_model=SAOTClustering(4, random_state=0, kmeans_starts=2),
        umap_model=BaseDimensionalityReduction(),
    )
    labels, _ = model.fit_transform(texts, embeddings=E)
    assert adjusted_rand_score(topics, labels) > 0.95
    info = model.get_topic_info()
    assert len(info) == 4
    new, _ = model.transform(texts[:3], embeddings=E[:3])
    assert list(new) == list(labels[:3])


@pytest.mark.parametrize(("k", "message"), [(0, "at least 1"), (2.5, "whole number"), (300, "at least 300 points")])
def test_invalid_n_clusters_is_refused(k: Any, message: str, blobs: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(InputError, match=message):
        SAOTClustering(k).fit(blobs[0])
