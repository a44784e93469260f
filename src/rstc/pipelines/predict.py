"""New texts, labelled by a saved model as they stream by: a file, or many files one after the other."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.io.atomic import check_writable, sha256
from rstc.persistence.model_folder import read_description
from rstc.persistence.onnx_model import DESCRIPTION, OnnxModel, is_exported
from rstc.runtime.progress import Listener
from rstc.io.remote import exists, is_address, joined, matching, modified, opened, put
from rstc.results.run_folder import find_model
from rstc.io.readers import STANDARD_INPUT, check_other_file, format_of, known_format, stream_tables, table_writer
from rstc.io.columns import find_text_column, labelled, texts_of

MADE_BY = "_rstc.json"  # in a folder of labelled files: which model made them


def predict_file(
    folder: Path,
    path: str,
    out: Path,
    *,
    text_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    device: str = "auto",
    guard_formulas: bool = False,
    listener: Listener | None = None,
) -> tuple[int, int]:
    """Label the texts of a file with a saved model, a piece at a time; return the numbers of rows and of texts."""
    if str(out) == STANDARD_INPUT:
        raise InputError("the output needs the name of a file")
    kind, target = format_of(path, format), format_of(str(out))
    if target == "txt" != kind:
        raise InputError(f"{out} is plain text, which has no columns; write {kind} instead")
    check_writable(out)
    if out.is_dir():
        raise InputError(f"{out} is a folder; give the name of a file")
    pieces = stream_tables(path, kind, encoding)
    first = next(pieces, None)
    if first is None or first.empty:
        raise InputError(f"{path} holds no rows")
    check_other_file(path, out)
    model = _loaded(folder, device)
    column = find_text_column(first, text_column or _only_if_there(model.text_column_, first))
    return _written(model, itertools.chain([first], pieces), column, out, target, guard_formulas, listener)


@dataclass(frozen=True)
class Part:
    """One of many files, and where it is written with clusters."""

    source: str
    target: str


@dataclass(frozen=True)
class Labelled:
    """What became of a part: how many rows it has and how many texts, or what is wrong with it."""

    part: Part
    rows: int = 0
    texts: int = 0
    problem: str | None = None


Engine = Callable[["Labeller", list[Part]], Iterable[Labelled]]


@dataclass(frozen=True)
class PartsLabelled:
    """What became of many files.

    Attributes:
        parts: how many were labelled now.
        skipped: how many an earlier call had labelled.
        rows, texts: of those that were labelled now.
    """

    parts: int
    skipped: int
    rows: int
    texts: int


def predict_files(
    folder: Path,
    pattern: str,
    out: str,
    *,
    text_column: str | None = None,
    encoding: str = "utf-8",
    device: str = "auto",
    guard_formulas: bool = False,
    engine: Engine | None = None,
    listener: Listener | None = None,
) -> PartsLabelled:
    """Label files with a saved model, each into a file of the same name and format under `out`.

    A file appears when it is complete, rows and their order as they were. Those that an earlier call completed are
    skipped, unless they were changed since. Files and folders may be addresses that fsspec knows, as s3://bucket/in.

    Args:
        folder: of a run or of its model.
        pattern: names of files with * and ** in them, or a folder.
        out: a folder.
        text_column: that holds the texts; by default the one that the model was trained on.
        encoding: of text files.
        device: to compute on.
        guard_formulas: whether cells of CSV files that a spreadsheet would take for a formula get an apostrophe.
        engine: who goes through the parts; by default this process, one after the other (rstc.pipelines.predict_ray has another).
        listener: called with ("predict", parts done, parts to do).
    """
    exported = is_exported(folder)
    model = folder if exported else find_model(folder)
    checksum = sha256(model / DESCRIPTION) if exported else read_description(model)["checksum"]
    made_by = {"model": checksum, "text_column": text_column, "encoding": encoding}
    if guard_formulas:
        made_by["guard_formulas"] = "yes"
    parts = _parts(pattern, out)
    _check_same_maker(out, made_by)
    todo = [part for part in parts if not _is_done(part)]
    labeller = Labeller(str(model.absolute()), text_column, encoding, device, guard_formulas)
    rows = texts = 0
    problems = []
    for done, found in enumerate((engine or _here)(labeller, todo), start=1):
        rows, texts = rows + found.rows, texts + found.texts
        if found.problem:
            problems.append(found.problem)
        if listener:
            listener("predict", done, len(todo))
    if problems:
        others = f"; and {len(problems) - 1} more such files" if len(problems) > 1 else ""
        raise InputError(f"{problems[0]}{others}; what could be read is in {out}")
    return PartsLabelled(len(todo), len(parts) - len(todo), rows, texts)


@dataclass(frozen=True)
class Labeller:
    """Labels parts with a saved model; `opened` has the model at hand."""

    model: str
    text_column: str | None
    encoding: str
    device: str
    guard_formulas: bool = False

    def opened(self) -> Callable[[Part], Labelled]:
        """Load the model; return what labels a part."""
        return partial(self._label, _loaded(Path(self.model), self.device))

    def _label(self, model: RSTC | OnnxModel, part: Part) -> Labelled:
        """Label a part; what is wrong with the file is told, not raised: the others go on."""
        kind = format_of(part.source)
        try:
            pieces = stream_tables(part.source, kind, self.encoding)
            first = next(pieces, pd.DataFrame({self.text_column or "text": []}))
            asked = self.text_column or _only_if_there(model.text_column_, first)
            column = find_text_column(first, asked) if len(first) else asked or ""
            pieces = itertools.chain([first], pieces)
            if not is_address(part.target):
                Path(part.target).parent.mkdir(parents=True, exist_ok=True)
                return Labelled(part, *_written(model, pieces, column, Path(part.target), kind, self.guard_formulas))
            with TemporaryDirectory() as folder:
                local = Path(folder) / Path(part.target).name
                found = _written(model, pieces, column, local, kind, self.guard_formulas)
                put(local, part.target)
                return Labelled(part, *found)
        except InputError as problem:
            return Labelled(part, problem=str(problem))


def _here(labeller: Labeller, parts: list[Part]) -> Iterator[Labelled]:
    """Label parts in this process, one after the other."""
    if parts:
        yield from map(labeller.opened(), parts)


def _written(
    model: RSTC | OnnxModel,
    pieces: Iterable[pd.DataFrame],
    column: str,
    out: Path,
    format: str,
    guard_formulas: bool,
    listener: Listener | None = None,
) -> tuple[int, int]:
    """Write pieces of a table with clusters; return the numbers of rows and of texts."""
    rows = present = 0
    with table_writer(out, format, guard_formulas) as write:
        for table in pieces:
            texts = texts_of(table, column)
            assigned = model.assign(texts)
            write(labelled(table, texts, assigned.clusters, assigned.confidence))
            rows += len(texts)
            present += sum(text is not None for text in texts)
            if listener:
                listener("predict", rows, 0)
    return rows, present


def _loaded(folder: Path, device: str) -> RSTC | OnnxModel:
    """Load a model: of a run, saved, or exported."""
    return OnnxModel(folder) if is_exported(folder) else RSTC.load(find_model(folder), device)


def _only_if_there(column: str | None, table: pd.DataFrame) -> str | None:
    """Return the name of the column that a model was trained on, if a new table has it too."""
    return column if column in table.columns else None


def _parts(pattern: str, out: str) -> list[Part]:
    """Return the files that a pattern names, each with its place under `out`; folders of the pattern are kept."""
    root, names = matching(pattern)
    names = [name for name in names if known_format(name) and not Path(name).name.startswith(("_", "."))]
    if not names:
        raise InputError(f"there is no file {pattern} of a known format")
    return [Part(joined(root, name), joined(out, name)) for name in names]


def _is_done(part: Part) -> bool:
    """Tell whether a part was labelled after it was last changed."""
    return exists(part.target) and modified(part.target) >= modified(part.source)


def _check_same_maker(out: str, made_by: Mapping[str, str | None]) -> None:
    """Refuse a folder that holds what another model made; note which model this is."""
    note = joined(out, MADE_BY)
    if exists(note):
        with opened(note, "r") as file:
            before = json.load(file)
        if before != made_by:
            raise InputError(f"{out} holds what another model or another setting made; choose another folder")
        return
    if not is_address(out):
        check_writable(Path(out) / MADE_BY)
        Path(out).mkdir(parents=True, exist_ok=True)
    with opened(note, "w") as file:
        json.dump(made_by, file)
