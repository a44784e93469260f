"""How many clusters there are: found where it is plain, kept within what was asked, and honest about doubt."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.n_clusters import Candidate, _counted, _peaks, count_clusters, read_count, silhouette


def crowds(sizes: list[int], spread: float = 0.05, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((len(sizes), 32))
    points = [centre + spread * 8 * rng.standard_normal((n, 32)) for centre, n in zip(centres, sizes, strict=True)]
    return normalize(np.vstack(points)).astype(np.float32)


def count(E: np.ndarray, low: int = 2, high: int | None = None, seed: int = 0) -> object:
    return count_clusters(E, None, 0.0, (low, high), np.random.default_rng(seed))


def curve(*scores: float) -> list[Candidate]:
    return [Candidate(number, score, 0.0, 0.0) for number, score in enumerate(scores, start=2)]


@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_even_crowds_are_counted_as_they_are(n: int) -> None:
    found = count(crowds([360 // n] * n))
    assert found.n_clusters == n
    assert found.low <= n <= found.high
    assert found.sure == "clear"


def test_crowds_of_very_different_sizes_are_counted_too() -> None:
    found = count(crowds([150, 100, 60, 30, 20, 20]))
    assert 5 <= found.n_clusters <= 7


def test_the_number_stays_within_the_range_that_was_asked_for() -> None:
    E = crowds([60] * 8)
    assert all(3 <= one.n_clusters <= 6 for one in count(E, 3, 6).candidates)
    assert 3 <= count(E, 3, 6).n_clusters <= 6
    assert count(E, 10, 14).n_clusters in range(10, 15)


def test_few_texts_are_counted_without_a_complaint() -> None:
    for n in (2, 3, 5, 9, 30):
        assert 2 <= count(crowds([n])).n_clusters <= max(2, n // 3, n // 20)


def test_the_same_seed_gives_the_same_count() -> None:
    E = crowds([50, 40, 30, 20])
    assert count(E, seed=3) == count(E, seed=3)


def test_a_rise_that_never_turns_is_no_peak() -> None:
    drift = curve(1.0, 1.5, 1.2, 1.4, 1.6, 1.8, 2.0)  # 3 stands out; the end is higher, and only because it is the end
    assert _peaks(drift, low=2)[0] == (3, pytest.approx(0.3))
    assert _counted(drift, low=2).n_clusters == 3


def test_a_peak_stands_out_by_what_is_lost_on_the_way_to_a_higher_one() -> None:
    assert _peaks(curve(1.0, 1.4, 1.3, 2.0, 1.1), low=2) == [(5, pytest.approx(0.9)), (3, pytest.approx(0.1))]


def test_without_any_peak_the_best_is_taken_and_called_a_weak_guess() -> None:
    found = _counted(curve(1.0, 1.1, 1.2), low=2)
    assert (found.n_clusters, found.sure) == (4, "weak")


def test_numbers_that_serve_as_well_and_other_peaks_are_told() -> None:
    found = _counted(curve(1.0, 1.8, 1.3, 1.99, 2.0, 1.98, 1.2), low=2)
    assert (found.n_clusters, found.low, found.high, found.runners_up) == (6, 5, 7, (3,))
    assert found.sure == "fair"  # another number stands out as well


def test_a_count_comes_back_from_json_as_it_was() -> None:
    found = _counted(curve(1.0, 1.8, 1.3, 2.0, 1.2), low=2)
    assert read_count(json.loads(json.dumps(asdict(found)))) == found
    assert read_count(None) is None


def test_silhouette_agrees_with_a_case_computed_by_hand() -> None:
    points = np.array([[0.0], [2.0], [4.0]], dtype=np.float32)
    # Squared distances: of 0 to 2 it is 4, to 4 it is 16; of 2 to 0 it is 4, to 4 it is 4; 4 is alone in its cluster.
    assert silhouette(points, np.array([0, 0, 1])) == pytest.approx((12 / 16 + 0 + 0) / 3)
