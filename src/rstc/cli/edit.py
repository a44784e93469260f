"""`rstc explore`, `rstc merge`, `rstc detail`, `rstc names` and `rstc apply`: correct and name a run's clusters."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.cli.completion import complete_level
from rstc.cli.documents.runs import (
    ClusterItem,
    ClustersDocument,
    LevelItem,
    PromptItem,
    PromptsDocument,
    ServerDocument,
)
from rstc.cli.json_output import announce
from rstc.errors import InputError
from rstc.runtime.terminal_text import clean_line

if TYPE_CHECKING:
    from rstc.pipelines.name_clusters import Namer, PromptNamer
    from rstc.results.corrected_run import CorrectedRun

Run = Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")]


def explore(
    folder: Run,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 0,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but the default is reachable from other machines.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> ServerDocument | None:
    """Correct a run in the browser: rename, merge and split clusters, move texts, mark noise, undo.

    Every correction is saved to DIR/edits.json at once; the page's button Apply, or `rstc apply`, writes them to the
    clusters and the model. The printed address contains a token: whoever has it can edit. Ctrl-C stops the server.

    Example:

        rstc explore run
    """
    from rstc.cli.display import notes, output
    from rstc.cli.open_page import open_page
    from rstc.pipelines.edit_session import EditSession
    from rstc.pipelines.server import LOOPBACK, ExploreServer
    from rstc.results.edits import EDITS
    from rstc.runtime.signals import StopHandler

    stop_handler = StopHandler()  # SIGINT and SIGTERM stop the server, also where a background shell ignored SIGINT
    with stop_handler.listen(), ExitStack() as stack:
        session = EditSession(folder)
        session.load()
        server = stack.enter_context(ExploreServer(session, host, port))
        if host != LOOPBACK:
            notes.print("note: other machines can reach this address, and the connection is not encrypted")
        try:
            output.print(f"Open {server.address} (Ctrl-C stops the server)", soft_wrap=True)
            announce(ServerDocument(folder=str(folder), address=server.address))
            if browser:
                stack.enter_context(open_page(server.address))
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        with stop_handler.defer():  # the page is written, whatever comes; a second signal ends the waiting
            if session.is_applying:
                notes.print("waiting until the corrections are applied")
            session.close()
    n_edits = len(session.run.log.edits)
    advice = f"`rstc apply {folder}` writes them to the clusters and the model"
    output.print(
        f"{n_edits} corrections in {folder / EDITS}; {advice}" if n_edits else "no corrections", soft_wrap=True
    )
    return None


def apply(folder: Run) -> ClustersDocument:
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
    n_noise, n_edits = int((run.clusters < 0).sum()), len(run.log.edits)
    noise = f", {n_noise:,} texts are noise" if n_noise else ""
    count = "1 correction" if n_edits == 1 else f"{n_edits} corrections"
    output.print(f"{count} applied: {len(run.entries())} clusters{noise}")
    return describe_clusters(folder, run)


def merge(
    folder: Run,
    to: Annotated[int, typer.Option("--to", metavar="K", min=1, help="Number of clusters to keep.")],
) -> ClustersDocument:
    """Merge the most similar clusters until K are left, without training again.

    DIR/clusters.*, DIR/model and DIR/report.html are updated. Numbers do not change: a merged cluster keeps the number
    of its largest part, and those of its other parts are not used any more. The largest cluster need not be 0 then.

    Merges are corrections: undo them with `rstc explore`, then run `rstc apply`.

    Example:

        rstc merge run --to 12
    """
    from rstc.cli.display import output, print_clusters, show_progress

    with show_progress(folder) as listener:
        from rstc.pipelines.apply_edits import merge_to

        run = merge_to(folder, to, listener)
    print_clusters(run.entries(), folder)
    output.print(f"{len(run.entries())} clusters in {folder}", soft_wrap=True)
    return describe_clusters(folder, run)


def detail(
    folder: Run,
    level: Annotated[
        str, typer.Argument(metavar="LEVEL", help="coarse, medium or fine.", autocompletion=complete_level)
    ],
) -> ClustersDocument:
    """Switch a run to another level of detail, without clustering again.

    `coarse` merges the most similar clusters, `fine` divides those that have stable sub-clusters, `medium` has the
    clusters of the run. DIR/clusters.*, DIR/model and DIR/report.html are updated. The merges and splits are
    corrections: `rstc detail run medium` takes them back, if nothing was corrected since.

    Examples:

        rstc detail run coarse

        rstc detail run medium
    """
    from rstc.cli.display import cluster_table, format_levels, output, show_progress

    with show_progress(folder) as listener:
        from rstc.pipelines.apply_edits import switch_level

        run = switch_level(folder, level, listener)
    output.print(cluster_table(run.entries()))
    output.print(f"{len(run.entries())} clusters in {folder}", soft_wrap=True)
    output.print(format_levels(run.levels(), folder), soft_wrap=True)
    return describe_clusters(folder, run)


def describe_clusters(folder: Path, run: CorrectedRun) -> ClustersDocument:
    """Return the document of a run's clusters after its corrections."""
    return ClustersDocument(
        folder=str(folder),
        n_edits=len(run.log.edits),
        n_noise=int((run.clusters < 0).sum()),
        clusters=ClusterItem.list_from(run.entries()),
        levels=LevelItem.list_from(run.levels()),
    )


def names(
    folder: Run,
    command: Annotated[
        str | None,
        typer.Option(
            "--command", metavar="COMMAND", help="Run for each cluster: reads a prompt, prints a name or JSON."
        ),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="MODULE:NAME", help="Python function that returns the name of a cluster."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="OpenAI-compatible address of a language model that names clusters."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Name of the language model at --url.")
    ] = None,
    key_variable: Annotated[
        str, typer.Option("--key-variable", metavar="NAME", help="Environment variable that holds the key for --url.")
    ] = "OPENAI_API_KEY",
    send_key_unencrypted: Annotated[
        bool, typer.Option("--send-key-unencrypted", help="Send the key to an http address of another machine as well.")
    ] = False,
    texts: Annotated[
        int, typer.Option("--texts", metavar="N", min=0, max=100, help="Typical texts of a cluster to show, at most.")
    ] = 5,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompts and send nothing.")] = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Use the answers of --url that DIR/names.json holds.")
    ] = True,
    again: Annotated[bool, typer.Option("--again", help="Rename clusters that were named before as well.")] = False,
) -> ClustersDocument | PromptsDocument:
    """Print the names of the clusters, or let a language model, a command or a function name and describe them.

    A model at --url and a command get a prompt with the keywords of a cluster and at most N of its texts, cut to 200
    characters; how many texts go where is printed before. The answer is a name, or JSON with name and description. The
    command runs without a shell. The function gets the cluster as a dict, as in summary.json. Clusters that were named
    before keep their names unless --again is given. Names are corrections and can be undone.

    Examples:

        rstc names run

        rstc names run --url http://localhost:11434/v1 --model llama3

        rstc names run --url https://api.openai.com/v1 --model gpt-4o-mini --texts 3 --dry-run

        rstc names run --command "ollama run llama3"

        rstc names run --function my_names:short_name
    """
    from rstc.cli.display import output, show_progress
    from rstc.results.corrected_run import CorrectedRun

    sources = {"--command": command, "--function": function, "--url": url}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} cannot be used together")
    if (url is None) != (model is None):
        raise InputError("--url and --model are used together")
    if dry_run and (function is not None or not given):
        raise InputError("--dry-run needs --url or --command")
    if function is not None:
        from rstc.pipelines.name_clusters import rename_clusters

        namer = _import_function(function)
        with show_progress(folder) as listener:
            run = rename_clusters(folder, namer, listener, again)
    elif given:
        prompted = _build_prompt_namer(command, url, model, key_variable, send_key_unencrypted)
        asked = _ask_for_names(folder, prompted, texts, dry_run, cache, again)
        if isinstance(asked, PromptsDocument):
            return asked
        run = asked
    else:
        run = CorrectedRun.read(folder)
    for entry in run.entries():
        output.print(f"{entry.cluster:>5}  {clean_line(entry.name)}  ({entry.size:,})", soft_wrap=True)
        if entry.description:
            output.print(f"       {clean_line(entry.description)}", soft_wrap=True)
    return describe_clusters(folder, run)


def _build_prompt_namer(
    command: str | None, url: str | None, model: str | None, key_variable: str, sends_key_unencrypted: bool
) -> PromptNamer:
    """Return what answers the prompts: a command, or the language model at an address with the key of a variable."""
    import os

    if command is not None:
        from rstc.pipelines.namers.command import CommandNamer

        return CommandNamer(command)
    from rstc.pipelines.namers.chat import ChatNamer

    key = os.environ.get(key_variable, "").strip() or None
    return ChatNamer(str(url), str(model), key, key_variable, sends_key_unencrypted)


def _ask_for_names(
    folder: Path, namer: PromptNamer, n_texts: int, dry_run: bool, cached: bool, again: bool
) -> CorrectedRun | PromptsDocument:
    """Say what is sent where, send it and return the run with its new names; print the prompts instead if `dry_run`."""
    from rstc.cli.display import notes, output, show_progress
    from rstc.pipelines.name_clusters import name_by_prompts, plan_naming
    from rstc.pipelines.namers.cache import AnswerCache
    from rstc.pipelines.namers.chat import ChatNamer

    plan = plan_naming(folder, n_texts, again)
    chat = namer if isinstance(namer, ChatNamer) else None
    cache = AnswerCache(folder, chat.identity, cached) if chat else None
    new = [question for question in plan.questions if not (cache and cache.find(question.to_prompt()))]
    if dry_run:
        for question in plan.questions:
            state = "not sent" if question in new else "answered before"
            output.print(f"--- cluster {question.entry.cluster}, {state}\n{question.to_prompt()}", soft_wrap=True)
    count = sum(len(question.texts) for question in new)
    verb = "would send" if dry_run else "sending"
    notes.print(
        f"{verb} {count:,} texts and the keywords of {len(new):,} clusters to {namer.receiver}; "
        f"{len(plan.questions) - len(new):,} clusters were answered before",
        soft_wrap=True,
    )
    if chat and not chat.is_encrypted and not chat.is_local:
        notes.print(f"note: the connection to {chat.host} is not encrypted")
    if chat and chat.key and not chat.sends_key:
        notes.print(f"note: the key in {chat.key_variable} is not sent, because the connection is not encrypted")
    if dry_run:
        prompts = [
            PromptItem(cluster=question.entry.cluster, is_answered=question not in new, prompt=question.to_prompt())
            for question in plan.questions
        ]
        return PromptsDocument(folder=str(folder), receiver=namer.receiver, prompts=prompts)
    with show_progress(folder) as listener:
        result = name_by_prompts(plan, namer, listener, cache)
    notes.print(f"{result.n_requests:,} requests sent, {result.n_cached:,} answers from the cache")
    return result.run


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
