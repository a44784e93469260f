"""Typed records that are stored as JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


def stored_as(key: str) -> dict[str, Any]:
    """Return the metadata of a field whose key in the file differs from its name."""
    return {"key": key}


def stored_if_set() -> dict[str, Any]:
    """Return the metadata of a field that is stored unless it has its default, as in files that do not know it."""
    return {"if_set": True}


class Record:
    """A dataclass that is stored as a JSON object, one key per field and in the order of the fields."""

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        values = [(item, getattr(self, item.name)) for item in fields(self)]  # type: ignore[arg-type]
        return {
            _key(item): value.to_json() if isinstance(value, Record) else value
            for item, value in values
            if not (item.metadata.get("if_set") and value == item.default)
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read a record from a JSON object; keys that are missing take the defaults, unknown keys are ignored."""
        return cls(**{item.name: values[_key(item)] for item in fields(cls) if _key(item) in values})  # type: ignore[arg-type]


def _key(item: Any) -> str:
    """Return the key of a dataclass field in the file."""
    return str(item.metadata.get("key", item.name))
