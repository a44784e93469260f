"""`rstc cluster` and `rstc demo`: a file of texts to a run folder and a table of its clusters."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from rstc.cli.options import Device, Encoding, Format, GuardFormulas, TextColumn, note_guarded, note_plain_input
from rstc.config import parse_setting
from rstc.errors import InputError

Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The run folder to write.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in that folder.")]
Resume = Annotated[
    bool | None,
    typer.Option(
        "--resume/--from-scratch",
        help="Go on from where a run of the same command was stopped in DIR, as is done anyway, or begin anew.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed and file give the same clusters.")]


def cluster(
    file: Annotated[str, typer.Argument(help="CSV, TSV, JSONL, Parquet, plain text (one a line), or - for stdin.")],
    out: Out,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters", "-k", metavar="K", help="How many clusters: 12, a range as 10-60, or what the texts suggest."
        ),
    ] = "auto",
    text_column: TextColumn = None,
    views: Annotated[
        str | None,
        typer.Option("--views", metavar="A,B", help="Two columns that hold changed versions of each text."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            metavar="SHARE",
            help="Give strange texts cluster -1, until only this share of the others is expected to belong nowhere.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="COLUMN",
            help="What you know: a class in some rows, empty in others. Each is a cluster; new ones are still found.",
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth", metavar="COLUMN", help="True classes, for scores on the page; clustering ignores them."
        ),
    ] = None,
    preset: Annotated[str, typer.Option(help="default, or paper for the paper's settings.")] = "default",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated."),
    ] = None,
    seed: Seed = 0,
    format: Format = None,
    encoding: Encoding = "utf-8",
    guard_formulas: GuardFormulas = False,
    overwrite: Overwrite = False,
    resume: Resume = None,
    device: Device = "auto",
) -> None:
    """Cluster the texts of a file.

    Writes DIR/clusters.* (your rows with `cluster` and `confidence`), DIR/report.html (the result as a page: open it in
    a browser), DIR/summary.json, DIR/points.parquet and DIR/model/.

    A run that was stopped or killed goes on where it was when the same command is given again.

    Examples:

        rstc cluster tickets.csv --out run

        rstc cluster tickets.csv --clusters 12 --out run

        rstc cluster tickets.csv --clusters 10-60 --out run

        rstc cluster tickets.csv --out run --noise 0.005

        rstc cluster tickets.csv -k 12 --out run --labels topic_if_known

        rstc cluster tweets.jsonl -k 40 --text-column body --out run --seed 1

        rstc cluster titles.txt -k 20 --out run --preset paper --set imbalance=heavy --set max_steps=1000

        rstc cluster augmented.csv -k 12 --out run --views text1,text2

        torchrun --nproc-per-node=2 -m rstc cluster tickets.parquet -k 12 --out run

        cut -f2 queries.tsv | rstc cluster - -k 30 --out run
    """
    changed = {"device": device} | dict(parse_setting(assignment) for assignment in settings or [])
    if noise is not None:
        changed["noise"] = noise
    _run(
        file,
        out,
        int(clusters) if clusters.strip().isdecimal() else clusters,
        text_column=text_column,
        view_columns=_two_columns(views),
        truth_column=truth,
        label_column=labels,
        preset=preset,
        settings=changed,
        seed=seed,
        format=format,
        encoding=encoding,
        guard_formulas=guard_formulas,
        overwrite=overwrite,
        resume=resume,
    )


def _two_columns(views: str | None) -> tuple[str, str] | None:
    """Read the names of two columns with a comma between."""
    if views is None:
        return None
    first, comma, second = (part.strip() for part in views.partition(","))
    if not (first and comma and second) or "," in second:
        raise InputError(f"--views names two columns with a comma between, as in text1,text2; got {views!r}")
    return first, second


def demo(out: Out = Path("demo-run"), overwrite: Overwrite = False, seed: Seed = 0) -> None:
    """Cluster the bundled sample: 465 customer messages in 10 topics, from 125 messages to 6.

    Example:

        rstc demo --out demo-run
    """
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        _run(str(sample), out, 10, seed=seed, overwrite=overwrite, truth_column="topic")
    from rstc.cli.display import output

    output.print(
        f"How well did it do? rstc evaluate {out / 'clusters.csv'} --truth topic", highlight=False, markup=False
    )


def _run(file: str, out: Path, n_clusters: int | str, resume: bool | None = None, **options: Any) -> None:
    """Cluster a file and show what came of it."""
    from rstc.cli.display import cluster_table, count_line, noise_line, output, seconds_line, shown_progress

    note_plain_input(file, options.get("format"))
    with shown_progress() as listener:
        from rstc.runtime.distributed import told_when_one_ends
        from rstc.results.run_folder import REPORT
        from rstc.pipelines.cluster import cluster_file
        from rstc.runtime.signals import Stopping

        stopping = Stopping()
        with told_when_one_ends() as ranks, stopping.listening() if ranks.alone else nullcontext():
            summary = cluster_file(
                file, out, n_clusters, resume=resume is not False, stopping=stopping, listener=listener, **options
            )
    if summary is None:  # another of the processes that share the run tells of it
        return
    output.print(cluster_table(summary["clusters"]))
    texts, trained_on = summary["input"]["texts"], summary["input"]["trained_on"]
    settled = ", when the clusters had settled" if summary["settled"] else ""
    sampled = f" on a sample of {trained_on:,}" if trained_on < texts else ""
    resumed_at = summary["resumed_at"]
    if resumed_at is not None:
        output.print(f"The run went on from step {resumed_at}, where it was before", highlight=False, markup=False)
    elif resume:
        output.print("There was nothing to resume; the run began anew", highlight=False, markup=False)
    if summary["count"]:
        output.print(count_line(summary["count"]), highlight=False, markup=False)
    output.print(
        f"{texts:,} texts (column {summary['input']['text_column']!r}) in "
        f"{summary['clusters_found']} clusters; trained for {summary['steps']} steps{sampled}{settled}",
        highlight=False,
        markup=False,
    )
    known = [f"{one['label']} is cluster {one['cluster']}" for one in summary["clusters"] if one["label"] is not None]
    if known:
        output.print(f"Known classes: {', '.join(known)}", highlight=False, markup=False)
    if summary["noise"]:
        output.print(noise_line(summary["noise"]), highlight=False, markup=False)
    seconds = summary["seconds"]
    where = f"Time: {sum(seconds.values()):.0f} s ({seconds_line(seconds)})"
    output.print(where, highlight=False, markup=False, soft_wrap=True)
    if options.get("truth_column"):
        from rstc.cli.report import add_truth

        add_truth(out, options["truth_column"])
    note_guarded(options.get("guard_formulas", False), summary["input"]["format"])
    output.print(f"Written to {out}; look at it: {out / REPORT}", highlight=False, markup=False, soft_wrap=True)
