"""The `rstc` application: its commands, and how errors and warnings are printed."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Annotated, Any

import typer

from rstc.cli import (
    augment,
    benchmark,
    cache,
    cluster,
    compare,
    edit,
    evaluate,
    export,
    info,
    predict,
    report,
    serve,
    settings,
    update,
)
from rstc.cli.messages import print_message
from rstc.cli.terminal import CleanFormatter, CleanGroup, show_exception
from rstc.errors import RstcWarning
from rstc.runtime.thread_environment import set_thread_environment

app = typer.Typer(
    name="rstc",
    help="Group short texts (queries, tickets, titles, tweets) into clusters, robust to imbalance and noise.",
    cls=CleanGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("cluster")(cluster.cluster)
app.command("predict")(predict.predict)
app.command("update")(update.update)
app.command("augment", epilog=augment.METHODS_HELP)(augment.augment)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("explore")(edit.explore)
app.command("merge")(edit.merge)
app.command("detail")(edit.detail)
app.command("names")(edit.names)
app.command("apply")(edit.apply)
app.command("figures")(report.figures)
app.command("export")(export.export)
app.command("serve")(serve.serve)
app.command("evaluate")(evaluate.evaluate)
app.command("info")(info.info)
app.command("settings")(settings.settings)
app.command("cache")(cache.cache)
app.command("demo")(cluster.demo)
app.add_typer(benchmark.app)


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"rstc {version('rstc')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every update of the pseudo-labels.")] = False,
) -> None:
    """Set up logging for all commands."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("rstc").setLevel(logging.INFO if verbose else logging.WARNING)


def run() -> None:
    """Run the application; `rstc.cli.entry` reports its errors."""
    set_thread_environment()
    warnings.showwarning = _show_warning
    sys.excepthook = show_exception
    app()


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print warnings of rstc as one line each, and drop those of the libraries underneath."""
    if issubclass(category, RstcWarning):
        print_message(f"note: {message}")
