"""`rstc update`: more rows taken into a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rstc.cli.options import Encoding


def update(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder.")],
    file: Annotated[str, typer.Argument(help="The new rows: CSV, TSV, JSONL, Parquet or plain text.")],
    encoding: Encoding = "utf-8",
) -> None:
    """Take new rows into a run.

    The model goes on training with the old and the new texts. Clusters keep their numbers, and a text changes its
    cluster only if the texts say so. DIR then holds the old rows and after them the new ones; how the new ones differ
    is printed. No cluster is added: where they differ a lot, cluster anew.

    Example:

        rstc update run this_week.csv
    """
    from rstc.cli.display import cluster_table, output, shown_progress

    with shown_progress() as listener:
        from rstc.pipelines.cluster import update_run

        summary = update_run(folder, file, encoding=encoding, listener=listener)
    output.print(cluster_table(summary["clusters"]))
    for line in drift_lines(summary):
        output.print(line, highlight=False, markup=False)


def drift_lines(summary: dict[str, Any]) -> list[str]:
    """Say how new rows differ."""
    drift, names = summary["update"], {one["cluster"]: one["name"] for one in summary["clusters"]}
    gains = [new - old for new, old in zip(drift["shares"], drift["shares_before"], strict=True)]
    most = sorted(range(len(gains)), key=lambda cluster: -abs(gains[cluster]))[:3]
    told = ", ".join(
        f"{names.get(c, c)} {drift['shares_before'][c]:.0%} -> {drift['shares'][c]:.0%}" for c in most if gains[c]
    )
    far = drift["distance"] > 2 * drift["expected"]
    return [
        f"{drift['texts']:,} new texts; {drift['moved']:.1%} of the old ones are in another cluster than before",
        f"Drift {drift['distance']:.2f}, by chance it would be {drift['expected']:.2f}: "
        + ("they differ from the old ones" if far else "they are like the old ones")
        + (f" ({told})" if told else ""),
        f"Confidence {drift['confidence']:.2f}, of the old ones {drift['confidence_before']:.2f}",
    ]
