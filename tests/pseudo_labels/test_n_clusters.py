"""Estimation of the number of clusters: on plain data, within a range, from a curve of scores, and on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize

from rstc import RSTC
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.pseudo_labels.cluster_count import Candidate, ClusterCount, cluster_count_from_dict
from rstc.pseudo_labels.features import TextFeatures
from rstc.pseudo_labels.n_clusters import _choose_count, _rank_peaks, estimate_n_clusters, squared_silhouettes


def make_blobs(sizes: list[int], spread: float = 0.05, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((len(sizes), 32))
    points = [centre + spread * 8 * rng.standard_normal((n, 32)) for centre, n in zip(centres, sizes, strict=True)]
    return normalize(np.vstack(points)).astype(np.float32)


def estimate(E: np.ndarray, low: int = 2, high: int | None = None, seed: int = 0) -> ClusterCount:
    return estimate_n_clusters(TextFeatures({"embedding": E}), {}, (low, high), np.random.default_rng(seed))


def make_curve(*scores: float) -> list[Candidate]:
    """Return candidates from 2 on with these scores."""
    return [Candidate(number, score, 0.0, 0.0) for number, score in enumerate(scores, start=2)]


@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_number_of_balanced_clusters_is_found(n: int) -> None:
    count = estimate(make_blobs([240 // n] * n))
    assert count.n_clusters == n
    assert count.low <= n <= count.high
    assert count.certainty == "clear"


def test_number_of_imbalanced_clusters_is_found() -> None:
    assert 5 <= estimate(make_blobs([150, 100, 60, 30, 20, 20])).n_clusters <= 7


def test_number_stays_within_the_given_range() -> None:
    E = make_blobs([60] * 8)
    count = estimate(E, 3, 6)
    assert all(3 <= candidate.n_clusters <= 6 for candidate in count.candidates)
    assert 3 <= count.n_clusters <= 6
    assert estimate(E, 10, 14).n_clusters in range(10, 15)


def test_few_texts_get_a_number() -> None:
    for n in (2, 3, 5, 9, 30):
        assert 2 <= estimate(make_blobs([n])).n_clusters <= max(2, n // 3, n // 20)


def test_same_seed_gives_the_same_estimate() -> None:
    E = make_blobs([50, 40, 30, 20])
    assert estimate(E, high=8, seed=3) == estimate(E, high=8, seed=3)


def test_a_rise_towards_the_end_is_no_peak() -> None:
    rising = make_curve(1.0, 1.5, 1.2, 1.4, 1.6, 1.8, 2.0)  # 3 is a peak; the end is higher only because it is the end
    assert _rank_peaks(rising, low=2)[0] == (3, pytest.approx(0.3))
    assert _choose_count(rising, low=2).n_clusters == 3


def test_prominence_is_what_is_lost_on_the_way_to_a_higher_score() -> None:
    curve = make_curve(1.0, 1.4, 1.3, 2.0, 1.1)
    assert _rank_peaks(curve, low=2) == [(5, pytest.approx(0.9)), (3, pytest.approx(0.1))]


def test_without_a_peak_the_highest_score_is_taken_as_weak() -> None:
    count = _choose_count(make_curve(1.0, 1.1, 1.2), low=2)
    assert (count.n_clusters, count.certainty) == (4, "weak")


def test_range_of_about_equal_scores_and_other_peaks_are_returned() -> None:
    count = _choose_count(make_curve(1.0, 1.8, 1.3, 1.99, 2.0, 1.98, 1.2), low=2)
    assert (count.n_clusters, count.low, count.high, count.runners_up) == (6, 5, 7, (3,))
    assert count.certainty == "fair"  # another peak is about as prominent


def test_estimate_survives_json() -> None:
    count = _choose_count(make_curve(1.0, 1.8, 1.3, 2.0, 1.2), low=2)
    assert cluster_count_from_dict(json.loads(json.dumps(count.to_dict()))) == count
    assert cluster_count_from_dict(None) is None


def test_files_hold_the_estimate_by_the_keys_of_0_1_0(
    tiny_encoder: str, quick: dict[str, Any], tickets: Path, tmp_path: Path
) -> None:
    cluster_file(RunRequest(str(tickets), tmp_path / "run", settings=quick))
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))["count"]
    model = json.loads((tmp_path / "run" / "model" / "model.json").read_text(encoding="utf-8"))
    search = RSTC.load(tmp_path / "run" / "model").n_clusters_search_
    assert search is not None
    assert search.to_dict() == summary
    assert set(summary) == {"n_clusters", "low", "high", "sure", "runners_up", "candidates"}
    assert set(summary["candidates"][0]) == {"n_clusters", "told", "apart", "stable"}
    assert json.dumps(summary["candidates"]) in json.dumps(model)


def test_silhouette_agrees_with_a_case_computed_by_hand() -> None:
    points = np.array([[0.0], [2.0], [4.0]], dtype=np.float32)
    # Squared distances: of 0 to 2 it is 4, to 4 it is 16; of 2 to 0 it is 4, to 4 it is 4; 4 is alone in its cluster.
    assert squared_silhouettes(points, np.array([0, 0, 1])).mean() == pytest.approx((12 / 16 + 0 + 0) / 3)


def test_silhouette_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.standard_normal((60, 5)).astype(np.float32), np.arange(60) % 4
    assert squared_silhouettes(points, labels).mean() == pytest.approx(
        silhouette_score(points, labels, metric="sqeuclidean")
    )


@pytest.mark.parametrize("common", [0.0, 4.0])
def test_texts_that_look_alike_are_not_divided_into_one_large_cluster_and_odd_ones(common: float) -> None:
    rng, D = np.random.default_rng(0), 40
    truth = np.repeat([0, 1, 2, 3, 4], [40, 40, 40, 40, 12])
    centres = 0.6 * np.eye(D)[:5]
    centres[4] *= 4  # the odd texts are far from all others
    rows = centres[truth] + 0.1 * rng.standard_normal((len(truth), D)) + common * np.ones(D) / D**0.5
    features = TextFeatures({"embedding": np.asarray(normalize(rows), dtype=np.float32)})
    assert features.texts_look_alike == (common > 0)
    count = estimate_n_clusters(features, {}, (2, None), rng)
    if common:
        assert count.n_clusters >= 4
    assert 2 in [candidate.n_clusters for candidate in count.candidates]
