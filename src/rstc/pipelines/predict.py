"""Prediction of files: one file, or many files that match a pattern, streamed through a saved model."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from rstc.errors import InputError, MixedPredictionsWarning
from rstc.io.atomic import check_writable
from rstc.io.columns import (
    TEXT_COLUMN,
    TextColumn,
    add_predictions,
    extract_texts,
    find_text_columns,
    has_text_column,
    to_text_column,
)
from rstc.io.durability import make_folder
from rstc.io.file_records import RECORDS, FileRecord, count_others, is_done, read_record, record_path, write_record
from rstc.io.formats import (
    FORMATS_WITH_HEADER,
    STANDARD_OUTPUT,
    check_distinct_files,
    check_output,
    detect_format,
    has_known_format,
    iter_tables,
    open_table_writer,
    stream_format,
)
from rstc.io.remote import describe_content, glob_files, is_url, join_path, put_file, to_local_path
from rstc.pipelines.saved_model import identify_model, load_any_model
from rstc.runtime.progress import Listener
from rstc.validation.texts import NonEmptyTexts

if TYPE_CHECKING:
    from rstc.estimator import RSTC
    from rstc.persistence.onnx_model import OnnxModel


def predict_file(
    folder: Path,
    path: str,
    out: Path,
    *,
    text_column: str | Sequence[str] | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool | None = None,
    sheet: str | None = None,
    device: str = "auto",
    guard_formulas: bool = False,
    listener: Listener | None = None,
) -> tuple[int, int]:
    """Write a file again with the predicted cluster and confidence of each row.

    Parameters
    ----------
    folder : Path
        A run, a saved model or an exported model.
    path : str
        The file to predict; "-" for standard input.
    out : Path
        The file to write; its format is that of its suffix. "-" for standard output, which is written in the format of
        the input if that is text, uncompressed, and else as csv.
    text_column : str or sequence of str, optional
        The column that holds the texts, or several whose texts are joined by line breaks; by default that of the
        model's training data, if the file has it.
    format : str, optional
        The format of the input; by default that of its suffix.
    encoding : str, default="utf-8"
        Encoding of a text file.
    header : bool, optional
        Whether the first row of a CSV file or a sheet holds the names of the columns; by default it does, but it is
        refused if it looks like data.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the first one.
    device : str, default="auto"
        Device to compute on.
    guard_formulas : bool, default=False
        Whether to escape cells that a spreadsheet would evaluate as formulas.
    listener : callable, optional
        Called with ("predict", rows done, 0).

    Returns
    -------
    n_rows, n_texts : int
        Rows that were written, and how many of them hold a text.
    """
    source_format = detect_format(path, format)
    target_format = stream_format(source_format) if str(out) == STANDARD_OUTPUT else detect_format(str(out))
    if _is_plain_text(target_format) and not _is_plain_text(source_format):
        raise InputError(f"{out} is plain text, which has no columns; write {source_format} instead")
    check_output(out, target_format)
    tables = iter_tables(path, source_format, encoding, sheet=sheet, header=header)
    first = next(tables, None)
    if first is None or first.empty:
        raise InputError(f"{path} holds no rows")
    check_distinct_files(path, out)
    training_column = identify_model(folder).text_column  # raises if it is no model
    column = find_text_columns(first, to_text_column(text_column) or _choose_column(training_column, first))
    tables = itertools.chain([first], tables)
    if listener:
        listener("load", 0, 0)
    model = load_any_model(folder, device)
    return _write_predictions(model, tables, column, out, target_format, guard_formulas, listener)


@dataclass(frozen=True)
class FileTask:
    """A file to predict, where the result is written, and where that is recorded: paths or URLs."""

    source: str
    target: str
    record: str


@dataclass(frozen=True)
class FileResult:
    """Result of a `FileTask`: its number of rows and of texts, or the error that ended it."""

    task: FileTask
    n_rows: int = 0
    n_texts: int = 0
    error: str | None = None


Engine = Callable[["FilePredictor", list[FileTask]], Iterable[FileResult]]


@dataclass(frozen=True)
class PredictFilesResult:
    """Result of `predict_files`.

    Attributes
    ----------
    n_files : int
        Files that were written.
    n_skipped : int
        Files that an earlier call had written.
    n_rows, n_texts : int
        Rows of the files that were written, and how many of them hold a text.
    """

    n_files: int
    n_skipped: int
    n_rows: int
    n_texts: int


def predict_files(
    folder: Path,
    pattern: str,
    out: str,
    *,
    text_column: str | Sequence[str] | None = None,
    encoding: str = "utf-8",
    header: bool | None = None,
    sheet: str | None = None,
    device: str = "auto",
    guard_formulas: bool = False,
    engine: Engine | None = None,
    listener: Listener | None = None,
) -> PredictFilesResult:
    """Predict many files, each into a file of the same name and format under `out`.

    A file appears once it is complete, with its rows in their order. Files that an earlier call completed are skipped:
    those that were made of the same content, by the same model with the same options, and that have not changed since.
    A file that cannot be read does not stop the others.

    Parameters
    ----------
    folder : Path
        A run, a saved model or an exported model.
    pattern : str
        A path or URL with ``*``, ``**`` or ``?`` in it, or a folder.
    out : str
        A folder or its URL.
    text_column, encoding, header, sheet, device, guard_formulas
        As in `predict_file`; header and sheet are those of all files that have one.
    engine : callable, optional
        Runs the tasks; by default this process, one after the other. `rstc.pipelines.predict_ray.ray_engine` makes one
        for Ray.
    listener : callable, optional
        Called with ("predict", files done, files to do).

    Raises
    ------
    InputError
        At the end, if some files could not be predicted.
    """
    out = to_local_path(out)
    column = to_text_column(text_column)
    made_by = {
        "model": identify_model(folder).checksum,
        "text_column": column,
        "encoding": encoding,
        "header": header,
        "sheet": sheet,
        "guard_formulas": guard_formulas,
    }
    tasks = _find_tasks(to_local_path(pattern), out)
    if not is_url(out):
        check_writable(Path(out) / RECORDS)
    if n_others := count_others(out, {task.target.removeprefix(join_path(out, "")) for task in tasks}, made_by):
        warnings.warn(MixedPredictionsWarning(out, n_others), stacklevel=2)
    pending = [task for task in tasks if not is_done(read_record(task.record), made_by, task.source, task.target)]
    predictor = FilePredictor(str(folder.absolute()), column, encoding, device, guard_formulas, sheet, header, made_by)
    n_rows = n_texts = 0
    errors = []
    if listener and pending:
        listener("load", 0, 0)
    for done, result in enumerate((engine or _run_in_process)(predictor, pending), start=1):
        n_rows, n_texts = n_rows + result.n_rows, n_texts + result.n_texts
        if result.error:
            errors.append(result.error)
        if listener:
            listener("predict", done, len(pending))
    if errors:
        others = f" (and {len(errors) - 1} more files failed)" if len(errors) > 1 else ""
        raise InputError(f"{errors[0]}{others}; the predictions of the other files are in {out}")
    return PredictFilesResult(len(pending), len(tasks) - len(pending), n_rows, n_texts)


@dataclass(frozen=True)
class FilePredictor:
    """Settings for predicting files, small enough to be sent to a worker, which loads the model there.

    Attributes
    ----------
    model : str
        Folder of the model.
    text_column, encoding, device, guard_formulas, sheet, header
        As in `predict_files`.
    made_by : mapping
        The model and the options, as they are recorded.
    """

    model: str
    text_column: TextColumn | None
    encoding: str
    device: str
    guard_formulas: bool = False
    sheet: str | None = None
    header: bool | None = None
    made_by: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[[FileTask], FileResult]:
        """Load the model and return a function that runs a task with it."""
        return partial(self._run, load_any_model(Path(self.model), self.device))

    def _run(self, model: RSTC | OnnxModel, task: FileTask) -> FileResult:
        """Predict a file; an error of the file is returned, not raised, so that the other files are still predicted."""
        try:
            source = describe_content(task.source)  # before it is read: a change while it is read is noticed next time
            counts, target = self._write(model, task)
            write_record(task.record, FileRecord(self.made_by, source, target))
            return FileResult(task, *counts)
        except InputError as problem:
            return FileResult(task, error=str(problem))

    def _write(self, model: RSTC | OnnxModel, task: FileTask) -> tuple[tuple[int, int], dict[str, str | int]]:
        """Write a file; return its numbers of rows and of texts, and the description of its content."""
        format = detect_format(task.source)
        sheet = self.sheet if format == "xlsx" else None
        header = self.header if format.removesuffix(".gz") in FORMATS_WITH_HEADER else None
        tables = iter_tables(task.source, format, self.encoding, sheet=sheet, header=header)
        column = self.text_column or TEXT_COLUMN
        first = next(tables, pd.DataFrame(columns=[column] if isinstance(column, str) else column))
        requested = self.text_column or _choose_column(model.text_column_, first)
        column = find_text_columns(first, requested) if len(first) else requested or ""
        tables = itertools.chain([first], tables)
        if not is_url(task.target):
            local = Path(task.target)
            make_folder(local.parent)
            counts = _write_predictions(model, tables, column, local, format, self.guard_formulas)
        else:
            with TemporaryDirectory() as folder:
                local = Path(folder) / PurePosixPath(task.target).name
                counts = _write_predictions(model, tables, column, local, format, self.guard_formulas)
                put_file(local, task.target)
        return counts, describe_content(task.target)


def _run_in_process(predictor: FilePredictor, tasks: list[FileTask]) -> Iterator[FileResult]:
    """Run tasks in this process, one after the other."""
    if tasks:
        yield from map(predictor.load(), tasks)


def _write_predictions(
    model: RSTC | OnnxModel,
    tables: Iterable[pd.DataFrame],
    column: TextColumn,
    out: Path,
    format: str,
    guard_formulas: bool,
    listener: Listener | None = None,
) -> tuple[int, int]:
    """Write tables with their predictions; return the numbers of rows and of texts."""
    n_rows = n_texts = 0
    with open_table_writer(out, format, guard_formulas) as write:
        for table in tables:
            texts = extract_texts(table, column)
            assignment = model.assign(texts)
            predictions = (assignment.clusters, assignment.confidence, model.cluster_names_)
            write(add_predictions(table, texts, *predictions))
            n_rows += len(texts)
            n_texts += len(NonEmptyTexts.from_list(texts).rows)
            if listener:
                listener("predict", n_rows, 0)
    return n_rows, n_texts


def _choose_column(training_column: TextColumn | None, table: pd.DataFrame) -> TextColumn | None:
    """Return the text column of the training data, or the columns, if a table has them."""
    return training_column if training_column and has_text_column(table, training_column) else None


def _is_plain_text(format: str) -> bool:
    """Return whether a format has lines and no columns."""
    return format.removesuffix(".gz") == "txt"


def _find_tasks(pattern: str, out: str) -> list[FileTask]:
    """Return a task for each file that matches a pattern; targets keep the folders below the first wildcard."""
    root, names = glob_files(pattern)
    names = [
        name
        for name in names
        if has_known_format(name) and not Path(name).name.startswith(("_", ".")) and RECORDS not in Path(name).parts
    ]
    if not names:
        raise InputError(f"there is no file {pattern} of a known format")
    return [FileTask(join_path(root, name), join_path(out, name), record_path(out, name)) for name in names]
