"""`rstc benchmark`: the paper's experiments, from its data sets to its tables and figures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from rstc.cli.commands import add_command
from rstc.cli.documents.benchmark import (
    BenchmarkRunsDocument,
    DatasetItem,
    DatasetsDocument,
    DownloadDocument,
    DownloadItem,
    FiguresDocument,
    MethodsDocument,
    TableDocument,
)
from rstc.cli.exit_codes import INCOMPLETE, Interruption
from rstc.cli.json_output import announce
from rstc.errors import InputError, MissingExtraError
from rstc.runtime.terminal_text import replace_controls

app = typer.Typer(
    name="benchmark",
    help="Reproduce the paper: its data sets, methods, tables and figures.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder of the data sets; default: the folder of `download`."),
]
StoreFolder = Annotated[
    Path, typer.Option("--store", metavar="DIR", help="Folder of the results, one JSON file per run.")
]
Datasets = Annotated[
    str | None,
    typer.Option("--datasets", metavar="A,B", help="Comma-separated names, or all, small, uneven, noisy."),
]
Methods = Annotated[str | None, typer.Option("--methods", metavar="A,B", help="Comma-separated names, or all.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds: 0, 1 and so on.")]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        "--time-limit", metavar="TIME", help="Stop after this time: 90m, 2h or 300s. The next call continues."
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=1, help="Number of runs at the same time; they share the cores evenly.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of the methods; may be repeated."),
]
_STORE = Path("benchmarks") / "results" / "paper"  # where a checkout of rstc has its own results


@add_command(app)
def run(
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 5,
    data: Data = None,
    store: StoreFolder = _STORE,
    settings: Settings = None,
    jobs: Jobs = 1,
    time_limit: TimeLimit = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            "--checkpoints", metavar="DIR", help="Keep checkpoints, and resume runs of RSTC that were stopped."
        ),
    ] = None,
) -> BenchmarkRunsDocument:
    """Run methods on data sets and store each result; stored runs are not repeated.

    Without names, every method runs on every data set of the paper. The command can be stopped at any time: a run is
    stored completely or not at all, and the same command continues with the missing runs.

    Data sets: agnews, searchsnippets, stackoverflow, biomedical, googlenews-ts, googlenews-t, googlenews-s, tweet
    (`all`); tweet, googlenews-t, stackoverflow-4k, agnews-4k (`small`); stackoverflow, stackoverflow-10to1,
    stackoverflow-100to1 (`uneven`); tweet-noisy, googlenews-t-noisy, stackoverflow-noisy, agnews-noisy (`noisy`);
    sample, which is bundled.

    Methods: bow, tfidf, stc2-lpi, self-train, kmeans-ic, sccl, sbert, rstc-ot, rstc-c, rstc-i, rstc-paper, rstc-m2,
    rstc-m2-released, rstc-m3, sela, and rstc, our default; rstc-given is the default with the data set's own views;
    rstc-auto is the default without the number of clusters, and gsdmm does not know it either. The methods of the paper
    that train an encoder run on a short schedule for CPUs: one layer, 100 steps. `--set schedule=paper` trains all
    layers for 3,000 steps, for which a GPU is recommended.

    Examples:

        rstc benchmark run --methods bow,tfidf,sbert,kmeans-ic

        rstc benchmark run --datasets small --seeds 3 --data datasets --time-limit 2h

        rstc benchmark run --methods rstc-paper,sccl --set schedule=paper --checkpoints checkpoints
    """
    from rstc.benchmark.methods import METHODS
    from rstc.benchmark.runs import make_jobs

    changes = dict(_parse_setting(assignment) for assignment in settings or [])
    names = _expand_names(methods or "all", {"all": list(METHODS)})
    requested = make_jobs(_expand_datasets(datasets or "all"), names, seeds, [changes])
    return _run_jobs(requested, store, data, jobs, time_limit, checkpoints)


@add_command(app)
def sweep(
    param: Annotated[str, typer.Option("--param", metavar="NAME", help="The setting to vary, for example eps2.")],
    values: Annotated[str, typer.Option("--values", metavar="A,B", help="Its values, comma-separated.")],
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 1,
    data: Data = None,
    store: StoreFolder = _STORE,
    jobs: Jobs = 1,
    time_limit: TimeLimit = None,
) -> BenchmarkRunsDocument:
    """Run a method with several values of one setting.

    The figures show the effect of eps1, eps2 and lambda_i on rstc-paper; other sweeps are rows of the table.

    Example:

        rstc benchmark sweep --param eps2 --values 0,0.001,0.01,0.1,1 --datasets tweet,stackoverflow-4k
    """
    from rstc.benchmark.methods import METHODS
    from rstc.benchmark.runs import make_jobs

    changes = [dict([_parse_setting(f"{param}={value}")]) for value in values.split(",")]
    names = _expand_names(methods or "rstc-paper", {"all": list(METHODS)})
    requested = make_jobs(_expand_datasets(datasets or "small"), names, seeds, changes)
    return _run_jobs(requested, store, data, jobs, time_limit)


@add_command(app)
def table(
    store: StoreFolder = _STORE,
    datasets: Datasets = None,
    format: Annotated[str, typer.Option("--format", help="markdown, latex or csv.")] = "markdown",
    metrics: Annotated[
        str, typer.Option("--metrics", metavar="A,B", help="Of acc, nmi, ari and ami; the CSV has all.")
    ] = "acc,nmi",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File to write; default: print the table.")
    ] = None,
) -> TableDocument:
    """Show mean and standard deviation over the seeds of the stored runs, beside the paper's numbers.

    The best result on a data set is bold, the second best underlined. In brackets: the number of seeds (s) and of
    trained encoder layers (L). Without names it shows every data set of the store; runs that change eps1, eps2 or
    lambda_i are shown in the figures only.

    Example:

        rstc benchmark table --format latex --out table.tex

        rstc benchmark table --metrics ari,ami --datasets tweet
    """
    from rstc.benchmark.datasets import DATASETS
    from rstc.benchmark.store import Store
    from rstc.benchmark.tables import build_table, render
    from rstc.io.atomic import replace_file

    runs = Store(store).runs()
    if not runs:
        raise InputError(f"{store} has no runs; start some with `rstc benchmark run`")
    stored = {run["dataset"] for run in runs}
    names = [name for name in DATASETS if name in stored] if datasets is None else _expand_datasets(datasets)
    text = render(build_table(runs, names), format, [name.strip() for name in metrics.split(",")])
    if out is None:
        typer.echo(replace_controls(text), nl=False)
    else:
        with replace_file(out) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return TableDocument(format=format, table=text, out=None if out is None else str(out))


@add_command(app)
def compare(
    first: Annotated[str, typer.Argument(metavar="METHOD", help="The first method.")],
    second: Annotated[str, typer.Argument(metavar="METHOD", help="The second method.")],
    store: StoreFolder = _STORE,
    datasets: Datasets = None,
    metric: Annotated[str, typer.Option("--metric", help="acc, nmi, ari or ami.")] = "acc",
) -> MethodsDocument:
    """Test whether one method is better than another, paired over data sets and seeds.

    Compares the stored runs with unchanged settings on the data sets of the paper. Prints the mean difference of the
    first to the second, and the two-sided p-value of a sign-flip test over the data sets.

    Example:

        rstc benchmark compare rstc sbert
    """
    from rstc.benchmark.datasets import PAPER_DATASETS
    from rstc.benchmark.methods import method
    from rstc.benchmark.significance import compare_methods
    from rstc.benchmark.store import Store
    from rstc.benchmark.tables import METRICS
    from rstc.cli.display import output

    if metric not in METRICS:
        raise InputError(f"unknown metric {metric!r}; the metrics are {', '.join(METRICS)}")
    names = PAPER_DATASETS if datasets is None else _expand_datasets(datasets)
    runs = [run for run in Store(store).runs() if run["dataset"] in names and not run["changes"] and metric in run]
    ours, theirs = ([run for run in runs if run["method"] == name] for name in (first, second))
    comparison = compare_methods(ours, theirs, metric)
    if comparison is None:
        raise InputError(f"{store} has no data set on which both methods were run with the same seed")
    output.print(
        f"{method(first).title} − {method(second).title}: {comparison.mean:+.1f} {metric.upper()} on average, "
        f"better on {comparison.wins} of {comparison.n_sets} sets ({comparison.n_pairs} pairs of runs), "
        f"p = {comparison.p_value:.3f}",
        soft_wrap=True,
    )
    return MethodsDocument(
        methods=[first, second],
        metric=metric,
        mean_difference=comparison.mean,
        n_wins=comparison.wins,
        n_sets=comparison.n_sets,
        n_pairs=comparison.n_pairs,
        p_value=comparison.p_value,
    )


@add_command(app)
def figures(
    store: StoreFolder = _STORE,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the figures.")] = Path("figures"),
    schedule: Annotated[str, typer.Option("--schedule", help="Schedule of the runs to draw: cpu or paper.")] = "cpu",
) -> FiguresDocument:
    """Draw the paper's figures from the stored runs, each as PDF and PNG.

    A figure whose runs are missing is skipped with a note. Needs matplotlib: `pip install rstc[bench]`.

    Example:

        rstc benchmark figures --out figures
    """
    from rstc.benchmark.store import Store
    from rstc.cli.display import notes, output

    try:
        from rstc.benchmark.figures import draw_figures
    except ModuleNotFoundError as problem:
        raise MissingExtraError(f"figures need {problem.name}: install rstc[bench]") from None
    files, lacking = [], {}
    for name, missing in draw_figures(Store(store).runs(), out, schedule).items():
        if missing:
            lacking[name] = str(missing)
            notes.print(f"note: {name} is not drawn, missing: {missing}")
        else:
            files += [f"{out / name}.pdf", f"{out / name}.png"]
            output.print(f"{out / name}.pdf and .png")
    return FiguresDocument(files=files, missing=lacking)


@add_command(app)
def download(data: Data = None) -> DownloadDocument:
    """Download the paper's eight data sets with their views; files that are already complete are kept.

    Their rows are checked by checksums. Views that were published in a file of their own must be of the same texts; if
    they cannot be had, the methods of the paper delete words instead, and the runs say so.

    Example:

        rstc benchmark download --data datasets
    """
    from rstc.benchmark.datasets import PAPER_DATASETS, default_data_folder
    from rstc.benchmark.download import download_dataset
    from rstc.cli.display import output

    folder = data or default_data_folder()
    items = []
    for name in PAPER_DATASETS:
        outcome = download_dataset(name, folder)
        status = "downloaded" if outcome.downloaded else "kept" if outcome.views_problem else "already complete"
        output.print(
            f"{name}: {status}" + (f", without views: {outcome.views_problem}" if outcome.views_problem else "")
        )
        problem = outcome.views_problem
        items.append(DownloadItem(name=name, status=status, problem=None if problem is None else str(problem)))
    output.print(f"The data sets are in {folder}", soft_wrap=True)
    return DownloadDocument(folder=str(folder), datasets=items)


@add_command(app, "datasets")
def show_datasets(data: Data = None) -> DatasetsDocument:
    """Print the paper's Table 3, computed from the data sets.

    C is the number of classes, N the number of texts, A the mean number of words per text, and R the size of the
    largest class over that of the smallest.

    Example:

        rstc benchmark datasets --data datasets
    """
    from rich.table import Table

    from rstc.benchmark.datasets import DATASETS, compute_statistics, default_data_folder, load
    from rstc.cli.display import output

    statistics_table = Table("data set", "name", "C", "N", "A", "R", "imbalance", "views")
    items = []
    for name, entry in DATASETS.items():
        loaded = load(name, data or default_data_folder())
        statistics = compute_statistics(loaded.texts, loaded.true_labels)
        numbers = (str(statistics.C), f"{statistics.N:,}", f"{statistics.A:.0f}", f"{statistics.R:.0f}")
        statistics_table.add_row(entry.title, name, *numbers, entry.imbalance, loaded.views_from)
        items.append(
            DatasetItem(
                name=name,
                title=entry.title,
                n_classes=statistics.C,
                n_texts=statistics.N,
                mean_words=statistics.A,
                imbalance_ratio=statistics.R,
                imbalance=entry.imbalance,
                views=str(loaded.views_from),
            )
        )
    output.print(statistics_table)
    return DatasetsDocument(datasets=items)


def _run_jobs(
    jobs: list[Any],
    store: Path,
    data: Path | None,
    n_parallel: int,
    time_limit: str | None,
    checkpoints: Path | None = None,
) -> BenchmarkRunsDocument:
    """Run jobs, print the outcome of each, and exit with code 1 if a result is missing."""
    from rstc.benchmark.datasets import check_files_exist, default_data_folder
    from rstc.benchmark.runs import JobOutcome, run_jobs
    from rstc.benchmark.store import Store
    from rstc.cli.display import notes, output

    stored = failed = 0
    runs: list[dict[str, Any]] = []
    errors: list[str] = []

    def report(outcome: JobOutcome) -> None:
        nonlocal stored, failed
        stored += outcome.status == "stored"
        failed += outcome.status == "failed"
        if outcome.result is not None:
            runs.append(outcome.result)
        elif outcome.status != "stored":
            errors.append(outcome.describe())
        if outcome.result is not None or outcome.status == "failed":
            console = notes if outcome.result is None else output
            console.print(outcome.describe(), soft_wrap=True)

    folder = data or default_data_folder()
    check_files_exist({job.dataset for job in jobs}, folder)
    seconds = None if time_limit is None else _parse_time(time_limit)
    try:
        complete = run_jobs(
            jobs, Store(store), folder, report, n_parallel=n_parallel, time_limit=seconds, checkpoints=checkpoints
        )
    except KeyboardInterrupt as stop:
        message = "interrupted; the same command continues with the missing runs"
        notes.print(f"rstc: {message}")
        raise Interruption(stop, message) from None
    output.print(f"{len(jobs)} runs requested, {stored} already stored")
    if failed:
        notes.print(f"{failed} failed")
    document = BenchmarkRunsDocument(
        n_requested=len(jobs), n_stored=stored, n_failed=failed, is_complete=complete, runs=runs, errors=errors
    )
    if not complete:
        notes.print("The same command continues with the missing runs.")
        announce(document)
        raise typer.Exit(INCOMPLETE.exit_code)
    return document


def _expand_datasets(names: str) -> list[str]:
    """Split comma-separated names of data sets, with groups replaced by their members."""
    from rstc.benchmark.datasets import IMBALANCED_DATASETS, NOISY_DATASETS, PAPER_DATASETS, SMALL_DATASETS, dataset

    groups = {"all": PAPER_DATASETS, "small": SMALL_DATASETS, "uneven": IMBALANCED_DATASETS, "noisy": NOISY_DATASETS}
    return [dataset(name).name for name in _expand_names(names, groups)]


def _expand_names(names: str, groups: dict[str, list[str]]) -> list[str]:
    """Split comma-separated names, with groups replaced by their members and without repetitions.

    >>> _expand_names("tweet,small", {"small": ["tweet", "agnews-4k"]})
    ['tweet', 'agnews-4k']
    """
    parts = [name.strip() for name in names.split(",") if name.strip()]
    if not parts:
        raise InputError(f"expected comma-separated names, got {names!r}")
    return list(dict.fromkeys(name for part in parts for name in groups.get(part, [part])))


def _parse_setting(assignment: str) -> tuple[str, Any]:
    """Parse name=value; values of settings that only a baseline has are converted to numbers where possible.

    >>> _parse_setting("eps2=0"), _parse_setting("eta=5"), _parse_setting("schedule=paper")
    (('eps2', 0.0), ('eta', 5), ('schedule', 'paper'))
    """
    from rstc.config import parse_setting

    name, value = parse_setting(assignment)
    for number_type in (int, float):
        if isinstance(value, str):
            with suppress(ValueError):
                value = number_type(value)
    return name, value


def _parse_time(text: str) -> float:
    """Convert 90m, 2h or 300s to seconds.

    >>> _parse_time("90m"), _parse_time("1.5h")
    (5400.0, 5400.0)
    """
    units = {"s": 1, "m": 60, "h": 3600}
    try:
        seconds = float(text[:-1]) * units[text[-1:]]
    except (ValueError, KeyError):
        raise InputError(f"a time limit is written as 300s, 90m or 2h, got {text!r}") from None
    if not 0 < seconds < float("inf"):
        raise InputError(f"a time limit must be positive, got {text!r}")
    return seconds
