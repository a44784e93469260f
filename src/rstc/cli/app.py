"""The `rstc` application: its commands, and how errors and warnings are printed."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
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
from rstc.cli.commands import Json, add_command, find_path
from rstc.cli.documents.base import Document, VersionDocument
from rstc.cli.exit_codes import INTERNAL_ERROR, Interruption, Outcome, UsageError, classify_error
from rstc.cli.json_output import JsonOutput, announce, capture_output, is_json_requested, record_warning
from rstc.cli.messages import is_one_of_several, print_message
from rstc.cli.settings_file import SETTINGS_FILE, nest_options, read_given
from rstc.cli.terminal import CleanFormatter, CleanGroup, show_exception
from rstc.errors import InputError, RstcWarning, describe_system_error, find_missing_torch
from rstc.runtime.signals import StopHandler
from rstc.runtime.thread_environment import set_thread_environment

app = typer.Typer(
    name="rstc",
    help="Group short texts (queries, tickets, titles, tweets) into clusters, robust to imbalance and noise.",
    cls=CleanGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
add_command(app, "cluster")(cluster.cluster)
add_command(app, "predict")(predict.predict)
add_command(app, "update")(update.update)
add_command(app, "augment", epilog=augment.METHODS_HELP)(augment.augment)
add_command(app, "compare")(compare.compare)
add_command(app, "report")(report.report)
add_command(app, "explore")(edit.explore)
add_command(app, "merge")(edit.merge)
add_command(app, "detail")(edit.detail)
add_command(app, "names")(edit.names)
add_command(app, "apply")(edit.apply)
add_command(app, "figures")(report.figures)
add_command(app, "export")(export.export)
add_command(app, "serve")(serve.serve)
add_command(app, "evaluate")(evaluate.evaluate)
add_command(app, "info")(info.info)
add_command(app, "settings")(settings.settings)
add_command(app, "cache")(cache.cache)
add_command(app, "demo")(cluster.demo)
app.add_typer(benchmark.app)


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        announce(VersionDocument(version=version("rstc")))
        typer.echo(f"rstc {version('rstc')}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every update of the pseudo-labels.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help=f"Settings file; by default {SETTINGS_FILE} in the working directory, if there is one.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Set up logging, and read the settings file, for all commands."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("rstc").setLevel(logging.INFO if verbose else logging.WARNING)
    given, notes = read_given(context.command, config, os.environ)
    for note in notes:
        print_message(f"note: {note}")
    context.obj, context.default_map = given, nest_options(given.options)


def run() -> None:
    """Run the application; `rstc.cli.entry` reports its errors."""
    set_thread_environment()
    warnings.showwarning = _show_warning
    sys.excepthook = show_exception
    arguments = sys.argv[1:]
    if is_json_requested(arguments):
        sys.exit(_run_with_json(arguments))
    app()


def _run_with_json(arguments: list[str]) -> int:
    """Run a command and write its document, or that of its failure; return the exit code."""
    with capture_output() as output:
        try:
            # Processes that share a run agree on when they stop.
            with nullcontext() if is_one_of_several() else StopHandler().listen():
                document = _invoke(arguments)
        except typer.Exit as end:
            if isinstance(end, Interruption):
                output.write_error(end.outcome, end.message)
            return end.exit_code
        except SystemExit:
            raise
        except BaseException as error:
            return _fail(error, output)
        if document is not None:
            output.write(document)
        return 0


def _invoke(arguments: list[str]) -> Document | None:
    """Parse and run a command, and return its document; its exceptions are those that the parser raises."""
    command: Any = typer.main.get_command(app)
    with command.make_context("rstc", list(arguments)) as context:
        document: Document | None = command.invoke(context)
        return document


def _fail(error: BaseException, output: JsonOutput) -> int:
    """Print why a command failed and write it as a document; return the exit code."""
    error = find_missing_torch(error) or error
    outcome: Outcome = classify_error(error)
    if isinstance(error, UsageError):
        usage: Any = error
        output.command = output.command or find_path(usage.ctx)
        message = usage.format_message()
        print_message(f"rstc: {message}")
    elif outcome is INTERNAL_ERROR:
        show_exception(type(error), error, error.__traceback__)
        message = f"{type(error).__name__}: {error}"
    else:
        message = describe_failure(error)
        print_message(f"rstc: {message}")
    output.write_error(outcome, message)
    return outcome.exit_code


def describe_failure(error: BaseException) -> str:
    """Return what a user can mend, or an interruption, in a sentence.

    >>> describe_failure(OSError(21, "Is a directory", "run/model"))
    'run/model: Is a directory'
    """
    if isinstance(error, InputError):  # whatever caused it
        return str(error)
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return "interrupted"
    return describe_system_error(error) or str(error)


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print warnings of rstc as one line each, and drop those of the libraries underneath."""
    if issubclass(category, RstcWarning):
        record_warning(message)
        print_message(f"note: {message}")
