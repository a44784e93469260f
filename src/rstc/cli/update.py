"""`rstc update`: add new rows to a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.cli.options import Encoding

if TYPE_CHECKING:
    from rstc.results.summary import Summary


def update(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    file: Annotated[str, typer.Argument(help="New rows: CSV, TSV, JSONL, Parquet or plain text.")],
    encoding: Encoding = "utf-8",
) -> None:
    """Add new rows to a run.

    Training continues on the old and the new texts. Clusters keep their numbers; a text moves to another cluster only
    if the updated model assigns it there. DIR then holds the old rows followed by the new ones, and the drift between
    them is printed. No cluster is added: if the drift is large, cluster everything again.

    Example:

        rstc update run this_week.csv
    """
    from rstc.cli.display import cluster_table, output, show_progress

    with show_progress(file, folder) as listener:
        from rstc.pipelines.update import update_run

        summary = update_run(folder, file, encoding=encoding, listener=listener)
    output.print(cluster_table(summary.clusters))
    for line in format_drift(summary):
        output.print(line)


def format_drift(summary: Summary) -> list[str]:
    """Return lines that compare the new texts with the old ones."""
    drift, names = summary.update, {entry.cluster: entry.name for entry in summary.clusters}
    assert drift is not None
    gains = [new - old for new, old in zip(drift.shares, drift.shares_before, strict=True)]
    changed = sorted(range(len(gains)), key=lambda cluster: -abs(gains[cluster]))[:3]
    changes = ", ".join(
        f"{names.get(c, c)} {drift.shares_before[c]:.0%} -> {drift.shares[c]:.0%}" for c in changed if gains[c]
    )
    is_large = drift.distance > 2 * drift.expected
    return [
        f"{drift.n_texts:,} new texts; {drift.moved:.1%} of the old ones are in another cluster than before",
        f"Drift {drift.distance:.2f}, by chance it would be {drift.expected:.2f}: "
        + ("they differ from the old ones" if is_large else "they are like the old ones")
        + (f" ({changes})" if changes else ""),
        f"Confidence {drift.confidence:.2f}, of the old ones {drift.confidence_before:.2f}",
    ]
