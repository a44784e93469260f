"""What all documents have in common: how fields are declared, how values become JSON, and errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MEANING = "meaning"  # key of a field's metadata


def about(meaning: str) -> Any:
    """Declare a field of a document and say what it holds."""
    return dataclasses.field(metadata={MEANING: meaning})


@dataclass(frozen=True, kw_only=True)
class Document:
    """What a command returns: the fields of its JSON document but for those that all documents have."""


@dataclass(frozen=True, kw_only=True)
class VersionDocument(Document):
    """The version of rstc."""

    version: str = about("The version.")


@dataclass(frozen=True, kw_only=True)
class ErrorItem:
    """Why a command failed."""

    code: str = about("What went wrong, as in the table of exit codes.")
    message: str = about("One sentence.")
    exit_code: int = about("The exit code of the process.")


@dataclass(frozen=True, kw_only=True)
class ErrorDocument(Document):
    """A command that failed."""

    error: ErrorItem = about("Why.")


def to_plain(value: Any) -> Any:
    """Return a value as JSON has them: numbers that are not finite as null, paths as strings.

    >>> to_plain({1: float("nan"), "a": (1, 2)})
    {'1': None, 'a': [1, 2]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(member) for member in value]
    if isinstance(value, float):
        return value if value - value == 0 else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "tolist"):  # an array or a scalar of numpy
        return to_plain(value.tolist())
    return str(value)
