"""`rstc info`: print what a run or a model is and how it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rstc.cli.documents.runs import ClusterItem, InfoDocument, MessageItem
from rstc.runtime.terminal_text import clean_line

if TYPE_CHECKING:
    from rstc.results.corrected_run import CorrectedRun
    from rstc.results.summary import ClusterEntry, Summary


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
) -> InfoDocument:
    """Print what a run or a model is and how it was trained, with its largest clusters.

    Examples:

        rstc info run

        rstc info run --all
    """
    from rstc.cli.display import output, print_clusters
    from rstc.persistence.model_description import read_description
    from rstc.representation.encoder_choice import BUNDLED_TITLE
    from rstc.results.run_files import SUMMARY
    from rstc.results.run_models import find_model, find_original_model, lacks_corrected_model

    is_uncorrected = lacks_corrected_model(folder)
    description = read_description(find_original_model(folder) if is_uncorrected else find_model(folder))
    facts, config = description.facts, description.config
    converged = ", converged" if facts["settled"] else ""
    seed = "not recorded" if facts["random_state"] is None else facts["random_state"]
    lines = {
        "clusters": str(description.n_clusters),
        "trained on": _format_n_texts(facts),
        "training": f"{facts['n_iter']} steps{converged}",
        "preset, seed": f"{facts['preset']}, {seed}",
        "encoder": config["encoder"] or BUNDLED_TITLE,
    }
    if show_all:
        lines["settings"] = ", ".join(f"{name}={value}" for name, value in config.items() if name != "encoder")
        lines["versions"] = ", ".join(f"{name} {value}" for name, value in description.versions.items())
    if is_uncorrected:
        lines["model"] = f"does not know the corrections: `rstc apply {folder}` where torch is installed changes it"
    clusters: list[ClusterEntry] = []
    summary, run, n_edits = None, None, 0
    if (folder / SUMMARY).is_file():
        summary, run = _read_run(folder)
        clusters, n_edits = (run.entries(), len(run.log.edits)) if run else (summary.clusters, 0)
        lines |= _describe_run(folder, summary, run, show_all)
    for name, value in lines.items():
        output.print(f"{name:<13} {clean_line(str(value))}", soft_wrap=True)
    if clusters:
        print_clusters(clusters, folder, show_all)
    return InfoDocument(
        folder=str(folder),
        n_clusters=description.n_clusters,
        n_texts=facts["n_texts"],
        n_iter=facts["n_iter"],
        preset=facts["preset"],
        seed=facts["random_state"],
        encoder=lines["encoder"],
        settings=config,
        versions=description.versions,
        is_run=summary is not None,
        is_finished=run is not None,
        n_edits=n_edits,
        reliability=summary.reliability.describe() if summary and summary.reliability else None,
        messages=MessageItem.list_from(summary.messages if summary else ()),
        decisions=summary.decisions if summary else [],
        clusters=ClusterItem.list_from(clusters),
        sources=summary.sources if summary else {},
    )


def _read_run(folder: Path) -> tuple[Summary, CorrectedRun | None]:
    """Read a run; without its corrections if it is not finished."""
    from rstc.results.corrected_run import CorrectedRun
    from rstc.results.run_files import is_unfinished
    from rstc.results.run_folder import read_summary

    run = None if is_unfinished(folder) else CorrectedRun.read(folder)
    return (run.summary if run else read_summary(folder)), run


def _describe_run(folder: Path, summary: Summary, run: CorrectedRun | None, show_all: bool) -> dict[str, str]:
    """Return lines on a run, by their names."""
    from rstc.cli.display import format_levels, format_n_clusters, format_seconds
    from rstc.cli.messages import format_messages
    from rstc.io.columns import format_text_column
    from rstc.language.names import describe_languages

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
        if summary.sources:
            lines["given by"] = ", ".join(f"{name} by {source}" for name, source in summary.sources.items())
        lines["device"] = f"{summary.device}, {summary.precision}"
        lines["made"] = summary.created
        lines["seconds"] = f"{sum(summary.seconds.values()):.0f} ({format_seconds(summary.seconds)})"
    return lines
