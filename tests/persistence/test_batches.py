"""All bits of a prediction depend on its text alone, in saved and in exported models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from rstc import RSTC, OnnxModel
from rstc.io.predictions import Assignment
from rstc.numerics.fixed_blocks import BLOCK_ROWS, multiply_rows
from rstc.representation.padding import ROW_MULTIPLE, split_by_length


@pytest.fixture(scope="module", params=["float32", "bfloat16", "onnx"])
def model(request: pytest.FixtureRequest, finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    model = RSTC.load(finished_run / "model", "cpu")
    if request.param == "onnx":
        folder = tmp_path_factory.mktemp("onnx") / "exported"
        model.export_onnx(folder)
        return OnnxModel(folder)
    model._fitted_model.network.encoder.precision = getattr(torch, request.param)
    return model


def take(assignment: Assignment, rows: list[int]) -> list[bytes]:
    """Return the bytes of everything that is predicted for some rows."""
    parts = (assignment.clusters, assignment.probabilities, assignment.embeddings, assignment.confidence)
    return [part[rows].tobytes() for part in parts]


def test_a_text_has_the_same_bits_whatever_the_batch(
    model: RSTC | OnnxModel, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts = [*texts_and_topics[0][: BLOCK_ROWS + 9], "late", "", "soup " * 20, "a refund, please", "!?"]
    together = model.assign(texts)
    for row in (0, 5, 17, len(texts) - 5, len(texts) - 4, len(texts) - 3, len(texts) - 1):
        assert take(model.assign([texts[row]]), [0]) == take(together, [row]), texts[row]
    order = np.random.default_rng(0).permutation(len(texts))[:37].tolist()
    assert take(model.assign([texts[row] for row in order]), list(range(37))) == take(together, order)


def test_batches_by_length_hold_each_text_and_a_multiple_of_rows() -> None:
    sequences = ["a" * length for length in (3, 1, 3, 2, 3, 1)]
    batches = split_by_length(sequences, max_tokens=24)
    assert all(len(batch) % ROW_MULTIPLE == 0 for batch in batches)
    assert [sorted(set(batch.tolist())) for batch in batches] == [[1, 5], [3], [0, 2, 4]]
    assert all(len({len(sequences[i]) for i in batch}) == 1 for batch in batches)
    assert split_by_length([]) == []


def test_a_row_has_the_same_product_at_every_place() -> None:
    rng = np.random.default_rng(0)
    X, W = (rng.normal(size=shape).astype(np.float32) for shape in ((40, 96), (96, 96)))
    order = rng.permutation(40)
    assert (multiply_rows(X, W)[order] == multiply_rows(X[order], W)).all()
    assert multiply_rows(X, W) == pytest.approx(X @ W, abs=1e-4)
