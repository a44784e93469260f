"""The model folder: open formats, every file checked, no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc import RSTC, InputError


@pytest.fixture(scope="module")
def saved(texts_and_topics: tuple[list[str], list[str]], tiny_encoder: str, tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 32, "kmeans_starts": 1}
    RSTC(4, random_state=0, **settings).fit(texts_and_topics[0]).save(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(saved, tmp_path / "copy"))


def test_encoder_opens_in_sentence_transformers(saved: Path) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(saved / "encoder"), device="cpu").encode(
        ["parcel late"], show_progress_bar=False
    )
    assert RSTC.load(saved).transform(["parcel late"]) == pytest.approx(
        np.asarray(expected),
        abs=1e-3,  # RSTC rounds the output of the frozen layers to half precision, as in training
    )


def test_heads_are_safetensors_and_the_rest_is_json(saved: Path) -> None:
    from safetensors import safe_open

    with safe_open(saved / "heads.safetensors", framework="numpy") as heads:
        assert {name.split(".")[0] for name in heads.keys()} == {"cluster_head", "projector"}  # noqa: SIM118
    assert json.loads((saved / "model.json").read_text())["format_version"] == 2
    kinds = {path.suffix for path in saved.rglob("*") if path.is_file()}
    assert kinds <= {".json", ".safetensors", ".txt", ".md"}


def test_all_files_have_the_same_permissions(saved: Path) -> None:
    assert len({path.stat().st_mode for path in saved.rglob("*") if path.is_file()}) == 1


def test_loading_and_predicting_opens_no_socket(saved: Path, socket_disabled: None) -> None:
    assert RSTC.load(saved).predict(["parcel late"]).shape == (1,)


@pytest.mark.parametrize("name", ["heads.safetensors", "encoder/model.safetensors", "encoder/tokenizer.json"])
def test_missing_file_is_reported(name: str, copy: Path) -> None:
    (copy / name).unlink()
    with pytest.raises(InputError, match=f"incomplete: {name} is missing"):
        RSTC.load(copy)


@pytest.mark.parametrize("name", ["heads.safetensors", "encoder/model.safetensors", "encoder/config.json"])
def test_altered_file_is_reported(name: str, copy: Path) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(InputError, match=f"altered: {name}"):
        RSTC.load(copy)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 10**5, "is not JSON"),
        ("[]", "not the description of a model"),
        ('{"format_version": 99}', "format version 99"),
        ('{"format_version": 2, "checksum": "0"}', "altered: model.json"),
    ],
)
def test_invalid_description_is_reported(content: str, message: str, copy: Path) -> None:
    (copy / "model.json").write_text(content)
    with pytest.raises(InputError, match=message):
        RSTC.load(copy)


def test_folder_without_a_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no model in .*: model\.json is missing"):
        RSTC.load(tmp_path)


def test_saving_replaces_only_saved_models(saved: Path, copy: Path, tmp_path: Path) -> None:
    model = RSTC.load(saved)
    model.save(copy)
    assert RSTC.load(copy).predict(["parcel"]).shape == (1,)
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_bytes(b"meow")
    for name in ("cat.jpg", "model.json"):
        (other / name).write_bytes(b"meow")
        with pytest.raises(InputError, match="is not a saved model"):
            model.save(other)
        assert (other / "cat.jpg").read_bytes() == b"meow"
    (copy / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not a saved model"):
        model.save(copy)


def test_failed_save_leaves_no_files(saved: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rstc.persistence.model_folder as module

    model = RSTC.load(saved)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}

    def full_disk(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "save_file", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        model.save(copy)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_the_card_says_how_the_model_was_made(saved: Path) -> None:
    card = (saved / "README.md").read_text(encoding="utf-8")
    description = json.loads((saved / "model.json").read_text())
    assert card.startswith("---\nlibrary_name: rstc\n")
    assert f"# {description['n_clusters']} clusters of short texts" in card
    assert f"| texts | {description['facts']['n_texts']:,}" in card
    assert description["versions"]["torch"] in card
    assert "- batch_size: " in card


def test_hub_name_is_looked_up_in_the_local_cache(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, socket_disabled: None
) -> None:
    import huggingface_hub.constants

    commit = "0" * 40
    home = tmp_path / "models--somebody--clusters"
    (home / "blobs").mkdir(parents=True)
    for number, path in enumerate(sorted(path for path in saved.rglob("*") if path.is_file())):
        link = home / "snapshots" / commit / path.relative_to(saved)  # the layout of the hub's cache
        link.parent.mkdir(parents=True, exist_ok=True)
        (home / "blobs" / str(number)).write_bytes(path.read_bytes())
        link.symlink_to(home / "blobs" / str(number))
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("rstc.runtime.hub.is_hub_reachable", lambda: False)
    texts = ["late parcel", "reset password"]
    assert RSTC.load("hub:somebody/clusters").predict(texts).tolist() == RSTC.load(saved).predict(texts).tolist()
    with pytest.raises(InputError, match="not a model that the hub could provide"):
        RSTC.load("hub:somebody/else")


def test_a_missing_folder_is_never_looked_up_on_the_hub(socket_disabled: None) -> None:
    with pytest.raises(InputError, match=r"there is no model in runs/last.*; a model on the hub is hub:NAME"):
        RSTC.load("runs/last")
