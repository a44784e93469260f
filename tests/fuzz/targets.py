"""Fuzz targets: functions of bytes that give a result or an InputError, and have no other effect."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.io.atomic import compute_checksum, sha256
from rstc.io.columns import extract_texts, find_text_column
from rstc.io.formats import SUFFIXES, read_table
from rstc.persistence.model_files import list_files

FIRST_FORMATS = ["csv", "tsv", "jsonl", "parquet", "txt", "json", "xlsx", "csv.gz"]  # by the first byte of the corpus
FORMATS = FIRST_FORMATS + [format for format in SUFFIXES if format not in FIRST_FORMATS]
# Files of a model folder that are replaced: the description, the heads, and the files that the encoder is loaded from.
MODEL_FILES = [
    "model.json",
    "heads.safetensors",
    "encoder/config.json",
    "encoder/modules.json",
    "encoder/1_Pooling/config.json",
]
MODEL_FILES += ["encoder/tokenizer_config.json", "encoder/sentence_bert_config.json", "encoder/model.safetensors"]
FORBIDDEN = ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "pickle.find_class", "urllib.Request")


class ForbiddenError(Exception):
    """Raised when data would make the process run code or open a socket."""


def forbid_side_effects() -> None:
    """Raise a ForbiddenError, from here on, when code would be run or a socket opened."""

    def audit(event: str, _: object) -> None:
        if event in FORBIDDEN:
            raise ForbiddenError(event)

    sys.addaudithook(audit)


def fuzz_reader(content: bytes) -> None:
    """Read a file as a run does; the first byte chooses its format."""
    if not content:
        return
    format = FORMATS[content[0] % len(FORMATS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{SUFFIXES[format]}"
        path.write_bytes(content[1:])
        try:
            table = read_table(str(path), format)
            extract_texts(table, find_text_column(table))
        except InputError:
            pass


def make_model_fuzzer(saved: Path) -> Callable[[bytes], None]:
    """Return a function that loads a model with one file replaced; the first byte chooses file and checksums."""

    def load(content: bytes) -> None:
        if not content:
            return
        name, has_valid_checksum = MODEL_FILES[content[0] % len(MODEL_FILES)], content[0] >= 128
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model"
            shutil.copytree(saved, model)
            (model / name).write_bytes(content[1:])
            if has_valid_checksum:
                _update_checksums(model)
            with contextlib.suppress(InputError):
                RSTC.load(model).predict(["late parcel"])

    return load


def _update_checksums(model: Path) -> None:
    """Make the checksums of a folder valid, as an attacker would."""
    try:
        description = json.loads((model / "model.json").read_bytes())
        description["files"] = {name: sha256(model / name) for name in list_files(model) if name != "model.json"}
        description["checksum"] = compute_checksum(description)
    except (ValueError, RecursionError, TypeError):
        return
    (model / "model.json").write_text(json.dumps(description))


def save_tiny_model(folder: Path) -> Path:
    """Train and save a tiny model."""
    from tiny_encoder import build_tiny_encoder, make_texts

    texts = make_texts({"parcel": 20, "password": 20})[0]
    encoder = build_tiny_encoder(folder)
    RSTC(2, random_state=0, encoder=encoder, training="always", max_steps=1, batch_size=8, kmeans_starts=1).fit(
        texts
    ).save(folder / "saved")
    return folder / "saved"
