"""`rstc info`: print what a run or a model is and how it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rstc.runtime.terminal_text import clean_line

if TYPE_CHECKING:
    from rstc.results.summary import ClusterEntry


def _format_n_texts(facts: dict[str, Any]) -> str:
    n_texts, n_trained = facts["n_texts"], facts.get("n_trained", facts["n_texts"])
    if not n_texts:
        return "unknown"
    return f"{n_texts:,} texts" if n_trained == n_texts else f"a sample of {n_trained:,} of {n_texts:,} texts"


def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder or model folder.")],
    show_all: Annotated[
        bool, typer.Option("--all", help="Print all clusters, and the run's settings, versions, decisions and times.")
    ] = False,
) -> None:
    """Print what a run or a model is and how it was trained, with its largest clusters.

    Examples:

        rstc info run

        rstc info run --all
    """
    from rstc.cli.display import output, print_clusters
    from rstc.persistence.model_description import read_description
    from rstc.results.run_folder import SUMMARY, find_model

    description = read_description(find_model(folder))
    facts, config = description.facts, description.config
    converged = ", converged" if facts["settled"] else ""
    seed = "not recorded" if facts["random_state"] is None else facts["random_state"]
    lines = {
        "clusters": str(description.n_clusters),
        "trained on": _format_n_texts(facts),
        "training": f"{facts['n_iter']} steps{converged}",
        "preset, seed": f"{facts['preset']}, {seed}",
        "encoder": config["encoder"] or "all-MiniLM-L6-v2 (bundled)",
    }
    if show_all:
        lines["settings"] = ", ".join(f"{name}={value}" for name, value in config.items() if name != "encoder")
        lines["versions"] = ", ".join(f"{name} {value}" for name, value in description.versions.items())
    clusters: list[ClusterEntry] = []
    if (folder / SUMMARY).is_file():
        run_lines, clusters = _describe_run(folder, show_all)
        lines |= run_lines
    for name, value in lines.items():
        output.print(f"{name:<13} {clean_line(str(value))}", soft_wrap=True)
    if clusters:
        print_clusters(clusters, folder, show_all)


def _describe_run(folder: Path, show_all: bool) -> tuple[dict[str, str], list[ClusterEntry]]:
    """Return lines on a run, by their names, and its clusters."""
    from rstc.cli.display import format_levels, format_n_clusters, format_seconds
    from rstc.cli.messages import format_messages
    from rstc.io.columns import format_text_column
    from rstc.language.names import describe_languages
    from rstc.results.corrected_run import CorrectedRun
    from rstc.results.run_folder import is_unfinished, read_summary

    run = None if is_unfinished(folder) else CorrectedRun.read(folder)
    summary = run.summary if run else read_summary(folder)
    source = summary.input
    sheet = "" if source.sheet is None else f", sheet {source.sheet!r}"
    lines = {"input": f"{source.file}{sheet}, {format_text_column(source.text_column)}"}
    if summary.languages:
        lines["languages"] = describe_languages(summary.languages)
    if run is None:
        lines["map, page"] = f"missing, because the run was interrupted: `rstc report {folder}` makes them"
    if summary.reliability:
        when = "before corrections: " if run and run.changed.any() else ""
        lines["reliability"] = f"{when}{summary.reliability.describe()}"
    for number, line in enumerate(format_messages(summary.messages), start=1):
        lines[f"note {number}"] = line
    if levels := run.levels() if run else []:
        lines["levels"] = format_levels(levels, folder).removeprefix("Levels: ")
    if run and run.log.edits:
        lines["corrections"] = str(len(run.log.edits))
    for number, entry in enumerate(summary.updates, start=1):
        lines[f"update {number}"] = f"{entry.date[:10]}: {entry.n_rows:,} rows of {entry.file}"
    if run:
        overlaps = [o for o in summary.overlaps if {o.cluster, o.other} <= set(run.state.names)]
        for number, overlap in enumerate(overlaps, start=1):
            lines[f"overlap {number}"] = overlap.describe(run.state.names)
        for proposal in run.proposals:
            lines[f"proposal {proposal.id}"] = f"{proposal.status}: {proposal.name}, {proposal.size:,} texts"
    if show_all:
        if summary.n_clusters_search:
            lines["number"] = format_n_clusters(summary.n_clusters_search)
        if summary.decisions:
            lines["decisions"] = " ".join(summary.decisions)
        labels = [f"{entry.label} is cluster {entry.cluster}" for entry in summary.clusters if entry.label is not None]
        if labels:
            lines["known classes"] = ", ".join(labels)
        lines["device"] = f"{summary.device}, {summary.precision}"
        lines["made"] = summary.created
        lines["seconds"] = f"{sum(summary.seconds.values()):.0f} ({format_seconds(summary.seconds)})"
    return lines, run.entries() if run else summary.clusters
