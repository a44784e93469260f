"""What a setting is: type, default, limits, meaning and the paper's symbol, and the checks that follow from them."""

from __future__ import annotations

import dataclasses
import math
import numbers
import textwrap
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from rstc.errors import InputError

T = TypeVar("T")
DOCSTRING_WIDTH = 100

_TYPE_NAMES = {bool: "bool", int: "int", float: "float", str: "str"}
_TYPE_PHRASES = {bool: "True or False", int: "an integer", float: "a number", str: "a string"}
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def setting(
    default: T,
    meaning: str,
    *,
    group: str,
    symbol: str | None = None,
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> T:
    """Declare a dataclass field as a setting; its type annotation says which types and which choices are allowed.

    Parameters
    ----------
    default : object
        The default value.
    meaning : str
        What the setting does, in which units, and when to change it.
    group : str
        Heading under which the setting is listed.
    symbol : str, optional
        The paper's symbol.
    at_least, above, below : float, optional
        Limits of a number: `at_least` is allowed itself, `above` and `below` are not.
    """
    limits = {"at_least": at_least, "above": above, "below": below}
    metadata = {"meaning": meaning, "group": group, "symbol": symbol, **limits}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Setting:
    """One setting as `setting` declared it.

    Attributes
    ----------
    name : str
        Name of the field.
    hint : type
        Type annotation of the field: plain types and `Literal` strings, or a union of them.
    default, meaning, group, symbol, at_least, above, below
        As in `setting`.
    """

    name: str
    hint: Any
    default: Any
    meaning: str
    group: str
    symbol: str | None
    at_least: float | None
    above: float | None
    below: float | None

    @property
    def choices(self) -> tuple[str, ...]:
        """Strings that are allowed by name."""
        literals = (part for part in _union_members(self.hint) if typing.get_origin(part) is Literal)
        return tuple(choice for literal in literals for choice in typing.get_args(literal))

    @property
    def types(self) -> tuple[type, ...]:
        """Types of which any value within the limits is allowed."""
        return tuple(part for part in _union_members(self.hint) if part in _TYPE_NAMES)

    @property
    def is_optional(self) -> bool:
        """Whether None is allowed."""
        return type(None) in _union_members(self.hint)

    @property
    def allowed(self) -> str:
        """Allowed values, as in documentation.

        >>> Setting("eps2", float | Literal["auto"], "auto", "", "", None, 0, None, None).allowed
        "'auto' or float >= 0"
        """
        return self._describe(_TYPE_NAMES)

    @property
    def documentation(self) -> str:
        """Entry of a numpydoc section "Parameters".

        >>> print(Setting("tau", float, 0.5, "Temperature.", "", "tau", None, 0, None).documentation)
        tau : float > 0, default=0.5
            Temperature. In the paper: tau.
        """
        symbol = f" In the paper: {self.symbol}." if self.symbol else ""
        text = textwrap.indent(textwrap.fill(self.meaning + symbol, DOCSTRING_WIDTH), "    ")
        return f"{self.name} : {self.allowed}, default={self.default!r}\n{text}"

    def validate(self, value: Any) -> Any:
        """Return a value as a plain Python object, numbers of numpy included; reject what is not allowed."""
        plain = self._to_plain(value)
        if plain is None and not (value is None and self.is_optional):
            raise InputError(f"{self.name}={value!r} must be {self._describe(_TYPE_PHRASES)}")
        return plain

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for on the command line."""
        for kind in self.types:
            try:
                return _PARSERS[kind](text)
            except ValueError:
                continue
        if self.choices:
            return text  # `validate` says which there are
        raise InputError(f"{self.name}={text!r} must be {self._describe(_TYPE_PHRASES)}")

    def _to_plain(self, value: Any) -> bool | int | float | str | None:
        """Return a plain value; None if it is not allowed."""
        if isinstance(value, str):
            return value if str in self.types or value in self.choices else None
        if isinstance(value, (bool, np.bool_)):
            return bool(value) if bool in self.types else None
        if isinstance(value, numbers.Integral) and int in self.types:
            return int(value) if self._is_within_limits(int(value)) else None
        if isinstance(value, numbers.Real) and float in self.types and math.isfinite(value):
            return float(value) if self._is_within_limits(float(value)) else None
        return None

    def _is_within_limits(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def _describe(self, type_names: dict[Any, str]) -> str:
        """Describe the allowed values, with these names for types."""
        limits = ((">=", self.at_least), (">", self.above), ("<", self.below))
        limit = " and ".join(f"{sign} {number:g}" for sign, number in limits if number is not None)
        options = [repr(choice) for choice in self.choices]
        options += [f"{type_names[kind]} {limit}" if kind in (int, float) else type_names[kind] for kind in self.types]
        options += ["None"] if self.is_optional else []
        return " or ".join(filter(None, [", ".join(options[:-1]), options[-1]]))


def read_settings(config_class: type) -> dict[str, Setting]:
    """Return the settings of a dataclass by name, in the order of its fields."""
    hints = typing.get_type_hints(config_class)
    return {
        field.name: Setting(field.name, hints[field.name], field.default, **field.metadata)
        for field in dataclasses.fields(config_class)
    }


def _union_members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, or a type that is none as its only member."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _parse_bool(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS[text.lower()]


_PARSERS: dict[type, Callable[[str], Any]] = {bool: _parse_bool, int: int, float: float, str: str}
