"""Update a run with the rows of a file: continue training with them, compare them with the earlier rows, and propose
new clusters for those that fit none.

Corrections of the run are applied first and become part of it. Torch and scikit-learn are imported inside the
functions, after the input was read and validated.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import check_writable
from rstc.io.columns import check_reserved_columns, extract_texts, find_text_columns, list_text_columns
from rstc.io.csv_injection import SPREADSHEET_FORMATS
from rstc.io.formats import detect_format, read_table
from rstc.persistence.model_description import read_description
from rstc.pipelines.apply_edits import apply_edits
from rstc.pipelines.cluster import add_map_and_page, write_results
from rstc.pipelines.inputs import Columns, RunInput, digest_tables
from rstc.pipelines.known_rows import find_known_rows
from rstc.results.comparisons import ComparisonRequest, check_request, read_request
from rstc.results.corrected_run import CorrectedRun
from rstc.results.earlier_edits import EARLIER_EDITS, read_earlier_edits, write_earlier_edits
from rstc.results.points import Points
from rstc.results.proposals import OPEN, Proposal, keep_unmatched, move_rows, write_proposals
from rstc.results.run_files import MODEL, NAME_ANSWERS, is_unfinished
from rstc.results.run_folder import hold_run_lock, read_rows
from rstc.results.run_models import find_original_model, lacks_corrected_model
from rstc.results.summary import ClusterOverlap, Summary, UpdateEntry, UpdateSummary
from rstc.runtime.distributed import SINGLE_PROCESS
from rstc.runtime.progress import Listener, Progress
from rstc.validation.fit_input import validate_new_texts

if TYPE_CHECKING:
    from rstc.estimator import RSTC


@hold_run_lock
def update_run(
    folder: Path,
    path: str,
    *,
    encoding: str = "utf-8",
    header: bool | None = None,
    sheet: str | None = None,
    again: bool = False,
    comparisons: ComparisonRequest | None = None,
    listener: Listener | None = None,
) -> Summary | None:
    """Add the rows of a file to a run: training continues with them, and clusters keep their numbers.

    The folder then holds the earlier rows followed by the new ones, and proposals of new clusters. Corrections are
    applied first; the log of corrections is empty afterwards, and corrected texts stay where they were put.

    Parameters
    ----------
    folder : Path
        The run folder.
    path : str
        The file with the new rows.
    header : bool, optional
        Whether the first row of a CSV file or a sheet holds the names of the columns; by default it does, but it is
        refused if it looks like data.
    encoding : str
        Encoding of the file.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the first one.
    again : bool
        Whether to add rows that the run holds already (`rstc.pipelines.known_rows`).
    comparisons : ComparisonRequest, optional
        Columns that the clusters are compared by; by default those that they were compared by before.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Summary or None
        The new summary; its field `update` compares the new rows with the earlier ones. None if the run holds all rows
        already, and was not changed.
    """
    progress = Progress(listener)
    if is_unfinished(folder):  # an earlier update was interrupted while the map was drawn
        add_map_and_page(folder, progress)
    run = CorrectedRun.read(folder)
    check_writable(folder)
    before = run.summary.input
    with progress.stage("read"):
        old = read_rows(folder, before, run.points)
        new = read_table(path, detect_format(path), encoding, sheet, header)
        find_text_columns(new, before.text_column)  # raises if it is missing
        check_reserved_columns(new.columns)
        digest = digest_tables([new])
        is_known = _find_known(run.summary, old, new, digest)
        if not again:
            if is_known.all() and len(new):
                return None
            new = new[~is_known]
        table = pd.concat([old, new], ignore_index=True)
        if before.format in SPREADSHEET_FORMATS:
            table = table.fillna("")
        if comparisons is not None:
            check_request(table.drop(columns=list_text_columns(before.text_column)), comparisons)
    old_texts, new_texts = (extract_texts(rows, before.text_column) for rows in (old, new))
    validate_new_texts(new_texts, read_description(find_original_model(folder)).config.get("class_contrast", True))
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
        sheet=before.sheet,
    )
    edits = run.log.edits
    if edits or lacks_corrected_model(folder):
        run = apply_edits(folder, listener)  # the model then predicts the corrected clusters
    rows, clusters = run.points.rows, run.clusters
    earlier = read_earlier_edits(folder)
    if max(earlier.rows, default=-1) >= len(rows):
        raise InputError(f"{folder / EARLIER_EDITS} is not a log of corrections of this run")
    earlier = earlier.add(edits, clusters)
    with progress.stage("load"):
        progress.advance(0, 0)
        from rstc.estimator import RSTC
        from rstc.report.fitted_run import RunOrigin

        model = RSTC.load(folder / MODEL)
    model.update(
        new_texts,
        old=old_texts,
        fixed={int(rows[row]): int(clusters[row]) for row in earlier.rows},
        proposals=move_rows(run.proposals, dict(enumerate(rows.tolist()))),
        progress=listener,
    )
    update = UpdateSummary.from_json({"file": Path(path).name, "rows": len(new)} | model.drift_.to_dict())
    entry = UpdateEntry(
        file=Path(path).name,
        n_rows=len(new),
        n_known=0 if again else int(is_known.sum()),
        n_edits=len(edits),
        digest=digest,
        date=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    )
    origin = RunOrigin(
        run.summary.preset,
        run.summary.seed,
        before.guard_formulas,
        update=update,
        keep_columns=before.keep_columns,
        comparisons=comparisons or read_request(folder),
        digest=before.digest,
        updates=(*run.summary.updates, entry),
        overlaps=_find_overlaps(model),
        sources=run.summary.sources,
    )

    def write_more(new_folder: Path, points: Points) -> None:
        proposals = _renumber(model.proposals_, run.proposals, points)
        if proposals:
            write_proposals(new_folder, proposals)
        if earlier.edits:
            write_earlier_edits(new_folder, earlier)
        if (folder / NAME_ANSWERS).is_file():
            shutil.copy2(folder / NAME_ANSWERS, new_folder / NAME_ANSWERS)

    write_results(folder, run_input, model, origin, progress, SINGLE_PROCESS, write_more=write_more)
    return add_map_and_page(folder, progress)


def _find_known(summary: Summary, old: pd.DataFrame, new: pd.DataFrame, digest: str) -> NDArray[np.bool_]:
    """Return which rows of a file a run holds already; all of them if it was made of the same file."""
    if digest in {summary.input.digest, *(entry.digest for entry in summary.updates)}:
        return np.ones(len(new), dtype=bool)
    added = [entry.n_rows for entry in summary.updates]
    return find_known_rows(old, new, [len(old) - sum(added), *added])


def _renumber(found: Iterable[Proposal], earlier: Iterable[Proposal], points: Points) -> list[Proposal]:
    """Return the proposals of a run after an update, the found ones by the indices of their texts on the page."""
    index = {int(row): i for i, row in enumerate(points.rows.tolist())}
    earlier = list(earlier)
    proposals = keep_unmatched((proposal for proposal in earlier if proposal.status == OPEN), move_rows(found, index))
    next_id, numbered = max((proposal.id for proposal in earlier), default=0) + 1, []
    present = {id(proposal) for proposal in earlier}
    for proposal in proposals:
        if id(proposal) not in present:
            proposal, next_id = replace(proposal, id=next_id), next_id + 1
        numbered.append(proposal)
    settled = [proposal for proposal in earlier if proposal.status != OPEN]
    return sorted([*settled, *numbered], key=lambda proposal: proposal.id)


def _find_overlaps(model: RSTC) -> tuple[ClusterOverlap, ...]:
    """Return the pairs of clusters of an updated model that are hard to tell apart."""
    from rstc.pseudo_labels.overlap import find_overlaps

    if model.reliability_ is None:
        return ()
    return tuple(
        ClusterOverlap(cluster=pair.cluster, other=pair.other, share=round(pair.share, 4))
        for pair in find_overlaps(model.reliability_.repeats, model.n_clusters_)
    )
