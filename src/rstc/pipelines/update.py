"""Update a run with the rows of a file: continue training with them, and compare them with the earlier rows.

Torch and scikit-learn are imported inside the functions, after the input was read and validated.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rstc.errors import InputError
from rstc.io.columns import check_reserved_columns, extract_texts, find_text_column
from rstc.io.csv_injection import SPREADSHEET_FORMATS
from rstc.io.formats import detect_format, read_table
from rstc.persistence.model_description import read_description
from rstc.pipelines.cluster import add_map_and_page, write_results
from rstc.pipelines.inputs import Columns, RunInput
from rstc.results.corrected_run import CorrectedRun
from rstc.results.run_folder import MODEL, read_rows
from rstc.results.summary import Summary, UpdateSummary
from rstc.runtime.distributed import SINGLE_PROCESS
from rstc.runtime.progress import Listener, Progress
from rstc.validation.fit_input import validate_new_texts


def update_run(folder: Path, path: str, *, encoding: str = "utf-8", listener: Listener | None = None) -> Summary:
    """Add the rows of a file to a run: training continues with them, and clusters keep their numbers.

    The folder then holds the earlier rows followed by the new ones.

    Parameters
    ----------
    folder : Path
        The run folder.
    path : str
        The file with the new rows.
    encoding : str
        Encoding of the file.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Summary
        The new summary; its field `update` compares the new rows with the earlier ones.
    """
    run = CorrectedRun.read(folder)
    progress = Progress(listener)
    if run.log.edits:
        raise InputError(
            f"{folder} holds corrections, merges included, which refer to its present rows: undo them with "
            f"`rstc explore`, update the run, and correct it afterwards"
        )
    before = run.summary.input
    with progress.stage("read"):
        old = read_rows(folder, before, run.points)
        new = read_table(path, detect_format(path), encoding)
        find_text_column(new, before.text_column)  # raises if it is missing
        check_reserved_columns(new.columns)
        table = pd.concat([old, new], ignore_index=True)
        if before.format in SPREADSHEET_FORMATS:
            table = table.fillna("")
    old_texts, new_texts = (extract_texts(rows, before.text_column) for rows in (old, new))
    validate_new_texts(new_texts, read_description(folder / MODEL).config.get("class_contrast", True))
    run_input = RunInput(
        before.file,
        before.format,
        Columns(before.text_column, before.view_columns),
        extract_texts(table, before.text_column),
        views=None,
        labels=None,
        rows=range(len(table)),
        n_rows=len(table),
        read_tables=lambda: [table],
    )
    with progress.stage("load"):
        progress.advance(0, 0)
        from rstc.estimator import RSTC
        from rstc.pipelines.outputs import RunOrigin

        model = RSTC.load(folder / MODEL)
    model.update(new_texts, old=old_texts, progress=listener)
    update = UpdateSummary.from_json({"file": Path(path).name, "rows": len(new)} | model.drift_.to_dict())
    origin = RunOrigin(
        run.summary.preset, run.summary.seed, before.guard_formulas, update=update, keep_columns=before.keep_columns
    )
    write_results(folder, run_input, model, origin, progress, SINGLE_PROCESS)
    return add_map_and_page(folder, progress)
