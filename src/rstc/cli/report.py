"""`rstc report` and `rstc figures`: a run to look at, as a page and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")]


def report(
    folder: Run,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="COLUMN", help="True classes, a column of the input, to compare with."),
    ] = None,
) -> None:
    """Write a run's page again: DIR/report.html, with the corrections that were made since.

    It is one file that needs no network: open it in a browser, send it to a colleague. It holds the texts.

    Example:

        rstc report run --truth topic
    """
    from rstc.cli.display import output
    from rstc.report.html.render import write_page

    written = write_page(folder) if truth is None else add_truth(folder, truth)
    output.print(f"Written to {written}", highlight=False, markup=False, soft_wrap=True)


def add_truth(folder: Path, column: str) -> Path:
    """Compare the clusters that a run found with true classes, in its summary and on its page; return the page."""
    from rstc.metrics import confusion, evaluate
    from rstc.results.corrected_run import RunNow
    from rstc.report.html.render import write_page
    from rstc.results.run_folder import read_rows, write_summary
    from rstc.io.columns import find_text_column, texts_of

    run = RunNow.read(folder)
    table = read_rows(folder, run.summary["input"], run.points)
    classes = texts_of(table, find_text_column(table, column))
    pairs = [
        (known, cluster)
        for known, cluster in zip((classes[row] for row in run.points.rows), run.points.clusters.tolist(), strict=True)
        if known is not None
    ]
    truth, clusters = [known for known, _ in pairs], [cluster for _, cluster in pairs]
    scores, counts = evaluate(truth, clusters), confusion(truth, clusters)
    run.summary["truth"] = {
        "column": column,
        "texts": len(pairs),
        **{name: getattr(scores, name) for name in ("acc", "nmi", "ari")},
        "classes": counts.index.tolist(),
        "clusters": counts.columns.tolist(),
        "matrix": counts.to_numpy().tolist(),
    }
    write_summary(folder, run.summary)
    return write_page(folder, run)


def figures(
    folder: Run,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the pictures go.")],
) -> None:
    """Draw a run for slides: map, sizes and training curves, each as PNG and SVG.

    Example:

        rstc figures run --out pictures
    """
    from rstc.cli.display import output
    from rstc.report.figures import write_figures
    from rstc.results.corrected_run import RunNow

    for path in write_figures(RunNow.read(folder), out):
        output.print(str(path), highlight=False, markup=False, soft_wrap=True)
