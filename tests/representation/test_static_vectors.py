"""Static word vectors: SIF by hand, the bundled files, and folders of other vectors."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from rstc.errors import InputError
from rstc.representation import package_files, static_vectors
from rstc.representation.static_vectors import load_static_vectors, remove_common_component


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with vectors of four words."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "late": 1, "parcel": 2, "refund": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_file({"embeddings": np.eye(4, dtype=np.float32)}, tmp_path / "model.safetensors")
    return tmp_path


def test_frequent_words_count_less(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_vectors, "remove_common_component", lambda E, processes: E)
    E = load_static_vectors(str(folder)).embed(["late parcel", "late", "late refund"])
    # late is three of five tokens, parcel and refund one each: a / (a + p) with a = 0.01.
    late, parcel = 0.01 / 0.61, 0.01 / 0.21
    expected = np.array([0, late, parcel, 0]) / np.hypot(late, parcel)
    assert E[0] == pytest.approx(expected, abs=1e-6)
    assert E[1].tolist() == [0, 1, 0, 0]


def test_rows_have_length_one_or_zero(folder: Path) -> None:
    E = load_static_vectors(str(folder)).embed(["late parcel", "", "refund", "late refund", "parcel"])
    assert np.linalg.norm(E, axis=1) == pytest.approx([1, 0, 1, 1, 1])


def test_common_component_is_removed() -> None:
    rng = np.random.default_rng(0)
    E = rng.normal(size=(200, 1)) @ np.array([[10.0, 0, 0]]) + rng.normal(size=(200, 3)) + 5
    cleaned = remove_common_component(E.astype(np.float32))
    assert cleaned.mean(0) == pytest.approx(np.zeros(3), abs=1e-4)
    assert cleaned[:, 0].std() < 0.2 < cleaned[:, 1].std()


def test_nearest_text_by_the_bundled_vectors_is_mostly_of_the_same_topic() -> None:
    table = pd.read_csv(str(importlib.resources.files("rstc.samples") / "customer_messages.csv"))
    E = load_static_vectors("bundled").embed(table["text"].tolist())
    assert E.shape == (465, 256)
    similarity = E @ E.T
    np.fill_diagonal(similarity, -1)
    topics = table["topic"].to_numpy()
    assert (topics[similarity.argmax(1)] == topics).mean() > 0.6


def test_altered_bundled_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_files, "sha256", lambda path: "0" * 64)
    with pytest.raises(InputError, match="sha256 0000"):
        load_static_vectors("bundled")


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_not_found(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", raise_not_found)
    with pytest.raises(InputError, match="pip install wordllama, or set static=0"):
        load_static_vectors("bundled")


def test_folders_without_vectors_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder with"):
        load_static_vectors(str(tmp_path / "missing"))
    save_file({"embeddings": np.eye(2, 4, dtype=np.float32)}, folder / "model.safetensors")
    with pytest.raises(InputError, match="a finite vector for each of 4 tokens"):
        load_static_vectors(str(folder))
    (folder / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(InputError, match="does not hold static vectors"):
        load_static_vectors(str(folder))
