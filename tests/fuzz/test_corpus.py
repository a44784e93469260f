"""Inputs that fuzzing found are read, or refused with an InputError."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from targets import fuzz_reader, make_model_fuzzer, save_tiny_model

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("path", sorted((CORPUS / "readers").iterdir()), ids=lambda path: path.name)
def test_file_of_the_corpus_is_read_or_refused(path: Path) -> None:
    fuzz_reader(path.read_bytes())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("fuzzed"))


@pytest.mark.parametrize("path", sorted((CORPUS / "models").iterdir()), ids=lambda path: path.name)
@pytest.mark.usefixtures("socket_disabled")
def test_model_of_the_corpus_is_loaded_or_refused(path: Path, saved: Path) -> None:
    make_model_fuzzer(saved)(path.read_bytes())
