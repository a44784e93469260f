"""Records of files that were made from other files: of which content, by what, and with which content.

A file counts as done if its record says that it was made by the same model with the same options of the same input, and
that this is its content. The time of a file says none of this: it is old where an older file was copied over the input,
and new where a write was cut off.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rstc.errors import InputError
from rstc.io.atomic import replace_file
from rstc.io.durability import make_folder
from rstc.io.remote import describe_content, exists, glob_files, is_file, is_url, join_path, open_file, put_file

RECORDS = "_rstc"  # the folder of the records, beside what they describe; data engines skip such names
_SUFFIX = ".json"
_MAX_BYTES = 2**20


@dataclass(frozen=True)
class FileRecord:
    """How a file was made.

    Attributes
    ----------
    made_by : mapping
        What made it, such as a model and its options; values are those of JSON.
    source, target : mapping
        The content of the input and of the file, by `describe_content`.
    """

    made_by: Mapping[str, Any]
    source: Mapping[str, Any]
    target: Mapping[str, Any]


def record_path(out: str, name: str) -> str:
    """Return the path or URL of the record of a file in a folder.

    >>> record_path("out", "day=1/a.csv")
    'out/_rstc/day=1/a.csv.json'
    """
    return join_path(join_path(out, RECORDS), name + _SUFFIX)


def write_record(path: str, record: FileRecord) -> None:
    """Write a record to a path or URL, after the file that it describes."""
    content = json.dumps(record.__dict__)
    if not is_url(path):
        make_folder(Path(path).parent)
        with replace_file(Path(path)) as temporary:
            temporary.write_text(content, encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "record.json"
        local.write_text(content, encoding="utf-8")
        put_file(local, path)


def read_record(path: str) -> FileRecord | None:
    """Read a record; None if there is none, or if it is damaged."""
    if not is_file(path):
        return None
    try:
        with open_file(path, "rb") as file:
            return FileRecord(**json.loads(file.read(_MAX_BYTES)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def is_done(record: FileRecord | None, made_by: Mapping[str, Any], source: str, target: str) -> bool:
    """Return whether a file was made by this of the present content of its input, and is still complete."""
    return (
        record is not None
        and record.made_by == made_by
        and exists(target)
        and record.target == describe_content(target)
        and record.source == describe_content(source)
    )


def count_others(out: str, names: set[str], made_by: Mapping[str, Any]) -> int:
    """Return how many recorded files of a folder, besides some, were made by something else."""
    try:
        root, found = glob_files(join_path(out, RECORDS))
    except InputError:
        return 0
    others = [name for name in found if name.removesuffix(_SUFFIX) not in names]
    records = [read_record(join_path(root, name)) for name in others]
    return sum(record is not None and record.made_by != made_by for record in records)
