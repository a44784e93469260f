"""The exported model that services of the tests serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from rstc import RSTC


@pytest.fixture(scope="session")
def exported(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export the model of the run, which loads without torch."""
    folder = tmp_path_factory.mktemp("served") / "exported"
    RSTC.load(finished_run / "model").export_onnx(folder)
    return folder
