"""Labels from judges that have not seen them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest
from rstc.pseudo_labels import crossfit as module
from rstc.pseudo_labels.crossfit import Witnesses, crossfit, filled, judged


@pytest.fixture
def crowds() -> tuple[np.ndarray, np.ndarray]:
    """Points around three directions, 60 each, and which one they belong to."""
    rng = np.random.default_rng(0)
    E = np.concatenate([rng.normal(centre, 0.25, (60, 8)) for centre in np.eye(8)[:3]])
    return normalize(E).astype(np.float32), np.repeat([0, 1, 2], 60)


@pytest.mark.parametrize("neighbours", [0, 10])
def test_a_judgement_does_not_depend_on_the_text_s_own_label(
    crowds: tuple[np.ndarray, np.ndarray], neighbours: int
) -> None:
    E, truth = crowds
    near = nearest(E, None, neighbours) if neighbours else None
    X = csr_matrix(np.abs(E))
    fold = np.arange(180) % 3
    Q = np.eye(3, dtype=np.float32)[truth]
    before = judged(Witnesses(E, X, near), Q, fold)
    Q[0] = [0, 0, 1]
    after = judged(Witnesses(E, X, near), Q, fold)
    own = fold == fold[0]
    assert after[own] == pytest.approx(before[own], abs=1e-6), "nor on those of its fold"
    assert not np.allclose(after[~own], before[~own], atol=1e-6)


def test_embeddings_are_judged_as_linear_discriminant_analysis_does(crowds: tuple[np.ndarray, np.ndarray]) -> None:
    E, truth = crowds
    fold = np.arange(180) % 3
    fitted = module._discriminants(E, np.eye(3, dtype=np.float32)[truth], fold)
    for f, (weights, bias) in enumerate(fitted):
        reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1, priors=[1 / 3] * 3)
        expected = reference.fit(E[fold != f], truth[fold != f]).predict(E[fold == f])
        found = (E[fold == f] @ weights - bias).argmax(1)
        assert (found == expected).mean() > 0.95


def test_many_classes_of_few_texts_are_judged_by_what_is_near() -> None:
    rng = np.random.default_rng(0)
    centres = normalize(rng.normal(size=(60, 64)))
    truth = np.repeat(np.arange(60), 4)
    E = normalize(centres[truth] + 0.05 * rng.normal(size=(240, 64))).astype(np.float32)
    fold = np.tile(np.arange(3), 80)
    P = judged(Witnesses(E, None, None), np.eye(60, dtype=np.float32)[truth], fold)
    assert (P.argmax(1) == truth).mean() > 0.95


def test_words_judge_by_how_often_a_class_uses_them() -> None:
    X = csr_matrix(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32))
    Q = np.eye(2, dtype=np.float32)[[0, 0, 1, 1]]
    likelihoods = module._likelihoods(X, Q, np.array([0, 1, 0, 1]))[0]
    # the other fold has one text of each class, which has one word: (1 + 0.1) to (0 + 0.1) in 1.2
    assert likelihoods[0] == pytest.approx(np.log([1.1 / 1.2, 0.1 / 1.2]), abs=1e-6)


def test_rounds_mend_wrong_labels(crowds: tuple[np.ndarray, np.ndarray]) -> None:
    E, truth = crowds
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(180) < 0.3, rng.integers(3, size=180), truth)
    found = crossfit(Witnesses(E, None, nearest(E, None, 10)), noisy, 3, 0.5, 0.1, rounds=5, rng=rng)
    assert (noisy == truth).mean() < 0.85
    assert (found.labels == truth).mean() > 0.97
    assert found.agreement > 0.95


def test_class_sizes_are_found_not_assumed() -> None:
    rng = np.random.default_rng(0)
    sizes = [150, 40, 10]
    E = normalize(np.concatenate([rng.normal(c, 0.2, (n, 6)) for c, n in zip(np.eye(6)[:3], sizes, strict=True)]))
    truth = np.repeat([0, 1, 2], sizes)
    found = crossfit(Witnesses(E.astype(np.float32), None, None), truth, 3, 0.5, 0.01, rounds=5, rng=rng)
    assert np.bincount(found.labels).tolist() == pytest.approx(sizes, abs=4)
    assert found.transport.b == pytest.approx(np.array(sizes) / 200, abs=0.03)


def test_every_class_keeps_a_text() -> None:
    plan = np.array([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3], [0.9, 0.05, 0.05]])
    assert filled(plan).tolist() == [1, 2, 0]


def test_as_many_classes_as_texts_are_no_error() -> None:
    E = np.eye(3, dtype=np.float32)
    found = crossfit(Witnesses(E, None, None), np.array([0, 1, 2]), 3, 0.5, 0.1, rounds=2, rng=np.random.default_rng(0))
    assert sorted(found.labels) == [0, 1, 2]
