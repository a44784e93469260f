"""Model and run folders that version 0.1.0 wrote open in this version and give the same answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rstc import RSTC
from rstc.pipelines.apply_edits import apply_edits
from rstc.results.corrected_run import CorrectedRun

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "predictions-0.1.0.json").read_text())


def test_saved_model_predicts_as_it_did() -> None:
    model = RSTC.load(DATA / "model-0.1.0")
    np.testing.assert_allclose(model.predict_proba(EXPECTED["texts"]), EXPECTED["model"], atol=2e-3)
    assert model.outlier_detector_ is not None


def test_corrected_run_shows_its_clusters_and_predicts_as_it_did() -> None:
    run = CorrectedRun.read(DATA / "run-0.1.0")
    names = {entry.cluster: entry.name for entry in run.entries()}
    assert names[0] == "late parcels"
    assert 3 not in names
    assert RSTC.load(DATA / "run-0.1.0/model").predict(EXPECTED["texts"]).tolist() == EXPECTED["run"]


@pytest.mark.parametrize("undo", [False, True])
def test_corrections_can_be_undone_and_applied_again(tmp_path: Path, undo: bool) -> None:
    folder = tmp_path / "run"
    shutil.copytree(DATA / "run-0.1.0", folder)
    run = CorrectedRun.read(folder)
    if undo:
        run.undo()
        run.save(folder)
    apply_edits(folder)
    assert RSTC.load(folder / "model").n_clusters_ == 4
    assert set(np.unique(CorrectedRun.read(folder).clusters)) == ({0, 1, 2, 3} if undo else {0, 1, 2})
