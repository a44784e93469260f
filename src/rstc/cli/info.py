"""`rstc info`: what a model is and how it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _trained_on(facts: dict[str, Any]) -> str:
    texts, trained = facts["n_texts"], facts.get("n_trained", facts["n_texts"])
    if not texts:
        return "unknown"
    return f"{texts:,} texts" if trained == texts else f"a sample of {trained:,} of {texts:,} texts"


def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder, or a saved model's folder.")],
) -> None:
    """Tell what a model is and how it was made.

    Example:

        rstc info run
    """
    from rstc.cli.display import cluster_table, output
    from rstc.persistence.model_folder import read_description
    from rstc.results.corrected_run import RunNow
    from rstc.results.run_folder import SUMMARY, find_model, read_summary

    description = read_description(find_model(folder))
    facts, config = description["facts"], description["config"]
    ended = ", when the clusters had settled" if facts["settled"] else ""
    seed = "not recorded" if facts["random_state"] is None else facts["random_state"]
    lines = {
        "clusters": description["n_clusters"],
        "trained on": _trained_on(facts),
        "training": f"{facts['n_iter']} steps{ended}",
        "preset, seed": f"{facts['preset']}, {seed}",
        "encoder": config["encoder"] or "all-MiniLM-L6-v2 (embedded)",
        "settings": ", ".join(f"{name}={value}" for name, value in config.items() if name != "encoder"),
        "versions": ", ".join(f"{name} {value}" for name, value in description["versions"].items()),
    }
    for name, value in lines.items():
        output.print(f"{name:<13} {value}", highlight=False, markup=False)
    if (folder / SUMMARY).is_file():
        summary = read_summary(folder)
        source = f"{summary['input']['file']}, column {summary['input']['text_column']!r}"
        output.print(f"{'input':<13} {source}", highlight=False, markup=False)
        run = RunNow.read(folder)
        if run.log.edits:
            output.print(f"{'corrections':<13} {len(run.log.edits)}", highlight=False, markup=False)
        output.print(cluster_table(run.entries()))
