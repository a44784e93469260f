"""Files of an installed package whose code is not imported, such as weights: where they are, and their check."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

from rstc.errors import InputError
from rstc.io.atomic import sha256


def find_package_files(package: str, version: str, checksums: Mapping[str, str]) -> dict[str, Path]:
    """Return files of a package by name, after checking their content.

    Parameters
    ----------
    package : str
        The package.
    version : str
        The version that holds the files.
    checksums : mapping
        The sha256 of each file by its name, which no other file of the package has.

    Returns
    -------
    dict
        In the order of `checksums`.

    Raises
    ------
    PackageNotFoundError
        If the package is not installed.
    InputError
        If a file is missing, or is not the expected one.
    """
    files = importlib.metadata.files(package) or []
    found = {}
    for name, expected in checksums.items():
        path = next((Path(str(file.locate())) for file in files if file.name == name), None)
        if path is None or not path.is_file():
            raise InputError(f"the package {package} holds no {name}; install version {version}")
        checksum = sha256(path)
        if checksum != expected:
            raise InputError(f"{path} is not the expected file: sha256 {checksum}, expected {expected}")
        found[name] = path
    return found
