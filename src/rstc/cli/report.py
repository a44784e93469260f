"""`rstc report` and `rstc figures`: write a run as an HTML page and as figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.completion import complete_column
from rstc.cli.documents.files import FilesDocument

Run = Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")]


def report(
    folder: Run,
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth",
            metavar="COLUMN",
            help="Column of the input with true classes, to compare with.",
            autocompletion=complete_column,
        ),
    ] = None,
) -> FilesDocument:
    """Write the page of a run again: DIR/report.html, with all corrections made so far.

    If the run was interrupted after its clusters were written, the map is drawn as well.

    The page is one file that needs no network: open it in a browser or send it to a colleague. It contains the texts.

    Example:

        rstc report run --truth topic
    """
    from rstc.cli.display import output, show_progress
    from rstc.results.run_files import is_unfinished

    if is_unfinished(folder):  # the run was interrupted
        with show_progress(folder) as listener:
            from rstc.pipelines.cluster import add_map_and_page
            from rstc.runtime.progress import Progress

            add_map_and_page(folder, Progress(listener))
    if truth is None:
        from rstc.report.html.render import write_page

        page = write_page(folder)
    else:
        from rstc.pipelines.score import score_run

        page = score_run(folder, truth)
    output.print(f"Written to {page}", soft_wrap=True)
    return FilesDocument(files=[str(page)])


def figures(
    folder: Run,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
) -> FilesDocument:
    """Draw the map, the hierarchy, the cluster sizes and the training curves of a run, each as PNG and SVG.

    What the clusters were compared by (`rstc compare`) is drawn as well: over_time, and by_COLUMN for each column.

    Example:

        rstc figures run --out pictures
    """
    from rstc.cli.display import output
    from rstc.report.figures import write_figures
    from rstc.results.comparisons import repeat_comparisons
    from rstc.results.corrected_run import CorrectedRun

    run = CorrectedRun.read(folder)
    files = [str(path) for path in write_figures(run, out, repeat_comparisons(folder, run))]
    for path in files:
        output.print(path, soft_wrap=True)
    return FilesDocument(files=files)
