"""First labels for data of unknown shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from rstc.pseudo_labels import initialization as initial
from rstc.pseudo_labels.initialization import Recipe, first_labels
from rstc.pseudo_labels.words import read_words

AUTO = Recipe("auto", 10, True, True, words=1.0, neighbours=10, rounds=4, eps1=0.5, eps2="auto")


def _crowds(sizes: list[int], spread: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = np.eye(2 * len(sizes))[: len(sizes)]
    E = np.concatenate([rng.normal(c, spread, (n, 2 * len(sizes))) for c, n in zip(centres, sizes, strict=True)])
    return normalize(E).astype(np.float32), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("sizes", [[60] * 6, [300, 100, 40, 20, 15, 15]])
def test_even_and_uneven_crowds_are_found_alike(sizes: list[int]) -> None:
    E, truth = _crowds(sizes)
    for seed in range(3):
        found = first_labels(E, None, 6, replace(AUTO, words=0.0), np.random.default_rng(seed))
        assert adjusted_rand_score(truth, found.labels) > 0.95


def test_uneven_data_get_a_smaller_eps2() -> None:
    even, uneven = (
        first_labels(_crowds(sizes)[0], None, 4, replace(AUTO, words=0.0), np.random.default_rng(0)).eps2
        for sizes in ([60] * 4, [200, 30, 15, 15])
    )
    assert even > 10 * uneven


def test_words_decide_where_the_encoder_cannot() -> None:
    texts = ["parcel late again", "refund not paid"] * 40
    E = normalize(np.random.default_rng(0).normal(size=(80, 6))).astype(np.float32)  # knows nothing
    rng = np.random.default_rng(0)
    found = first_labels(E, read_words(texts, rng), 2, replace(AUTO, neighbours=20), rng)
    assert adjusted_rand_score([0, 1] * 40, found.labels) > 0.9


@pytest.mark.parametrize("start", ["kmeans", "linkage"])
def test_a_named_start_is_taken(start: str) -> None:
    E, _ = _crowds([60] * 3)
    assert first_labels(E, None, 3, replace(AUTO, start=start), np.random.default_rng(0)).start == start


def test_without_rounds_the_start_is_taken_as_it_is() -> None:
    E, _ = _crowds([50, 30])
    found = first_labels(E, None, 2, replace(AUTO, start="kmeans", rounds=0), np.random.default_rng(0))
    assert found.agreement is None
    assert found.b == pytest.approx(np.bincount(found.labels) / 80)


def test_same_generator_state_gives_the_same_labels() -> None:
    E, _ = _crowds([40] * 4, spread=0.6)
    first, second = (first_labels(E, None, 4, AUTO, np.random.default_rng(1)).labels for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_clusters", [2, 7])
def test_few_texts_are_no_error(n_clusters: int) -> None:
    texts = ["late parcel", "where is my parcel", "refund", "refund please", "login fails", "cannot login", "hello"]
    E = normalize(np.random.default_rng(0).normal(size=(7, 6))).astype(np.float32)
    rng = np.random.default_rng(0)
    assert len(set(first_labels(E, read_words(texts, rng), n_clusters, AUTO, rng).labels)) == n_clusters


def test_labels_from_before_stay_if_nothing_better_is_found() -> None:
    E, truth = _crowds([300, 100, 40, 20, 15, 15])
    even = replace(AUTO, words=0.0, start="kmeans", swaps=False, kmeans_starts=1)  # cuts the largest crowd in pieces
    found = first_labels(E, None, 6, even, np.random.default_rng(3), before=truth)
    assert found.start == "before"
    assert adjusted_rand_score(truth, found.labels) > 0.95


def test_labels_from_before_go_if_something_better_is_found() -> None:
    E, truth = _crowds([60] * 6)
    before = np.random.default_rng(0).permutation(truth)
    found = first_labels(E, None, 6, replace(AUTO, words=0.0), np.random.default_rng(0), before=before)
    assert found.start != "before"
    assert adjusted_rand_score(truth, found.labels) > 0.95


def test_linkage_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    E, truth = _crowds([300, 100, 40, 20, 15, 15])
    monkeypatch.setattr(initial, "linkage_labels", lambda *_: pytest.fail("linkage found labels anew"))
    for start in ("auto", "linkage"):
        first_labels(E, None, 6, replace(AUTO, words=0.0, start=start), np.random.default_rng(0), before=truth)
