"""SAOTClustering: clusters of plain numbers, where scikit-learn and BERTopic want a cluster model."""

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
def test_every_check_of_scikit_learn_passes(check: Any) -> None:
    check(SAOTClustering(kmeans_starts=2, rounds=1))


def test_uneven_blobs_are_found_with_their_sizes(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    model = SAOTClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert np.bincount(model.labels_).tolist() == sorted(np.bincount(model.labels_), reverse=True)
    assert model.class_distribution_ == pytest.approx([200 / 280, 60 / 280, 20 / 280], abs=0.03)
    for cluster, centre in enumerate(model.cluster_centers_):
        assert np.linalg.norm(centre - X[model.labels_ == cluster].mean(0)) < 0.5


def test_the_fitted_points_are_predicted_as_they_were_labelled(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = blobs
    model = SAOTClustering(5, random_state=0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    P = model.predict_proba(X)
    assert P.sum(1) == pytest.approx(np.ones(len(X)))
    assert P.mean(0) == pytest.approx(model.class_distribution_, abs=1e-6), "a plan has the sizes that were found"


@pytest.mark.parametrize(
    ("setting", "problem"),
    [({"start": "lnkage"}, "start='lnkage'"), ({"eps2": "any"}, "eps2='any'"), ({"rounds": -1}, "rounds=-1")],
)
def test_settings_that_cannot_be_used_are_told(
    setting: dict[str, Any], problem: str, blobs: tuple[np.ndarray, np.ndarray]
) -> None:
    with pytest.raises(InputError, match=problem):
        SAOTClustering(3, **setting).fit(blobs[0])


def test_where_points_lie_and_in_what_unit_does_not_matter(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = blobs
    here, there = (SAOTClustering(3, random_state=0).fit(points).labels_ for points in (X, 1e-3 * X + 50))
    assert adjusted_rand_score(here, there) > 0.99


def test_directions_alone_count_if_asked(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = blobs
    lengths = np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    model = SAOTClustering(3, unit_length=True, random_state=0).fit(X)
    assert np.array_equal(model.predict(X * lengths), model.labels_)


def test_points_that_come_later_keep_the_numbers_and_move_the_rest(blobs: tuple[np.ndarray, np.ndarray]) -> None:
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


def test_it_stands_at_the_end_of_a_pipeline_and_in_a_search(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), SAOTClustering(3, random_state=0, kmeans_starts=2))
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) > 0.9

    def told_apart(model: Any, X: np.ndarray, y: object = None) -> float:
        return float(model.predict_proba(X).max(1).mean())

    search = GridSearchCV(pipeline, {"saotclustering__n_clusters": [2, 3]}, scoring=told_apart, cv=2).fit(X)
    assert search.best_estimator_.predict(X[:5]).shape == (5,)
    assert clone(pipeline).get_params()["saotclustering__n_clusters"] == 3


def test_bertopic_takes_it_as_its_cluster_model() -> None:
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
    found, _ = model.fit_transform(texts, embeddings=E)
    assert adjusted_rand_score(topics, found) > 0.95
    info = model.get_topic_info()
    assert len(info) == 4
    new, _ = model.transform(texts[:3], embeddings=E[:3])
    assert list(new) == list(found[:3])


@pytest.mark.parametrize(("k", "message"), [(0, "at least 1"), (2.5, "whole number"), (300, "at least 300 points")])
def test_numbers_of_clusters_that_make_no_sense_are_told(
    k: Any, message: str, blobs: tuple[np.ndarray, np.ndarray]
) -> None:
    with pytest.raises(InputError, match=message):
        SAOTClustering(k).fit(blobs[0])
