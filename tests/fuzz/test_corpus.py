"""What fuzzing found once is read or refused for ever."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from targets import load_any, read_any, save_tiny_model

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("path", sorted((CORPUS / "readers").iterdir()), ids=lambda path: path.name)
def test_files(path: Path) -> None:
    read_any(path.read_bytes())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("fuzzed"))


@pytest.mark.parametrize("path", sorted((CORPUS / "models").iterdir()), ids=lambda path: path.name)
@pytest.mark.usefixtures("socket_disabled")
def test_models(path: Path, saved: Path) -> None:
    load_any(saved)(path.read_bytes())
