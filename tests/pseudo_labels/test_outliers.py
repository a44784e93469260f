"""Texts that belong nowhere: told from the others, by a model and by the model that was saved."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError
from rstc.pipelines.apply_edits import apply_edits
from rstc.pipelines.predict import predict_file
from rstc.representation.loading import load_encoder
from rstc.results.edits import Log, write_log
from rstc.results.corrected_run import RunNow
from rstc.pipelines.cluster import cluster_file
from rstc.pseudo_labels.outliers import Strangers, cut_at, know_strangers, share_at_home


def at_home(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.norm(np.maximum(rng.standard_normal((n, 2)), 0), axis=1)


def test_the_fall_of_strangeness_is_that_of_random_numbers() -> None:
    drawn = at_home(200_000, np.random.default_rng(0))
    for strangeness in (0.3, 1.0, 2.0, 3.0):
        assert share_at_home(np.array([strangeness]))[0] == pytest.approx((drawn <= strangeness).mean(), abs=0.003)


def test_about_as_many_strangers_are_left_as_was_said() -> None:
    rng = np.random.default_rng(1)
    strange = np.arange(21_000) >= 20_000
    S = np.concatenate([at_home(20_000, rng), rng.normal(3.5, 0.7, 1_000)])
    left = []
    for share in (0.02, 0.01, 0.005):
        cut, expected = cut_at(S, share)
        aside = cut < S
        left.append((strange & ~aside).sum() / (~aside).sum())
        assert expected <= share
        assert left[-1] < share + 0.015
        assert aside[~strange].mean() < 0.05
    assert left[0] > left[1] > left[2], "the less may be left, the more are put aside"


def test_where_all_are_at_home_nobody_is_put_aside() -> None:
    S = at_home(20_000, np.random.default_rng(2))
    cut, left = cut_at(S, 0.01)
    assert cut == np.inf
    assert left < 0.01


@pytest.mark.parametrize("strangeness", [np.zeros(10), np.ones(10), np.array([3.0]), np.array([0.0, 0, 0, 9])])
def test_the_cut_of_few_or_equal_numbers_is_a_number(strangeness: np.ndarray) -> None:
    cut, left = cut_at(strangeness, 0.01)
    assert not np.isnan(cut)
    assert 0 <= left <= 1


def test_far_away_and_unheard_of_are_strange() -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat([0, 1], 200)
    E = np.where(clusters[:, None] == 0, [1.0, 0, 0], [0, 1.0, 0]) + 0.1 * rng.standard_normal((400, 3))
    texts = [" ".join(rng.choice(["late", "parcel", "where", "is", "it", "again"], 4)) for _ in clusters]
    known = know_strangers(E.astype(np.float32), clusters, texts, 0.01)
    near, far = np.array([[1.0, 0, 0]], dtype=np.float32), np.array([[0, 0, 1.0]], dtype=np.float32)
    usual, odd = ["late parcel again"], ["quantum chromodynamics"]
    assert known.strangeness(near, usual)[0] < 1
    assert known.strangeness(far, usual)[0] > 5
    assert known.strangeness(near, odd)[0] > 3
    assert known.strangeness(near, ["!?"])[0] < 1, "no word says nothing"
    again = Strangers.of_arrays(known.to_arrays(), 3)
    assert again.strangeness(far, odd) == pytest.approx(known.strangeness(far, odd))
    with pytest.raises(InputError, match="does not fit"):
        Strangers.of_arrays(known.to_arrays(), 4)


@pytest.fixture(scope="module")
def mixed() -> tuple[list[str], np.ndarray]:
    """Return the bundled sample with strangers behind it, and which they are."""
    sample = resources.files("rstc.samples") / "customer_messages.csv"
    home = pd.read_csv(str(sample))["text"].tolist()
    rng = np.random.default_rng(0)
    vocabulary = load_encoder(None, "mean", 32).model.tokenizer.get_vocab()
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2)
    strange = [" ".join(rng.choice(words, 7)) for _ in range(12)]
    strange += ["".join(rng.choice(list("bcdfghjklmnpqrstvwxz  "), 40)) for _ in range(12)]
    return home + strange, np.arange(len(home) + 24) >= len(home)


def test_strangers_among_real_texts_are_found_by_the_real_encoder(
    mixed: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    texts, strange = mixed
    model = RSTC(10, noise=0.005, random_state=0, trainable_layers=0).fit(texts)
    aside = model.labels_ == -1
    assert aside[strange].mean() >= 0.8
    assert aside[~strange].mean() < 0.05
    assert (model.predict(texts) == model.labels_).all()
    model.save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    assert (loaded.predict(texts) == model.labels_).all()
    assert (model.merge_to(4).predict(texts) == -1).tolist() == aside.tolist()
    new = ["where is my parcel?", "trombone lava glacier quartz enzyme orbit"]
    assert (loaded.predict(new) == -1).tolist() == [False, True]
    assert loaded.predict_proba(new).sum(1) == pytest.approx([1, 1]), "what it is most like can still be asked"


@pytest.fixture
def noisy_run(tiny_encoder: str, quick: dict[str, Any], tickets: Path, tmp_path: Path) -> Path:
    """Return a run over tickets, of which some are strange and one is missing."""
    table = pd.read_csv(tickets)
    odd = pd.DataFrame({"text": ["zzz qqq xxx www", "vvv kkk jjj hhh", None]})
    pd.concat([table, odd]).to_csv(tmp_path / "mixed.csv", index=False)
    cluster_file(str(tmp_path / "mixed.csv"), tmp_path / "run", 4, settings=quick | {"noise": 0.001})
    return tmp_path / "run"


@pytest.mark.filterwarnings("ignore::rstc.MissingTextWarning")
def test_a_run_writes_strangers_as_noise_and_can_be_corrected(noisy_run: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(noisy_run / "clusters.csv")
    assert (rows["cluster"].iloc[120:122] == -1).all()
    assert np.isnan(rows["cluster"].iloc[122])
    assert rows["confidence"].isna().tolist() == (~(rows["cluster"] >= 0)).tolist()
    run = RunNow.read(noisy_run)
    aside = int((rows["cluster"] == -1).sum())
    assert run.summary["noise"]["texts"] == aside
    assert sum(one["size"] for one in run.entries()) == 122 - aside
    assert predict_file(noisy_run, str(tmp_path / "mixed.csv"), tmp_path / "again.csv") == (123, 122)
    assert pd.read_csv(tmp_path / "again.csv")["cluster"].equals(rows["cluster"])

    write_log(noisy_run, Log(({"do": "merge", "cluster": 1, "into": 0},)))
    merged = apply_edits(noisy_run)
    assert (merged.clusters == -1).sum() == aside
    write_log(noisy_run, Log(({"do": "move", "rows": [120], "into": 2},)))
    moved = apply_edits(noisy_run)
    assert moved.clusters[120] == 2
    two = next(one for one in moved.entries() if one["cluster"] == 2)
    assert two["estimated_share"] is None
    assert pd.read_csv(noisy_run / "clusters.csv")["cluster"].iloc[120] == 2
