"""Outliers: their scores and threshold, and how models, saved models and runs treat them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError
from rstc.pipelines.apply_edits import apply_edits
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.predict import predict_file
from rstc.pipelines.request import RunRequest
from rstc.pseudo_labels.outliers import OutlierDetector, choose_threshold, fit_outlier_detector, inlier_cdf
from rstc.representation.loading import load_encoder
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import EditLog, write_log


def draw_inlier_scores(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.norm(np.maximum(rng.standard_normal((n, 2)), 0), axis=1)


def test_inlier_cdf_is_that_of_positive_parts_of_normal_variables() -> None:
    scores = draw_inlier_scores(200_000, np.random.default_rng(0))
    for x in (0.3, 1.0, 2.0, 3.0):
        assert inlier_cdf(np.array([x]))[0] == pytest.approx((scores <= x).mean(), abs=0.003)


def test_about_the_expected_share_of_outliers_remains() -> None:
    rng = np.random.default_rng(1)
    is_outlier = np.arange(21_000) >= 20_000
    scores = np.concatenate([draw_inlier_scores(20_000, rng), rng.normal(3.5, 0.7, 1_000)])
    remaining = []
    for share in (0.02, 0.01, 0.005):
        threshold, expected = choose_threshold(scores, share)
        is_flagged = threshold < scores
        remaining.append((is_outlier & ~is_flagged).sum() / (~is_flagged).sum())
        assert expected <= share
        assert remaining[-1] < share + 0.015
        assert is_flagged[~is_outlier].mean() < 0.05
    assert remaining[0] > remaining[1] > remaining[2], "the smaller the share, the more are flagged"


def test_without_outliers_nothing_is_flagged() -> None:
    threshold, expected = choose_threshold(draw_inlier_scores(20_000, np.random.default_rng(2)), 0.01)
    assert threshold == np.inf
    assert expected < 0.01


@pytest.mark.parametrize("scores", [np.zeros(10), np.ones(10), np.array([3.0]), np.array([0.0, 0, 0, 9])])
def test_threshold_of_few_or_equal_scores_is_a_number(scores: np.ndarray) -> None:
    threshold, expected = choose_threshold(scores, 0.01)
    assert not np.isnan(threshold)
    assert 0 <= expected <= 1


def test_distant_embeddings_and_rare_words_score_high() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    E = np.where(labels[:, None] == 0, [1.0, 0, 0], [0, 1.0, 0]) + 0.1 * rng.standard_normal((400, 3))
    texts = [" ".join(rng.choice(["late", "parcel", "where", "is", "it", "again"], 4)) for _ in labels]
    detector = fit_outlier_detector(E.astype(np.float32), labels, texts, 0.01)
    near, far = np.array([[1.0, 0, 0]], dtype=np.float32), np.array([[0, 0, 1.0]], dtype=np.float32)
    usual, rare = ["late parcel again"], ["quantum chromodynamics"]
    assert detector.outlier_score(near, usual)[0] < 1
    assert detector.outlier_score(far, usual)[0] > 5
    assert detector.outlier_score(near, rare)[0] > 3
    assert detector.outlier_score(near, ["!?"])[0] < 1, "a text without words is scored by its distance alone"
    on_disk = {"axes", "centres", "rarity", "middle", "spread", "aside", "cut", "left"}
    assert set(detector.to_arrays()) == on_disk, "as models of 0.1.0 have them"
    restored = OutlierDetector.from_arrays(detector.to_arrays(), 3)
    assert restored.outlier_score(far, rare) == pytest.approx(detector.outlier_score(far, rare))
    with pytest.raises(InputError, match="does not fit"):
        OutlierDetector.from_arrays(detector.to_arrays(), 4)


def test_the_old_name_of_the_expected_share_still_works() -> None:
    labels, texts = np.repeat([0, 1], 10), ["late parcel"] * 20
    detector = fit_outlier_detector(np.eye(2, dtype=np.float32)[labels], labels, texts, 0.01)
    with pytest.warns(DeprecationWarning, match="expected_outlier_share"):
        assert detector.left == detector.expected_outlier_share


@pytest.fixture(scope="module")
def mixed() -> tuple[list[str], np.ndarray]:
    """Return the bundled sample followed by outliers, and which texts are outliers."""
    sample = resources.files("rstc.samples") / "customer_messages.csv"
    inliers = pd.read_csv(str(sample))["text"].tolist()
    rng = np.random.default_rng(0)
    vocabulary = load_encoder(None, "mean", 32).model.tokenizer.get_vocab()
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2)
    outliers = [" ".join(rng.choice(words, 7)) for _ in range(12)]
    outliers += ["".join(rng.choice(list("bcdfghjklmnpqrstvwxz  "), 40)) for _ in range(12)]
    return inliers + outliers, np.arange(len(inliers) + 24) >= len(inliers)


def test_outliers_among_real_texts_are_found_with_the_real_encoder(
    mixed: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    texts, is_outlier = mixed
    model = RSTC(10, noise=0.005, random_state=0, trainable_layers=0).fit(texts)
    is_flagged = model.labels_ == -1
    assert is_flagged[is_outlier].mean() >= 0.8
    assert is_flagged[~is_outlier].mean() < 0.05
    assert (model.predict(texts) == model.labels_).all()
    model.save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    assert (loaded.predict(texts) == model.labels_).all()
    assert (model.merge_to(4).predict(texts) == -1).tolist() == is_flagged.tolist()
    new = ["where is my parcel?", "trombone lava glacier quartz enzyme orbit"]
    assert (loaded.predict(new) == -1).tolist() == [False, True]
    assert loaded.predict_proba(new).sum(1) == pytest.approx([1, 1]), "outliers have probabilities, too"


@pytest.fixture
def noisy_run(tiny_encoder: str, quick: dict[str, Any], tickets: Path, tmp_path: Path) -> Path:
    """Return a run over tickets with two outliers and a row without text."""
    table = pd.read_csv(tickets)
    added = pd.DataFrame({"text": ["zzz qqq xxx www", "vvv kkk jjj hhh", None]})
    pd.concat([table, added]).to_csv(tmp_path / "mixed.csv", index=False)
    cluster_file(RunRequest(str(tmp_path / "mixed.csv"), tmp_path / "run", 4, settings=quick | {"noise": 0.001}))
    return tmp_path / "run"


@pytest.mark.filterwarnings("ignore::rstc.MissingTextWarning")
def test_a_run_writes_outliers_as_noise_and_can_be_corrected(noisy_run: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(noisy_run / "clusters.csv")
    assert (rows["cluster"].iloc[120:122] == -1).all()
    assert np.isnan(rows["cluster"].iloc[122])
    assert rows["confidence"].isna().tolist() == (~(rows["cluster"] >= 0)).tolist()
    run = CorrectedRun.read(noisy_run)
    n_outliers = int((rows["cluster"] == -1).sum())
    assert run.summary.outliers.n_texts == n_outliers
    assert sum(entry.size for entry in run.entries()) == 122 - n_outliers
    assert predict_file(noisy_run, str(tmp_path / "mixed.csv"), tmp_path / "again.csv") == (123, 122)
    assert pd.read_csv(tmp_path / "again.csv")["cluster"].equals(rows["cluster"])

    write_log(noisy_run, EditLog(({"do": "merge", "cluster": 1, "into": 0},)))
    merged = apply_edits(noisy_run)
    assert (merged.clusters == -1).sum() == n_outliers
    write_log(noisy_run, EditLog(({"do": "move", "rows": [120], "into": 2},)))
    moved = apply_edits(noisy_run)
    assert moved.clusters[120] == 2
    two = next(entry for entry in moved.entries() if entry.cluster == 2)
    assert two.estimated_share is None
    assert pd.read_csv(noisy_run / "clusters.csv")["cluster"].iloc[120] == 2
