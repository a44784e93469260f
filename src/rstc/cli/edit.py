"""`rstc explore`, `rstc merge`, `rstc names` and `rstc apply`: correct clusters, name them, and make it last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.errors import InputError

if TYPE_CHECKING:
    from rstc.pipelines.name_clusters import Namer

Run = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")]


def explore(
    folder: Run,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 0,
    host: Annotated[str, typer.Option("--host", help="Another address lets other machines in.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Look at a run and correct it in the browser: rename, merge, split, move texts, mark noise, undo.

    Every correction is kept in DIR/edits.json at once; `rstc apply` makes them last. The address holds a token: whoever
    has it may correct. Ctrl-C ends it.

    Example:

        rstc explore run
    """
    import webbrowser

    from rstc.cli.display import notes, output
    from rstc.pipelines.server import LOOPBACK, Exploration, ExploreServer
    from rstc.results.edits import EDITS

    exploration = Exploration(folder)
    with ExploreServer(exploration, host, port) as server:
        if host != LOOPBACK:
            notes.print("note: other machines can reach this address, and nothing on the way is encrypted")
        output.print(f"Open {server.address} (Ctrl-C ends)", highlight=False, markup=False, soft_wrap=True)
        if browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            exploration.close()
    made = len(exploration.run.log.edits)
    said = f"{made} corrections in {folder / EDITS}; rstc apply {folder} makes them last" if made else "no corrections"
    output.print(said, highlight=False, markup=False, soft_wrap=True)


def apply(folder: Run) -> None:
    """Make corrections last: DIR/clusters.* has them, and DIR/model predicts with them.

    Cluster numbers stay what they were. Texts marked as noise have cluster -1. The log DIR/edits.json stays, so that
    corrections can still be undone and applied again.

    Example:

        rstc apply run
    """
    from rstc.cli.display import output, shown_progress

    with shown_progress() as listener:
        from rstc.pipelines.apply_edits import apply_edits

        run = apply_edits(folder, listener)
    noise = int((run.clusters < 0).sum())
    aside = f", {noise:,} texts are noise" if noise else ""
    output.print(f"{len(run.log.edits)} corrections applied: {len(run.entries())} clusters{aside}", highlight=False)


def merge(
    folder: Run,
    to: Annotated[int, typer.Option("--to", metavar="K", min=1, help="How many clusters to leave.")],
) -> None:
    """Go coarser: merge the clusters that are most alike until K are left, without training again.

    DIR/clusters.*, DIR/model and DIR/report.html have the merged clusters; a merged one keeps the number of its largest
    part. Merges are corrections: `rstc explore` undoes them, `rstc apply` makes that last.

    Example:

        rstc merge run --to 12
    """
    from rstc.cli.display import cluster_table, output, shown_progress

    with shown_progress() as listener:
        from rstc.pipelines.apply_edits import merge_to

        run = merge_to(folder, to, listener)
    output.print(cluster_table(run.entries()))
    output.print(f"{len(run.entries())} clusters in {folder}", highlight=False, markup=False, soft_wrap=True)


def names(
    folder: Run,
    command: Annotated[
        str | None,
        typer.Option(
            "--command", metavar="COMMAND", help="Runs for each cluster: a question comes in, a name goes out."
        ),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="MODULE:NAME", help="A Python function from a cluster to a name."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also rename clusters that were named before.")] = False,
) -> None:
    """Show the clusters' names, or have them named by a command (any language model) or a function.

    A command, run without a shell, gets a question with keywords and typical texts on its standard input and prints a
    name. A function gets the cluster as in summary.json, a dict. Clusters that were named before keep their names,
    unless you say --again. The names are corrections, as those made by hand: they can be undone.

    Examples:

        rstc names run

        rstc names run --command "ollama run llama3"

        rstc names run --function my_names:short_name
    """
    from rstc.cli.display import output, shown_progress
    from rstc.pipelines.name_clusters import command_namer, rename_clusters
    from rstc.results.corrected_run import RunNow

    if command is not None and function is not None:
        raise InputError("names come from --command or from --function, not from both")
    if command is None and function is None:
        run = RunNow.read(folder)
    else:
        namer = _function(function) if function is not None else command_namer(str(command))
        with shown_progress() as listener:
            run = rename_clusters(folder, namer, listener, again)
    for one in run.entries():
        output.print(
            f"{one['cluster']:>5}  {one['name']}  ({one['size']:,})", highlight=False, markup=False, soft_wrap=True
        )


def _function(where: str) -> Namer:
    """Return the function that module:name points to, as seen from here."""
    import importlib
    import sys

    module, colon, name = where.partition(":")
    if not (module and colon and name):
        raise InputError(f"a function is named as in module:function, got {where!r}")
    sys.path.insert(0, "")
    try:
        found: Namer = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise InputError(f"there is no function {where}: {problem}") from problem
    if not callable(found):
        raise InputError(f"{where} is not a function")
    return found
