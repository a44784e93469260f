"""`rstc benchmark`: the paper's experiments, from its sets to its tables and figures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from rstc.errors import InputError

app = typer.Typer(
    name="benchmark",
    help="Rerun the paper: its sets, its methods, its tables and its figures.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Where the sets are; default: where `download` puts them.")
]
StoreFolder = Annotated[Path, typer.Option("--store", metavar="DIR", help="Where the results are, a JSON file a run.")]
Datasets = Annotated[
    str | None,
    typer.Option("--datasets", metavar="A,B", help="Names with commas between, or all, small, uneven, noisy."),
]
Methods = Annotated[str | None, typer.Option("--methods", metavar="A,B", help="Names with commas between, or all.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, help="How many seeds: 0, 1 and so on.")]
TimeLimit = Annotated[
    str | None,
    typer.Option("--time-limit", metavar="TIME", help="Stop after this long: 90m, 2h or 300s. The next call goes on."),
]
AtATime = Annotated[
    int, typer.Option("--jobs", min=1, help="How many runs side by side; each has its share of the cores.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of the methods; may be repeated."),
]
_STORE = Path("benchmarks") / "store"  # as in a checkout of rstc, whose own results are there


@app.command()
def run(
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 5,
    data: Data = None,
    store: StoreFolder = _STORE,
    settings: Settings = None,
    at_a_time: AtATime = 1,
    time_limit: TimeLimit = None,
) -> None:
    """Run methods on sets and put each result into the store; what is there is not run again.

    Without names it runs every method on every set. It can be stopped at any time: a run is in the store complete or
    not at all, and the same call goes on with what is missing.

    Sets: agnews, searchsnippets, stackoverflow, biomedical, googlenews-ts, googlenews-t, googlenews-s, tweet (`all` of
    them); tweet, googlenews-t, stackoverflow-4k, agnews-4k (`small`); stackoverflow, stackoverflow-10to1,
    stackoverflow-100to1 (`uneven`); tweet-noisy, googlenews-t-noisy, stackoverflow-noisy, agnews-noisy (`noisy`);
    sample, which needs no download.

    Methods: bow, tfidf, stc2-lpi, self-train, kmeans-ic, sccl, sbert, rstc-ot, rstc-c, rstc-i, rstc-paper, rstc-m2,
    rstc-m3, sela, and rstc, our default; rstc-given is the default with the views that come with a set, rstc-auto the
    default when it is not told the number of clusters; nor is gsdmm. Those of the paper that train an encoder are
    squeezed for a CPU: one layer, 100 steps; `--set schedule=paper` trains all layers for 3,000, which wants a GPU.

    Examples:

        rstc benchmark run --methods bow,tfidf,sbert,kmeans-ic

        rstc benchmark run --datasets small --seeds 3 --data datasets --time-limit 2h

        rstc benchmark run --methods rstc-paper,sccl --set schedule=paper
    """
    from rstc.benchmark.methods import METHODS
    from rstc.benchmark.runs import jobs_for

    changes = dict(_setting(assignment) for assignment in settings or [])
    jobs = jobs_for(_sets(datasets or "all"), _named(methods or "all", {"all": list(METHODS)}), seeds, [changes])
    _run_jobs(jobs, store, data, at_a_time, time_limit)


@app.command()
def sweep(
    param: Annotated[str, typer.Option("--param", metavar="NAME", help="The setting to vary, say eps2.")],
    values: Annotated[str, typer.Option("--values", metavar="A,B", help="Its values, with commas between.")],
    datasets: Datasets = None,
    methods: Methods = None,
    seeds: Seeds = 1,
    data: Data = None,
    store: StoreFolder = _STORE,
    at_a_time: AtATime = 1,
    time_limit: TimeLimit = None,
) -> None:
    """Run a method with several values of one setting.

    The figures show the effect of eps1, eps2 and lambda_i on rstc-paper; other sweeps are rows of the table.

    Example:

        rstc benchmark sweep --param eps2 --values 0,0.001,0.01,0.1,1 --datasets tweet,stackoverflow-4k
    """
    from rstc.benchmark.methods import METHODS
    from rstc.benchmark.runs import jobs_for

    changes = [dict([_setting(f"{param}={value}")]) for value in values.split(",")]
    jobs = jobs_for(_sets(datasets or "small"), _named(methods or "rstc-paper", {"all": list(METHODS)}), seeds, changes)
    _run_jobs(jobs, store, data, at_a_time, time_limit)


@app.command()
def table(
    store: StoreFolder = _STORE,
    datasets: Datasets = None,
    format: Annotated[str, typer.Option("--format", help="markdown, latex or csv.")] = "markdown",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; default: show it.")
    ] = None,
) -> None:
    """Show mean and standard deviation over the seeds of the runs in the store, beside the paper's numbers.

    The best of our results on a set is bold, the runner-up underlined. In brackets: how many seeds (s), and how many
    of the encoder's layers learned (L). Without names it shows every set that the store has; runs that change eps1,
    eps2 or lambda_i are left to the figures.

    Example:

        rstc benchmark table --format latex --out table.tex
    """
    from rstc.benchmark.datasets import DATASETS
    from rstc.benchmark.store import Store
    from rstc.benchmark.tables import render, result_table
    from rstc.io.atomic import replaced_file

    runs = Store(store).runs()
    if not runs:
        raise InputError(f"there are no runs in {store}; `rstc benchmark run` makes them")
    found = {run["dataset"] for run in runs}
    sets = [name for name in DATASETS if name in found] if datasets is None else _sets(datasets)
    text = render(result_table(runs, sets), format)
    if out is None:
        typer.echo(text, nl=False)
        return
    with replaced_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")


@app.command()
def figures(
    store: StoreFolder = _STORE,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the figures.")] = Path("figures"),
    schedule: Annotated[str, typer.Option("--schedule", help="Whose runs to draw: cpu or paper.")] = "cpu",
) -> None:
    """Draw the paper's figures from the runs in the store, each as PDF and PNG.

    A figure whose runs are missing is left out and named. Needs matplotlib: `pip install rstc[bench]`.

    Example:

        rstc benchmark figures --out figures
    """
    from rstc.benchmark.store import Store
    from rstc.cli.display import notes, output

    try:
        from rstc.benchmark.figures import draw_all
    except ModuleNotFoundError as problem:
        raise InputError(f"figures need {problem.name}: install rstc[bench]") from None
    drawn = draw_all(Store(store).runs(), out, schedule)
    for name, missing in drawn.items():
        if missing:
            notes.print(f"note: {name} is not drawn: {missing}", highlight=False, markup=False)
        else:
            output.print(f"{out / name}.pdf and .png", highlight=False, markup=False)


@app.command()
def download(data: Data = None) -> None:
    """Fetch the eight sets from their public homes and check their rows; what is there and right is kept.

    Example:

        rstc benchmark download --data datasets
    """
    from rstc.benchmark.datasets import WHOLE_SETS, default_folder
    from rstc.benchmark.download import fetch
    from rstc.cli.display import output

    folder = data or default_folder()
    for name in WHOLE_SETS:
        fetched = fetch(name, folder)
        output.print(f"{name}: {'fetched' if fetched else 'there'}", highlight=False, markup=False)
    output.print(f"The sets are in {folder}", highlight=False, markup=False, soft_wrap=True)


@app.command("datasets")
def show_datasets(data: Data = None) -> None:
    """Print the paper's Table 3, computed from the sets.

    C is the number of classes, N of texts, A of words in a text on average, R the largest class over the smallest.

    Example:

        rstc benchmark datasets --data datasets
    """
    from rich.table import Table

    from rstc.benchmark.datasets import DATASETS, default_folder, load, statistics
    from rstc.cli.display import output

    shown = Table("set", "name", "C", "N", "A", "R", "imbalance", "views")
    for name, one in DATASETS.items():
        loaded = load(name, data or default_folder())
        found = statistics(loaded.texts, loaded.truth)
        numbers = (str(found.C), f"{found.N:,}", f"{found.A:.0f}", f"{found.R:.0f}")
        shown.add_row(one.title, name, *numbers, one.imbalance, loaded.views_from)
    output.print(shown)


def _run_jobs(jobs: list[Any], store: Path, data: Path | None, at_a_time: int, time_limit: str | None) -> None:
    """Run jobs, say what becomes of each, and end with exit code 1 if one is missing."""
    from rstc.benchmark.datasets import check_there, default_folder
    from rstc.benchmark.runs import News, run_all
    from rstc.benchmark.store import Store
    from rstc.cli.display import notes, output

    there = failed = 0

    def tell(news: News) -> None:
        nonlocal there, failed
        there += news.outcome == "there"
        failed += news.outcome == "failed"
        if news.result is not None or news.outcome == "failed":
            where = notes if news.result is None else output
            where.print(news.sentence(), highlight=False, markup=False, soft_wrap=True)

    folder = data or default_folder()
    check_there({job.dataset for job in jobs}, folder)
    seconds = None if time_limit is None else _seconds(time_limit)
    try:
        complete = run_all(jobs, Store(store), folder, tell, at_a_time=at_a_time, time_limit=seconds)
    except KeyboardInterrupt:
        notes.print("rstc: interrupted; the same call goes on with what is missing")
        raise typer.Exit(130) from None
    output.print(f"{len(jobs)} runs asked for, {there} were there", highlight=False, markup=False)
    if failed:
        notes.print(f"{failed} failed", highlight=False)
    if not complete:
        notes.print("The same call goes on with what is missing.")
        raise typer.Exit(1)


def _sets(names: str) -> list[str]:
    from rstc.benchmark.datasets import NOISY_SETS, SMALL_SETS, UNEVEN_SETS, WHOLE_SETS, dataset

    groups = {"all": WHOLE_SETS, "small": SMALL_SETS, "uneven": UNEVEN_SETS, "noisy": NOISY_SETS}
    return [dataset(name).name for name in _named(names, groups)]


def _named(names: str, groups: dict[str, list[str]]) -> list[str]:
    """Return the names of a list with commas, each once, groups as what they stand for.

    >>> _named("tweet,small", {"small": ["tweet", "agnews-4k"]})
    ['tweet', 'agnews-4k']
    """
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise InputError(f"{names!r} names nothing")
    return list(dict.fromkeys(one for name in found for one in groups.get(name, [name])))


def _setting(assignment: str) -> tuple[str, Any]:
    """Turn name=value into the name and the value; of settings that only a baseline has, numbers are made numbers.

    >>> _setting("eps2=0"), _setting("eta=5"), _setting("schedule=paper")
    (('eps2', 0.0), ('eta', 5), ('schedule', 'paper'))
    """
    from rstc.config import parse_setting

    name, value = parse_setting(assignment)
    for kind in (int, float):
        if isinstance(value, str):
            with suppress(ValueError):
                value = kind(value)
    return name, value


def _seconds(text: str) -> float:
    """Turn 90m, 2h or 300s into seconds.

    >>> _seconds("90m"), _seconds("1.5h")
    (5400.0, 5400.0)
    """
    units = {"s": 1, "m": 60, "h": 3600}
    try:
        seconds = float(text[:-1]) * units[text[-1:]]
    except (ValueError, KeyError):
        raise InputError(f"a time limit is written 300s, 90m or 2h, got {text!r}") from None
    if not 0 < seconds < float("inf"):
        raise InputError(f"a time limit must be positive, got {text!r}")
    return seconds
