"""`rstc cluster --dry-run`: print what a run would do, and what it would take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rstc.cli.documents.plans import EncoderItem, EstimateItem, PlanDocument, SourceItem, TextsItem
from rstc.cli.options import warn_plain_text_input

if TYPE_CHECKING:
    from rstc.pipelines.plan import RunPlan
    from rstc.pipelines.request import RunRequest

ACTIONS = {
    "start": "start a new run",
    "replace": "replace the earlier run",
    "resume": "resume from a checkpoint, if it is of the same command",
    "complete": "only make the map and the page of the interrupted run",
}


def show_plan(request: RunRequest, given: Mapping[str, tuple[Any, str]]) -> PlanDocument:
    """Plan a run, print the plan and return its document.

    Parameters
    ----------
    request : RunRequest
        The request of the run.
    given : mapping
        The options and settings that were given, each with its value and where it was given.
    """
    from rstc.cli.display import output, show_progress

    warn_plain_text_input(request.path, request.format)
    with show_progress(request.path) as listener:
        from rstc.pipelines.plan import plan_run

        plan = plan_run(request, listener)
    document = describe_plan(plan, request, given)
    for name, text in format_plan(document):
        output.print(f"{name:<12} {text}", soft_wrap=True)
    return document


def describe_plan(plan: RunPlan, request: RunRequest, given: Mapping[str, tuple[Any, str]]) -> PlanDocument:
    """Return the document of a plan."""
    from rstc.io.columns import list_text_columns
    from rstc.representation.encoder_choice import BUNDLED_TITLE

    columns = plan.run_input.columns
    comparisons = request.comparisons
    used = {
        "text": list_text_columns(columns.text),
        "views": list(columns.views or ()),
        "labels": [columns.labels] if columns.labels else [],
        "truth": [request.truth_column] if request.truth_column else [],
        "time": [comparisons.time] if comparisons and comparisons.time else [],
        "by": comparisons.by if comparisons else [],
    }
    seconds = {name: round(value, 1) for name, value in vars(plan.seconds).items()}
    return PlanDocument(
        dry_run=True,
        folder=str(request.out),
        action=plan.action,
        writes=[str(path) for path in plan.writes],
        overwrites=[str(path) for path in plan.overwrites],
        file=request.path,
        format=plan.run_input.format,
        columns={name: members for name, members in used.items() if members},
        kept_columns=plan.kept_columns,
        texts=TextsItem(
            n_rows=plan.run_input.n_rows,
            n_texts=plan.n_texts,
            n_distinct=plan.n_distinct,
            n_characters=plan.n_characters,
            languages=plan.languages,
        ),
        n_clusters=plan.n_clusters if isinstance(plan.n_clusters, int) else list(plan.n_clusters),
        n_trained=plan.n_trained,
        training=_describe_training(plan),
        encoder=EncoderItem(
            name=plan.config.encoder or BUNDLED_TITLE,
            reason=plan.encoder_reason,
            dim=plan.dim,
            max_tokens=plan.max_tokens,
            truncated_share=round(plan.truncated_share, 4),
            device=plan.device,
            n_to_encode=plan.n_to_encode,
        ),
        estimate=EstimateItem(
            memory_gb=round(plan.memory_bytes / 1e9, 2),
            free_memory_gb=None if plan.free_bytes is None else round(plan.free_bytes / 1e9, 2),
            seconds=round(plan.seconds.total, 1),
            seconds_by_part=seconds,
        ),
        seed=request.seed,
        preset=request.preset,
        given={name: SourceItem(value=value, source=source) for name, (value, source) in given.items()},
    )


def _describe_training(plan: RunPlan) -> str:
    """Return whether and how long a run trains the encoder."""
    if not plan.max_steps:
        return "none"
    if plan.tries_training:
        return f"decided by the run, at most {plan.max_steps} steps"
    return f"at most {plan.max_steps} steps"


def format_plan(plan: PlanDocument) -> list[tuple[str, str]]:
    """Return what a plan says as lines, each with its heading."""
    texts, encoder, estimate = plan.texts, plan.encoder, plan.estimate
    columns = "; ".join(f"{purpose}: {', '.join(names)}" for purpose, names in plan.columns.items())
    kept = f"; kept: {', '.join(plan.kept_columns)}" if plan.kept_columns else ""
    sample = f", found on a sample of {plan.n_trained:,} texts" if plan.n_trained < texts.n_texts else ""
    parts = ", ".join(f"{name} {value:.0f}" for name, value in estimate.seconds_by_part.items() if value >= 0.5)
    free = "" if estimate.free_memory_gb is None else f" of {estimate.free_memory_gb:.1f} GB"
    lines = [
        ("dry run", f"nothing is written; the run would {ACTIONS[plan.action]}"),
        ("input", f"{plan.file} ({plan.format}), {columns}{kept}"),
        (
            "texts",
            f"{texts.n_texts:,} in {texts.n_rows:,} rows, {texts.n_distinct:,} distinct; "
            f"language: {', '.join(texts.languages)}",
        ),
        ("clusters", f"{_format_number(plan.n_clusters)}{sample}"),
        ("training", plan.training),
        (
            "encoder",
            f"{encoder.name}, {encoder.dim} dimensions, on {encoder.device}; {encoder.max_tokens} tokens, which "
            f"{encoder.truncated_share:.0%} of the texts exceed; {encoder.n_to_encode:,} texts are not cached",
        ),
        ("memory", f"about {estimate.memory_gb:.1f} GB{free} (estimate)"),
        ("time", f"about {estimate.seconds:.0f} s (estimate: {parts})"),
        ("writes", ", ".join(plan.writes)),
    ]
    if plan.overwrites:
        lines.append(("overwrites", ", ".join(plan.overwrites)))
    for number, (name, one) in enumerate(plan.given.items()):
        lines.append(("" if number else "given", f"{name}={one.value} ({one.source})"))
    return lines


def _format_number(n_clusters: int | list[int | None]) -> str:
    """Return the number of clusters in words.

    >>> _format_number(12), _format_number([2, None]), _format_number([10, 60])
    ('12', 'estimated', 'estimated, 10 to 60')
    """
    if isinstance(n_clusters, int):
        return f"{n_clusters:,}"
    low, high = n_clusters
    return "estimated" if high is None else f"estimated, {low} to {high}"
