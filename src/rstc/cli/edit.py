"""`rstc explore`, `rstc merge`, `rstc names` and `rstc apply`: correct and name the clusters of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.errors import InputError

if TYPE_CHECKING:
    from rstc.pipelines.name_clusters import Namer

Run = Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")]


def explore(
    folder: Run,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 0,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but the default is reachable from other machines.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Correct a run in the browser: rename, merge and split clusters, move texts, mark noise, undo.

    Every correction is saved to DIR/edits.json at once; the page's button Apply, or `rstc apply`, writes them to the
    clusters and the model. The printed address contains a token: whoever has it can edit. Ctrl-C stops the server.

    Example:

        rstc explore run
    """
    import webbrowser

    from rstc.cli.display import notes, output
    from rstc.pipelines.edit_session import EditSession
    from rstc.pipelines.server import LOOPBACK, ExploreServer
    from rstc.results.edits import EDITS
    from rstc.runtime.signals import StopHandler

    session = EditSession(folder)
    session.load()
    with ExploreServer(session, host, port) as server:
        if host != LOOPBACK:
            notes.print("note: other machines can reach this address, and the connection is not encrypted")
        output.print(f"Open {server.address} (Ctrl-C stops the server)", soft_wrap=True)
        if browser:
            webbrowser.open(server.address)
        try:
            with StopHandler().listen():  # also where a background shell made the process ignore SIGINT
                server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            if session.is_applying:
                notes.print("waiting until the corrections are applied")
            session.close()
    n_edits = len(session.run.log.edits)
    advice = f"`rstc apply {folder}` writes them to the clusters and the model"
    output.print(
        f"{n_edits} corrections in {folder / EDITS}; {advice}" if n_edits else "no corrections", soft_wrap=True
    )


def apply(folder: Run) -> None:
    """Write the corrections to DIR/clusters.*, and train DIR/model to predict the corrected clusters.

    Clusters keep their numbers. Texts marked as noise get cluster -1. DIR/edits.json is kept, so corrections can still
    be undone and applied again.

    Example:

        rstc apply run
    """
    from rstc.cli.display import output, show_progress

    with show_progress(folder) as listener:
        from rstc.pipelines.apply_edits import apply_edits

        run = apply_edits(folder, listener)
    n_noise = int((run.clusters < 0).sum())
    noise = f", {n_noise:,} texts are noise" if n_noise else ""
    output.print(f"{len(run.log.edits)} corrections applied: {len(run.entries())} clusters{noise}")


def merge(
    folder: Run,
    to: Annotated[int, typer.Option("--to", metavar="K", min=1, help="Number of clusters to keep.")],
) -> None:
    """Merge the most similar clusters until K are left, without training again.

    DIR/clusters.*, DIR/model and DIR/report.html are updated; a merged cluster keeps the number of its largest part.
    Merges are corrections: undo them with `rstc explore`, then run `rstc apply`.

    Example:

        rstc merge run --to 12
    """
    from rstc.cli.display import cluster_table, output, show_progress

    with show_progress(folder) as listener:
        from rstc.pipelines.apply_edits import merge_to

        run = merge_to(folder, to, listener)
    output.print(cluster_table(run.entries()))
    output.print(f"{len(run.entries())} clusters in {folder}", soft_wrap=True)


def names(
    folder: Run,
    command: Annotated[
        str | None,
        typer.Option("--command", metavar="COMMAND", help="Run for each cluster: reads a prompt, prints a name."),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="MODULE:NAME", help="Python function that returns the name of a cluster."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Rename clusters that were named before as well.")] = False,
) -> None:
    """Print the names of the clusters, or let a command (for example a language model) or a function name them.

    The command runs without a shell, reads a prompt with keywords and typical texts from its standard input and prints
    a name. The function gets the cluster as a dict, as in summary.json. Clusters that were named before keep their
    names unless --again is given. Names are corrections and can be undone.

    Examples:

        rstc names run

        rstc names run --command "ollama run llama3"

        rstc names run --function my_names:short_name
    """
    from rstc.cli.display import output, show_progress
    from rstc.pipelines.name_clusters import command_namer, rename_clusters
    from rstc.results.corrected_run import CorrectedRun

    if command is not None and function is not None:
        raise InputError("--command and --function cannot be used together")
    if command is None and function is None:
        run = CorrectedRun.read(folder)
    else:
        namer = _import_function(function) if function is not None else command_namer(str(command))
        with show_progress(folder) as listener:
            run = rename_clusters(folder, namer, listener, again)
    for entry in run.entries():
        output.print(f"{entry.cluster:>5}  {entry.name}  ({entry.size:,})", soft_wrap=True)


def _import_function(path: str) -> Namer:
    """Import the function that module:name refers to, from the current folder or the installed packages."""
    import importlib
    import sys

    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise InputError(f"--function expects MODULE:NAME, got {path!r}")
    sys.path.insert(0, "")
    try:
        function: Namer = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"the function {path} cannot be imported: {error}") from error
    if not callable(function):
        raise InputError(f"{path} is not a function")
    return function
