"""`rstc info`: print what a model is and how it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _format_n_texts(facts: dict[str, Any]) -> str:
    n_texts, n_trained = facts["n_texts"], facts.get("n_trained", facts["n_texts"])
    if not n_texts:
        return "unknown"
    return f"{n_texts:,} texts" if n_trained == n_texts else f"a sample of {n_trained:,} of {n_texts:,} texts"


def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder or model folder.")],
) -> None:
    """Print what a model is and how it was trained.

    Example:

        rstc info run
    """
    from rstc.cli.display import cluster_table, format_levels, output
    from rstc.persistence.model_description import read_description
    from rstc.results.corrected_run import CorrectedRun
    from rstc.results.run_folder import SUMMARY, find_model, is_unfinished, read_summary

    description = read_description(find_model(folder))
    facts, config = description.facts, description.config
    converged = ", converged" if facts["settled"] else ""
    seed = "not recorded" if facts["random_state"] is None else facts["random_state"]
    lines = {
        "clusters": description.n_clusters,
        "trained on": _format_n_texts(facts),
        "training": f"{facts['n_iter']} steps{converged}",
        "preset, seed": f"{facts['preset']}, {seed}",
        "encoder": config["encoder"] or "all-MiniLM-L6-v2 (bundled)",
        "settings": ", ".join(f"{name}={value}" for name, value in config.items() if name != "encoder"),
        "versions": ", ".join(f"{name} {value}" for name, value in description.versions.items()),
    }
    for name, value in lines.items():
        output.print(f"{name:<13} {value}")
    if is_unfinished(folder):
        output.print(f"{'map, page':<13} missing, because the run was interrupted: `rstc report {folder}` makes them")
        output.print(cluster_table(read_summary(folder).clusters))
    elif (folder / SUMMARY).is_file():
        run = CorrectedRun.read(folder)
        source = run.summary.input
        output.print(f"{'input':<13} {source.file}, column {source.text_column!r}")
        if run.summary.reliability:
            when = "before corrections: " if run.changed.any() else ""
            output.print(f"{'reliability':<13} {when}{run.summary.reliability.describe()}")
        if levels := run.levels():
            output.print(f"{'levels':<13} {format_levels(levels, folder).removeprefix('Levels: ')}", soft_wrap=True)
        if run.log.edits:
            output.print(f"{'corrections':<13} {len(run.log.edits)}")
        output.print(cluster_table(run.entries()))
