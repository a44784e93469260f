"""What is fuzzed: bytes in, a result or an InputError out, and nothing else happens."""

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
from rstc.io.atomic import sha256
from rstc.persistence.model_folder import _checksum, _files
from rstc.io.readers import SUFFIXES, read_table
from rstc.io.columns import find_text_column, texts_of

FORMATS = list(SUFFIXES)
# Where a model's files are changed: the description as it is or signed anew, the heads, and what opens the encoder.
PARTS = [
    "model.json",
    "heads.safetensors",
    "encoder/config.json",
    "encoder/modules.json",
    "encoder/1_Pooling/config.json",
]
PARTS += ["encoder/tokenizer_config.json", "encoder/sentence_bert_config.json", "encoder/model.safetensors"]
FORBIDDEN = ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "pickle.find_class", "urllib.Request")


class ForbiddenError(Exception):
    """Something happened that data must never make happen."""


def forbid() -> None:
    """Raise, from here on, when code would be run or a socket opened."""

    def audit(event: str, _: object) -> None:
        if event in FORBIDDEN:
            raise ForbiddenError(event)

    sys.addaudithook(audit)


def read_any(content: bytes) -> None:
    """Read a file as a run would; the first byte tells its format."""
    if not content:
        return
    format = FORMATS[content[0] % len(FORMATS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{SUFFIXES[format]}"
        path.write_bytes(content[1:])
        try:
            table = read_table(str(path), format)
            texts_of(table, find_text_column(table))
        except InputError:
            pass


def load_any(saved: Path) -> Callable[[bytes], None]:
    """Return what loads a model with one file replaced; the first byte tells which, and whether it is signed."""

    def load(content: bytes) -> None:
        if not content:
            return
        name, sign = PARTS[content[0] % len(PARTS)], content[0] >= 128
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model"
            shutil.copytree(saved, model)
            (model / name).write_bytes(content[1:])
            if sign:
                _sign(model)
            with contextlib.suppress(InputError):
                RSTC.load(model).predict(["late parcel"])

    return load


def _sign(model: Path) -> None:
    """Make the checksums right, as an attacker would."""
    try:
        description = json.loads((model / "model.json").read_bytes())
        description["files"] = {name: sha256(model / name) for name in _files(model) if name != "model.json"}
        description["checksum"] = _checksum(description)
    except (ValueError, RecursionError, TypeError):
        return
    (model / "model.json").write_text(json.dumps(description))


def save_tiny_model(folder: Path) -> Path:
    """Train and save a tiny model."""
    from tiny_encoder import build_tiny_encoder, make_texts

    texts = make_texts({"parcel": 20, "password": 20})[0]
    encoder = build_tiny_encoder(folder)
    RSTC(2, random_state=0, encoder=encoder, max_steps=1, batch_size=8, kmeans_starts=1).fit(texts).save(
        folder / "saved"
    )
    return folder / "saved"
