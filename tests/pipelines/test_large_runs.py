"""Runs with more texts than are searched for clusters, or than a page shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from rstc import RSTC, InputError
from rstc.pipelines.apply_edits import merge_to
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.pipelines.update import update_run
from rstc.representation.encoder import Encoder, TokenIds
from rstc.results.points import read_points

Data = tuple[list[str], list[str]]


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the number of texts of each call of an encoder."""
    counts: list[int] = []
    embed = Encoder.embed

    def count(encoder: Encoder, tokens: Sequence[TokenIds], *arguments: Any, **options: Any) -> torch.Tensor:
        counts.append(len(tokens))
        return embed(encoder, tokens, *arguments, **options)

    monkeypatch.setattr(Encoder, "embed", count)
    return counts


def test_texts_are_encoded_once_though_clusters_are_found_in_a_subsample(
    texts_and_topics: Data, tiny_encoder: str, encoded: list[int]
) -> None:
    texts, topics = texts_and_topics
    model = RSTC(4, encoder=tiny_encoder, max_fit_texts=80, random_state=0).fit(texts)
    assert [count for count in encoded if count > 1] == [120], "single texts are encoded again where clusters are tied"
    assert model.n_trained_ == 80
    assert model.predict(texts).tolist() == model.labels_.tolist()
    assert adjusted_rand_score(topics, model.labels_) > 0.5


def test_saved_model_of_a_large_run_predicts_its_labels(
    texts_and_topics: Data, tiny_encoder: str, tmp_path: Path
) -> None:
    settings = {"training": "auto", "max_fit_texts": 80, "random_state": 0}
    model = RSTC(4, encoder=tiny_encoder, **settings).fit(texts_and_topics[0])
    model.save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model").predict(texts_and_topics[0]).tolist() == model.labels_.tolist()


@pytest.fixture
def sampled_run(tickets: Path, tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cluster more texts than the page shows."""
    monkeypatch.setattr("rstc.pipelines.outputs.MAX_SHOWN", 40)
    monkeypatch.setattr("rstc.pipelines.outputs.MIN_SHOWN_PER_CLUSTER", 2)
    cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, text_column="text", settings={"encoder": tiny_encoder}))
    return tmp_path / "run"


def test_page_shows_a_sample_and_the_table_has_all_rows(sampled_run: Path) -> None:
    points, table = read_points(sampled_run), pd.read_csv(sampled_run / "clusters.csv")
    assert 40 <= len(points.texts) <= 48
    assert len(table) == 120
    assert set(points.clusters) == set(table["cluster"])
    assert table["text"][points.rows].tolist() == points.texts
    assert (sampled_run / "report.html").stat().st_size > 0


def test_run_that_shows_a_sample_cannot_be_corrected(sampled_run: Path) -> None:
    with pytest.raises(InputError, match=r"holds a sample of \d+ of its 120 texts"):
        merge_to(sampled_run, 2)


def test_run_that_shows_a_sample_is_updated(sampled_run: Path, tmp_path: Path) -> None:
    pd.DataFrame({"id": [1, 2], "text": ["my parcel is late", "a refund please"], "topic": ["", ""]}).to_csv(
        tmp_path / "new.csv", index=False
    )
    summary = update_run(sampled_run, str(tmp_path / "new.csv"))
    assert summary.input.n_texts == 122
    assert len(pd.read_csv(sampled_run / "clusters.csv")) == 122
