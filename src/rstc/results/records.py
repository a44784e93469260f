"""Typed records that are stored as JSON objects, and the check of their types when they are read."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_INTEGER = 2**53  # larger ones are not exact in JSON


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
        """Read a record from a JSON object; keys that are missing take the defaults, unknown keys are ignored.

        Raises TypeError for a value of another type than that of its field.
        """
        found = {item.name: values[_key(item)] for item in fields(cls) if _key(item) in values}  # type: ignore[arg-type]
        check_types(cls, found)
        return cls(**found)


def check_types(dataclass: type, values: Mapping[str, Any]) -> None:
    """Raise TypeError if a value is not of the type of the dataclass field of that name.

    >>> from dataclasses import make_dataclass
    >>> check_types(make_dataclass("Size", [("n", int), ("names", list[str])]), {"n": 3, "names": ["a", 2]})
    Traceback (most recent call last):
        ...
    TypeError: names is not of the type list[str]
    """
    hints = _read_hints(dataclass)
    for name, value in values.items():
        if not fits(value, hints[name]):
            raise TypeError(f"{name} is not of the type {hints[name]}")


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type; numbers have to be finite.

    >>> fits([1, 2.5], list[float]), fits(True, int), fits(float("nan"), float | None), fits(None, float | None)
    (True, False, False, True)
    """
    if hint is Any or hint is object:
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    if hint is None or hint is type(None):
        return value is None
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_INTEGER
    if hint is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and abs(value) < MAX_INTEGER and math.isfinite(value)
    if origin is tuple and arguments[-1:] != (...,):
        return isinstance(value, (list, tuple)) and len(value) == len(arguments) and all(map(fits, value, arguments))
    if origin in (list, tuple, Sequence):
        return isinstance(value, (list, tuple)) and all(fits(item, arguments[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items()
        )
    return isinstance(value, origin or hint)


@cache
def _read_hints(dataclass: type) -> dict[str, Any]:
    return get_type_hints(dataclass)


def _key(item: Any) -> str:
    """Return the key of a dataclass field in the file."""
    return str(item.metadata.get("key", item.name))
