"""Altered checkpoints: damage is skipped with a warning, and what a checksum does not show is refused in a sentence."""

from __future__ import annotations

import os
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc import RSTC, InputError
from rstc.io.checkpoint_names import list_checkpoints
from rstc.training.checkpoint_file import read_checkpoint, write_checkpoint

pytestmark = pytest.mark.chaos("altered checkpoints")

VALUES = [None, "x", [], {}, -1, 10**30, 1e308, True, [[]], {"a": 1}]


@pytest.fixture(scope="module")
def settings(tiny_encoder: str) -> dict[str, Any]:
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 16, "kmeans_starts": 1}
    return settings | {"repeats": 0, "renewals": 2}


@pytest.fixture(scope="module")
def kept(
    settings: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, np.ndarray]:
    """The checkpoints of a run, and its labels."""
    folder = tmp_path_factory.mktemp("kept") / "checkpoints"
    model = RSTC(4, random_state=0, **settings).fit(texts_and_topics[0][:60], checkpoints=folder)
    return folder, model.labels_


def resume(folder: Path, settings: dict[str, Any], texts: list[str]) -> np.ndarray | str:
    """Fit with the checkpoints of a folder; return the labels, or the message of an InputError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return RSTC(4, random_state=0, **settings).fit(texts[:60], checkpoints=folder).labels_
        except InputError as problem:
            return str(problem)


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "a bit": lambda path: path.write_bytes(flip(path.read_bytes())),
    "missing": lambda path: path.unlink(),
}


def flip(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(content) // 2] ^= 4
    return bytes(changed)


@pytest.mark.parametrize("name", DAMAGE)
def test_the_same_result_follows_from_damaged_checkpoints(
    name: str,
    kept: tuple[Path, np.ndarray],
    settings: dict[str, Any],
    texts_and_topics: tuple[list[str], list[str]],
    tmp_path: Path,
) -> None:
    shutil.copytree(kept[0], tmp_path / "checkpoints")
    for path in list_checkpoints(tmp_path / "checkpoints"):
        DAMAGE[name](path)
    assert np.array_equal(resume(tmp_path / "checkpoints", settings, texts_and_topics[0]), kept[1])


@pytest.mark.parametrize("name", ["link", "pipe"])
def test_links_and_pipes_among_checkpoints_are_refused(
    name: str,
    kept: tuple[Path, np.ndarray],
    settings: dict[str, Any],
    texts_and_topics: tuple[list[str], list[str]],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "checkpoints"
    shutil.copytree(kept[0], folder)
    path = list_checkpoints(folder)[-1]
    shutil.move(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere") if name == "link" else os.mkfifo(path)
    said = resume(folder, settings, texts_and_topics[0])
    assert isinstance(said, str)
    assert "holds a link" in said or "neither a file nor a folder" in said


def alter(state: Any, rng: random.Random) -> None:
    """Replace or remove a value of a state."""
    parent, key = state, None
    while isinstance(parent, (dict, list)) and parent:
        key = rng.choice(list(parent) if isinstance(parent, dict) else list(range(len(parent))))
        if not isinstance(parent[key], (dict, list)) or not parent[key] or rng.random() < 0.3:
            break
        parent = parent[key]
    value = parent[key]
    if rng.random() < 0.2:
        del parent[key]
    elif hasattr(value, "shape") and rng.random() < 0.7:
        parent[key] = rng.choice([value[:1] if value.ndim else value, value * 0 - 1, value.reshape(-1)[:0]])
    else:
        parent[key] = rng.choice(VALUES)


@pytest.mark.parametrize("seed", [pytest.param(s, marks=() if s < 6 else pytest.mark.slow) for s in range(60)])
def test_a_state_that_does_not_fit_is_refused_or_harmless(
    seed: int,
    kept: tuple[Path, np.ndarray],
    settings: dict[str, Any],
    texts_and_topics: tuple[list[str], list[str]],
    tmp_path: Path,
) -> None:
    """The checksum is computed again, as somebody would who passes the folder on."""
    folder = tmp_path / "checkpoints"
    shutil.copytree(kept[0], folder)
    for path in list_checkpoints(folder):
        state, run = read_checkpoint(path)
        alter(state, random.Random(seed))
        write_checkpoint(path, state, run)
    found = resume(folder, settings, texts_and_topics[0])
    assert isinstance(found, str) or found.shape == kept[1].shape


def test_the_content_of_a_checkpoint_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "000001.checkpoint"
    for state in ([], {}, {"step": "x"}, {"step": None}):
        write_checkpoint(path, state, {})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="does not hold the state"):
            read_checkpoint(path)
