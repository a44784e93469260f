"""The commands put together, and what happens when one goes wrong."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Annotated, Any

import typer

from rstc.cli import augment, benchmark, cluster, evaluate, export, info, predict, report, update
from rstc.cli import edit as correct
from rstc.cli.messages import say
from rstc.errors import InputError, RstcWarning

app = typer.Typer(
    name="rstc",
    help="Group short texts (queries, tickets, titles, tweets) into clusters, robust to imbalance and noise.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("cluster")(cluster.cluster)
app.command("predict")(predict.predict)
app.command("update")(update.update)
app.command("augment", epilog=augment.WAYS_LISTED)(augment.augment)
app.command("report")(report.report)
app.command("explore")(correct.explore)
app.command("merge")(correct.merge)
app.command("names")(correct.names)
app.command("apply")(correct.apply)
app.command("figures")(report.figures)
app.command("export")(export.export)
app.command("evaluate")(evaluate.evaluate)
app.command("info")(info.info)
app.command("demo")(cluster.demo)
app.add_typer(benchmark.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rstc {version('rstc')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every renewal of the labels.")] = False,
) -> None:
    """Options that come before the command."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("rstc").setLevel(logging.INFO if verbose else logging.WARNING)


def main() -> None:
    """Run the command line; a user's mistake ends in one sentence and exit code 2."""
    warnings.showwarning = _show_warning
    try:
        app()
    except InputError as mistake:
        say(f"rstc: {mistake}")
        sys.exit(2)


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show our own warnings as one line each; those of the libraries below are not the user's business."""
    if issubclass(category, RstcWarning):
        say(f"note: {message}")
