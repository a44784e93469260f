"""The JSON Schema of the documents that commands write with `--json`, derived from the types of their fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rstc.cli.commands import list_commands, list_documents
from rstc.cli.documents.base import MEANING, Document, ErrorDocument, VersionDocument
from rstc.cli.exit_codes import OUTCOMES
from rstc.cli.json_output import SCHEMA_VERSION

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}


def build_schema(root: Any) -> dict[str, Any]:
    """Return the schema of the documents of all commands.

    Parameters
    ----------
    root : group of the parser
        The application, as `typer.main.get_command` returns it.

    Returns
    -------
    dict
        A schema that is one of those of all commands: `command` tells which, and `error` whether it failed.
    """
    definitions: dict[str, Any] = {}
    commands = list_commands(root)
    kinds: dict[type[Document], list[str]] = {VersionDocument: [""], ErrorDocument: ["", *commands, "benchmark"]}
    for path, command in commands.items():
        for kind in list_documents(command):
            kinds.setdefault(kind, []).append(path)
    for kind, paths in kinds.items():
        _define(kind, definitions, _describe_common(paths))
    definitions["ErrorItem"]["properties"]["code"]["enum"] = [one.code for one in OUTCOMES if one.exit_code]
    return {
        "$schema": DIALECT,
        "title": "Documents of rstc --json",
        "oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds],
        "$defs": dict(sorted(definitions.items())),
    }


def list_fields(kind: type) -> dict[str, tuple[Any, str]]:
    """Return the type and the meaning of each field of a document or of a part of one."""
    hints = get_type_hints(kind)
    return {item.name: (hints[item.name], item.metadata[MEANING]) for item in dataclasses.fields(kind)}


def describe_type(hint: Any) -> str:
    """Return a type in the words of JSON.

    >>> describe_type(int | None), describe_type(list[str]), describe_type(dict[str, float])
    ('integer or null', 'array of string', 'object of number')
    """
    origin, members = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(describe_type, members))
    if origin is Literal:
        return " or ".join(f"`{str(member).lower() if member is True else member}`" for member in members)
    if origin is list:
        return f"array of {describe_type(members[0])}"
    if origin is dict:
        return "object" if members[1] is Any else f"object of {describe_type(members[1])}"
    if dataclasses.is_dataclass(hint):
        return getattr(hint, "__name__", "object")
    return str(_TYPES[hint].get("type", "any value"))


def _describe_common(paths: list[str]) -> dict[str, Any]:
    """Return the schemas of the fields that all documents have."""
    return {
        "schema_version": {"const": SCHEMA_VERSION},
        "command": {"enum": paths},
        "warnings": {"type": "array", "items": {"type": "string"}},
    }


def _define(kind: type, definitions: dict[str, Any], common: Mapping[str, Any] | None = None) -> None:
    """Add the schema of a dataclass, and those of its parts, to the definitions."""
    if kind.__name__ in definitions:
        return
    definitions[kind.__name__] = {}  # so that a part that names itself ends
    properties = dict(common or {})
    for name, (hint, meaning) in list_fields(kind).items():
        properties[name] = {"description": meaning, **_convert(hint, definitions)}
    definitions[kind.__name__] = {
        "description": (kind.__doc__ or "").strip(),
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def _convert(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type."""
    origin, members = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_convert(member, definitions) for member in members]}
    if origin is Literal:
        return {"enum": list(members)}
    if origin is list:
        return {"type": "array", "items": _convert(members[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _convert(members[1], definitions)}
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)
        _define(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return dict(_TYPES[hint])
