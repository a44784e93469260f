"""`rstc cluster` and `rstc demo`: cluster a file of texts into a run folder and print its clusters."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.cli.commands import COMMAND_LINE, find_given, merge_settings
from rstc.cli.compare import Every, GroupColumns, TimeColumn, print_comparison_findings
from rstc.cli.completion import complete_column, complete_level, complete_preset, complete_setting
from rstc.cli.documents.plans import PlanDocument
from rstc.cli.documents.runs import ClusterItem, LevelItem, MessageItem, RunDocument, ScoresItem, SearchItem
from rstc.cli.options import (
    Device,
    Encoding,
    Format,
    GuardFormulas,
    Header,
    Sheet,
    TextColumn,
    report_formula_guard,
    warn_plain_text_input,
)
from rstc.errors import InputError
from rstc.io.cache_folder import default_cache_folder

if TYPE_CHECKING:
    from rstc.pipelines.request import RunRequest
    from rstc.results.summary import Summary

MAX_DIGITS = 100  # of a number of clusters or a range
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Run folder to write.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in DIR.")]
Resume = Annotated[
    bool | None,
    typer.Option(
        "--resume/--from-scratch",
        help="Resume an interrupted run of the same command in DIR (the default), or start from scratch.",
        show_default=False,
    ),
]
Cache = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Store the embeddings of the texts for later runs, and use stored ones (`rstc cache` shows where).",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed; the same seed and file give the same clusters.")]


def cluster(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON(L), Excel, Parquet or plain text (one text per line), text also with .gz; - for "
            "standard input."
        ),
    ],
    out: Out,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K",
            help="Number of clusters: 12, a range such as 10-60, or auto to estimate it.",
        ),
    ] = "auto",
    text_column: TextColumn = None,
    views: Annotated[
        str | None,
        typer.Option("--views", metavar="A,B", help="Two columns that hold augmented versions of each text."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            metavar="SHARE",
            help="Give outliers cluster -1 until only this share of outliers is expected among the other texts.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="COLUMN",
            help="Partial labels: a class in some rows, empty in the others. Each class becomes a cluster.",
            autocompletion=complete_column,
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth",
            metavar="COLUMN",
            help="True classes, only used for scores on the page, not for clustering.",
            autocompletion=complete_column,
        ),
    ] = None,
    detail: Annotated[
        str | None,
        typer.Option(
            "--detail",
            metavar="LEVEL",
            help="coarse, medium or fine: fewer or more clusters than K, of the same hierarchy (`rstc detail` switches "
            "later). By default medium, but coarse if K is estimated and uncertain.",
            autocompletion=complete_level,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="Sentence encoder: all-MiniLM-L6-v2 (English), multilingual, a folder or a hub name. By default the "
            "languages of the texts decide between the first two.",
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="default, or paper for the settings of the paper.",
            autocompletion=complete_preset,
        ),
    ] = "default",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change a setting; may be repeated. `rstc settings` lists them.",
            autocompletion=complete_setting,
        ),
    ] = None,
    seed: Seed = 0,
    format: Format = None,
    sheet: Sheet = None,
    encoding: Encoding = "utf-8",
    header: Header = None,
    guard_formulas: GuardFormulas = False,
    keep_columns: Annotated[
        bool,
        typer.Option(
            "--columns/--no-columns",
            help="Keep the other columns of the file on the page and in points.parquet, to filter and compare by.",
        ),
    ] = True,
    time: TimeColumn = None,
    every: Every = None,
    by: GroupColumns = None,
    overwrite: Overwrite = False,
    resume: Resume = None,
    cache: Cache = True,
    device: Device = "auto",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check the input and say what would be done, with an estimate of time and memory; write nothing.",
        ),
    ] = False,
) -> RunDocument | PlanDocument | None:
    """Cluster the texts of a file.

    Writes DIR/clusters.* (the rows of the file with `cluster`, `cluster_name` and `confidence`, in the format of the
    file), DIR/report.html (open it in a browser), DIR/summary.json, DIR/points.parquet and DIR/model/. Clusters are
    numbered by size, the largest is 0; corrections and updates do not change the numbers.

    An interrupted run resumes from its last checkpoint when the same command is given again.

    Examples:

        rstc cluster tickets.csv --out run

        rstc cluster tickets.csv --clusters 12 --out run

        rstc cluster tickets.csv --clusters 10-60 --out run

        rstc cluster tickets.csv --detail coarse --out run

        rstc cluster tickets.csv --out run --noise 0.005

        rstc cluster bewertungen.csv --out run --encoder multilingual

        rstc cluster tickets.csv -k 12 --out run --labels known_topic

        rstc cluster tweets.jsonl -k 40 --text-column body --out run --seed 1

        rstc cluster survey.xlsx --sheet Answers --text-column title --text-column body --out run

        rstc cluster titles.txt -k 20 --out run --preset paper --set imbalance=heavy --set max_steps=1000

        rstc cluster augmented.csv -k 12 --out run --views text1,text2

        torchrun --nproc-per-node=2 -m rstc cluster tickets.parquet -k 12 --out run

        rstc cluster tweets.csv -k 12 --out run --time posted_at --by airline

        cut -f2 queries.tsv | rstc cluster - -k 30 --out run
    """
    from rstc.pipelines.request import RunRequest
    from rstc.results.comparisons import ComparisonRequest

    changes = merge_settings(
        context, settings, {"device": device, "encoder": encoder, "noise": noise, "detail": detail}
    )
    given = find_given(context)
    request = RunRequest(
        file,
        out,
        _parse_n_clusters(clusters),
        text_column=text_column,
        view_columns=_parse_view_columns(views),
        truth_column=truth,
        label_column=labels,
        format=format,
        encoding=encoding,
        header=header,
        sheet=sheet,
        preset=preset,
        settings=changes,
        seed=seed,
        guard_formulas=guard_formulas,
        keep_columns=keep_columns,
        comparisons=ComparisonRequest.build(time, every, by or []),
        sources={name: source for name, (_, source) in given.items() if source != COMMAND_LINE},
        overwrite=overwrite,
        resume=resume is not False,
        cache=default_cache_folder() if cache else None,
    )
    if dry_run:
        from rstc.cli.plan import show_plan

        return show_plan(request, given)
    return _run(request, resume_requested=bool(resume))


def _parse_n_clusters(text: str) -> int | str:
    """Return a number of clusters; ranges and other words are parsed where they are validated."""
    if len(text) > MAX_DIGITS:
        raise InputError(f"n_clusters={text[:MAX_DIGITS]}... is not a number of clusters")
    return int(text) if text.strip().isdecimal() else text


def _parse_view_columns(views: str | None) -> tuple[str, str] | None:
    """Parse two column names separated by a comma."""
    if views is None:
        return None
    first, comma, second = (part.strip() for part in views.partition(","))
    if not (first and comma and second) or "," in second:
        raise InputError(f"--views expects two columns separated by a comma, such as text1,text2; got {views!r}")
    return first, second


def demo(out: Out = Path("demo-run"), overwrite: Overwrite = False, seed: Seed = 0) -> RunDocument | None:
    """Cluster the bundled sample: 465 customer messages in 10 topics, from 125 messages to 6.

    The clusters are compared over time (`date`) and between channels (`channel`). Both columns of the sample are
    invented; the true `topic` is only used for scores.

    Example:

        rstc demo --out demo-run
    """
    from rstc.cli.display import output
    from rstc.pipelines.request import RunRequest
    from rstc.results.comparisons import ComparisonRequest

    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        comparisons = ComparisonRequest.build("date", None, ["channel"])
        request = RunRequest(
            str(sample), out, 10, truth_column="topic", seed=seed, comparisons=comparisons, overwrite=overwrite
        )
        document = _run(request)
    output.print(
        f"Look next at the page's tabs Over time and Groups; correct clusters: rstc explore {out}", soft_wrap=True
    )
    output.print(f"Compare with the true topics: rstc evaluate {out / 'clusters.csv'} --truth topic", soft_wrap=True)
    return document


def _run(request: RunRequest, resume_requested: bool = False) -> RunDocument | None:
    """Cluster a file and print the result."""
    from rstc.cli.display import output, show_progress

    out = request.out
    warn_plain_text_input(request.path, request.format)
    with show_progress(request.path, out) as listener:
        from rstc.pipelines.cluster import cluster_file
        from rstc.results.run_files import REPORT
        from rstc.results.run_folder import read_summary
        from rstc.runtime.distributed import process_group_session
        from rstc.runtime.signals import StopHandler

        stop_handler = StopHandler()
        with process_group_session() as processes, stop_handler.listen() if processes.is_single else nullcontext():
            summary = cluster_file(request, stop_handler=stop_handler, listener=listener)
    if summary is None:  # another process of the group prints the result
        return None
    _print_summary(summary, out, resume_requested=resume_requested)
    if request.truth_column:
        from rstc.pipelines.score import score_run

        score_run(out, request.truth_column)
        summary = read_summary(out)
    findings = print_comparison_findings(out) if request.comparisons else []
    report_formula_guard(request.guard_formulas, summary.input.format, output)
    output.print(f"Written to {out}: open {out / REPORT} in a browser", soft_wrap=True)
    return _describe_run(summary, out, findings)


def _describe_run(summary: Summary, out: Path, findings: list[str]) -> RunDocument:
    """Return the document of a run."""
    from rstc.io.columns import list_text_columns
    from rstc.io.formats import SUFFIXES
    from rstc.results.run_files import (
        CLUSTERS,
        MODEL,
        REPORT,
        SUMMARY,
    )

    files = {
        "clusters": CLUSTERS + SUFFIXES[summary.input.format],
        "report": REPORT,
        "summary": SUMMARY,
        "model": MODEL,
    }
    truth = summary.truth
    return RunDocument(
        folder=str(out),
        files={name: str(out / file) for name, file in files.items()},
        n_rows=summary.input.n_rows,
        n_texts=summary.input.n_texts,
        n_trained=summary.input.n_trained,
        text_columns=list_text_columns(summary.input.text_column),
        n_clusters=len(summary.clusters),
        search=SearchItem.build(summary.n_clusters_search),
        clusters=ClusterItem.list_from(summary.clusters),
        n_outliers=summary.outliers.n_texts if summary.outliers else None,
        levels=LevelItem.list_from(summary.levels),
        reliability=summary.reliability.describe() if summary.reliability else None,
        messages=MessageItem.list_from(summary.messages),
        decisions=summary.decisions,
        n_iter=summary.n_iter,
        resumed_at=summary.resumed_at,
        scores=ScoresItem(acc=truth.acc, nmi=truth.nmi, ari=truth.ari) if truth else None,
        findings=findings,
        seed=summary.seed,
        sources=summary.sources,
        seconds=summary.seconds,
    )


def _print_summary(summary: Summary, out: Path, resume_requested: bool) -> None:
    """Print the clusters of a run, in few lines how they were found and how far to trust them."""
    from rstc.cli.display import format_levels, format_n_clusters, format_outliers, output, print_clusters, shorten
    from rstc.cli.messages import MAX_MESSAGES, format_messages
    from rstc.io.columns import format_text_column
    from rstc.language.names import are_english, describe_languages

    print_clusters(summary.clusters, out)
    if summary.resumed_at is not None:
        output.print(f"Resumed from step {summary.resumed_at}")
    elif resume_requested:
        output.print("No checkpoint found; started from scratch")
    n_texts, n_trained = summary.input.n_texts, summary.input.n_trained
    sample = f"; clusters were found on a sample of {n_trained:,}" if n_trained < n_texts else ""
    training = f"; trained for {summary.n_iter} steps" if summary.n_iter else ""
    converged = ", converged" if summary.n_iter and summary.converged else ""
    output.print(
        f"{n_texts:,} texts ({format_text_column(summary.input.text_column)}) in "
        f"{len(summary.clusters)} clusters{sample}{training}{converged}; {sum(summary.seconds.values()):.0f} s",
        soft_wrap=True,
    )
    if not are_english(summary.languages):
        output.print(f"Languages: {describe_languages(summary.languages)}", soft_wrap=True)
    if summary.n_clusters_search:
        output.print(format_n_clusters(summary.n_clusters_search))
    if summary.levels:
        output.print(format_levels(summary.levels, out), soft_wrap=True)
    classes = [f"{entry.label} is cluster {entry.cluster}" for entry in summary.clusters if entry.label is not None]
    if classes:
        output.print(shorten(f"Known classes: {', '.join(classes)}", output.width))
    if summary.outliers:
        output.print(format_outliers(summary.outliers))
    if summary.reliability:
        warning = "Warning: " if summary.reliability.is_warning else ""
        output.print(f"{warning}{summary.reliability.describe()}")
    for line in format_messages(summary.messages, MAX_MESSAGES):
        output.print(line, soft_wrap=True)
