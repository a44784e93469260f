"""What a shell proposes after the Tab key: columns of the given file, settings and their values, formats.

Nothing here reads more than the beginning of a file, or opens what is not a regular file of this machine: a key press
must neither wait nor reach a network.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import typer

from rstc.config import PRESETS, SETTINGS

MAX_HEADER_BYTES = 2**16
MAX_RECORDS = 20  # of a JSON lines file, whose objects may differ in their keys
FORMATS = tuple(f"{name}{suffix}" for name in ("csv", "tsv", "jsonl", "json", "txt") for suffix in ("", ".gz"))
FORMATS += ("parquet", "xlsx")
LEVELS = ("coarse", "medium", "fine")
PERIODS = ("day", "week", "month", "quarter", "year")
DEVICES = ("auto", "cpu", "cuda", "mps")

Proposals = list[tuple[str, str]]  # each with a help text


def complete_column(context: typer.Context, incomplete: str) -> list[str]:
    """Propose the columns of the file that the command was given, or of the rows of its run folder."""
    values = _find_arguments(context)
    source = values.get("file")
    if source is None and "folder" in values:
        source = next((str(path) for path in sorted(Path(values["folder"]).glob("clusters.*"))), None)
    columns = read_header(source, context.params.get("format")) if source else []
    return [column for column in columns if column.startswith(incomplete) and column.isprintable()]


def complete_setting(incomplete: str) -> Proposals:
    """Propose NAME= for a setting and, once its name is complete, the values that have a name."""
    name, equals, _ = incomplete.partition("=")
    if not equals:
        names = [*SETTINGS, "imbalance"]
        return [(f"{one}=", _first_sentence(one)) for one in names if one.startswith(incomplete)]
    return [(f"{name}={value}", "") for value in _list_values(name) if f"{name}={value}".startswith(incomplete)]


def complete_setting_name(incomplete: str) -> Proposals:
    """Propose the names of settings."""
    return [(name, _first_sentence(name)) for name in SETTINGS if name.startswith(incomplete)]


def complete_format(incomplete: str) -> list[str]:
    """Propose file formats."""
    return _select(FORMATS, incomplete)


def complete_level(incomplete: str) -> list[str]:
    """Propose levels of detail."""
    return _select(LEVELS, incomplete)


def complete_period(incomplete: str) -> list[str]:
    """Propose lengths of a period."""
    return _select(PERIODS, incomplete)


def complete_device(incomplete: str) -> list[str]:
    """Propose devices."""
    return _select(DEVICES, incomplete)


def complete_preset(incomplete: str) -> list[str]:
    """Propose presets."""
    return _select(PRESETS, incomplete)


def read_header(source: str, format: str | None = None) -> list[str]:
    """Return the columns of a file by its beginning; none if they cannot be told from it.

    Parameters
    ----------
    source : str
        The file.
    format : str, optional
        Its format, by default that of its suffix.
    """
    name = (f".{format}" if format else source).lower()
    try:
        if not os.path.isfile(source):
            return []
        if name.endswith((".parquet", ".pq")):
            import pyarrow.parquet as pq

            return [str(column) for column in pq.read_schema(source).names]
        if name.endswith(".xlsx"):
            return _read_sheet(source)
        return _parse_beginning(_read_beginning(source), name.removesuffix(".gz"))
    except Exception:  # whatever is wrong with the file is said when the command runs, not while it is typed
        return []


def _find_arguments(context: typer.Context) -> dict[str, str]:
    """Return the arguments that were typed, by the names of their parameters.

    The parser stops at an option whose value is still to be typed, and leaves the arguments as words.
    """
    names = [one.name for one in context.command.params if one.param_type_name == "argument"]
    values = dict(zip(names, context.args, strict=False))
    values |= {name: context.params[name] for name in names if context.params.get(name) is not None}
    return {str(name): str(value) for name, value in values.items()}


def _read_beginning(source: str) -> str:
    """Return the beginning of a text file, up to the last complete line."""
    with open(source, "rb") as file:
        content = file.read(MAX_HEADER_BYTES)
    if content[:2] == b"\x1f\x8b":
        with gzip.open(source) as unpacked:
            content = unpacked.read(MAX_HEADER_BYTES)
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = content.decode(encoding, "replace")
    return text if len(content) < MAX_HEADER_BYTES else text.rpartition("\n")[0]


def _parse_beginning(text: str, name: str) -> list[str]:
    """Return the columns of the beginning of a text file."""
    if name.endswith((".csv", ".tsv")):
        first = text.partition("\n")[0]
        separator = "\t" if name.endswith(".tsv") else max(",;\t", key=first.count)
        return next(csv.reader(io.StringIO(text), delimiter=separator), [])
    if name.endswith((".jsonl", ".ndjson")):
        records = (json.loads(line) for line in islice(text.splitlines(), MAX_RECORDS) if line.strip())
        return list(dict.fromkeys(key for record in records for key in record))
    if name.endswith(".json"):
        record, _ = json.JSONDecoder().raw_decode(text.lstrip("\ufeff \r\n\t["))
        return list(record) if isinstance(record, dict) else []
    return []


def _read_sheet(source: str) -> list[str]:
    """Return the columns of the first sheet of a workbook, which is checked as where workbooks are read."""
    from rstc.io.formats import iter_tables

    return [str(column) for column in next(iter_tables(source, "xlsx", chunk_rows=1)).columns]


def _list_values(name: str) -> Iterable[str]:
    """Return the values of a setting that have a name."""
    if name == "imbalance":
        return ("balanced", "light", "heavy")
    if name not in SETTINGS:
        return ()
    entry = SETTINGS[name]
    return (*entry.choices, *(("true", "false") if bool in entry.types else ()))


def _first_sentence(name: str) -> str:
    """Return the first sentence of what a setting does."""
    return SETTINGS[name].meaning.partition(". ")[0] if name in SETTINGS else "How uneven the clusters are"


def _select(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
