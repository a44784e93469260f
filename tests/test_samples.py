"""The bundled sample and the real encoder: what the demo promises."""

from __future__ import annotations

import hashlib
import runpy
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import normalize

from rstc import RSTC
from rstc.metrics import evaluate
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.representation.loading import load_encoder

SAMPLE = resources.files("rstc.samples") / "customer_messages.csv"
SCRIPT = Path(__file__).parent.parent / "tools" / "make_sample_columns.py"


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    with resources.as_file(SAMPLE) as path:
        return pd.read_csv(path)


def test_the_sample_is_imbalanced_and_untidy(sample: pd.DataFrame) -> None:
    sizes = sample["topic"].value_counts()
    assert len(sample) >= 400
    assert len(sizes) == 10
    assert sizes.max() >= 15 * sizes.min()
    assert sample["text"].duplicated().any()
    assert sample["text"].str.contains(r"[\U0001F300-\U0001FAFF]").any()
    assert sample["text"].str.split().str.len().median() <= 15


def test_texts_are_those_that_results_in_the_documents_are_of(sample: pd.DataFrame) -> None:
    checksum = hashlib.sha256("\x1f".join(sample["text"]).encode()).hexdigest()
    assert checksum == "9ac2da049602078436f65451f11aee57e7c3a17004717516d00de14b3d682ce0"


def test_the_script_writes_the_same_dates_and_channels_again(sample: pd.DataFrame, tmp_path: Path) -> None:
    copied = tmp_path / "sample.csv"
    shutil.copy(str(SAMPLE), copied)
    write_columns = runpy.run_path(str(SCRIPT))["write_columns"]
    write_columns(copied)
    assert copied.read_bytes() == SAMPLE.read_bytes()
    sample[["id", "text", "topic"]].to_csv(copied, index=False)
    write_columns(copied)
    assert copied.read_bytes() == SAMPLE.read_bytes()


def test_dates_and_channels_have_the_structure_that_the_script_gives_them(sample: pd.DataFrame) -> None:
    assert sample.columns.tolist() == ["id", "text", "topic", "date", "channel"]
    days = pd.to_datetime(sample["date"], format="%Y-%m-%d")
    assert days.between("2026-03-02", "2026-08-30").all()
    assert days.dt.to_period("W-SUN").nunique() == 26
    assert set(sample["channel"]) == {"app", "email", "web chat", "phone notes"}
    is_late = days >= pd.Timestamp("2026-06-01")
    late = is_late.groupby(sample["topic"]).mean()
    assert late["refund_missing"] > 0.7
    assert days[sample["topic"] == "gift_card"].min() > days.max() - pd.Timedelta(weeks=6)
    others = late.drop(["refund_missing", "gift_card"])
    assert others.between(0.3, 0.7).all()
    in_app = (sample["channel"] == "app").groupby(sample["topic"]).mean()
    assert in_app["app_broken"] > 2 * (sample["channel"] == "app").mean()


@pytest.fixture(scope="module")
def fitted(sample: pd.DataFrame) -> list[RSTC]:
    """Fit the default with three seeds: on so few texts, one may be lucky."""
    return [RSTC(10, random_state=seed).fit(sample["text"]) for seed in range(3)]


def test_default_is_about_as_good_as_kmeans_on_a_few_hundred_texts(sample: pd.DataFrame, fitted: list[RSTC]) -> None:
    topics = sample["topic"].tolist()
    found = [evaluate(topics, model.labels_.tolist()) for model in fitted]
    encoder = load_encoder(None, "mean", 32, "cpu")
    E = normalize(encoder.embed(encoder.tokenize(sample["text"].tolist())).numpy())
    starts = [fit_kmeans(E, 10, np.random.default_rng(seed), 10).labels.tolist() for seed in range(5)]
    kmeans = [evaluate(topics, labels) for labels in starts]
    for name in ("acc", "nmi", "ari"):
        difference = np.mean([getattr(scores, name) for scores in found]) - np.mean([getattr(s, name) for s in kmeans])
        assert difference > -0.06, f"{name} is lower than that of k-means by more than the spread of seeds"
    assert all(scores.n_clusters == 10 for scores in found)
    assert max(scores.acc for scores in kmeans) < 0.85, "the sample is too easy"


def test_the_real_encoder_gives_one_text_the_cluster_it_has_in_a_batch(
    sample: pd.DataFrame, fitted: list[RSTC]
) -> None:
    model, texts = fitted[0], sample["text"].tolist()
    assert model.predict(texts).tolist() == model.labels_.tolist()
    assert [model.predict([text])[0] for text in texts[:60]] == model.labels_[:60].tolist()


@pytest.mark.slow
def test_two_processes_with_the_real_encoder_write_the_same_bytes(sample: pd.DataFrame, tmp_path: Path) -> None:
    sample.head(120).to_csv(tmp_path / "messages.csv", index=False)
    command = [sys.executable, "-m", "rstc", "cluster", "messages.csv", "-k", "5", "-o"]
    for name in ("a", "b"):
        subprocess.run([*command, name], check=True, capture_output=True, timeout=300, cwd=tmp_path)
    assert (tmp_path / "a" / "clusters.csv").read_bytes() == (tmp_path / "b" / "clusters.csv").read_bytes()
