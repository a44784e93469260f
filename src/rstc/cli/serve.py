"""`rstc serve`: a model as a service over HTTP, or runs as tools for agents over MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.documents.runs import ServerDocument
from rstc.cli.json_output import announce, writes_json
from rstc.cli.options import Device
from rstc.errors import InputError
from rstc.service.options import ServiceOptions, is_loopback, read_token


def serve(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Run folder, model folder or exported model.")
    ] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="Offer tools to an agent (MCP) on standard input.")] = False,
    root: Annotated[
        Path, typer.Option("--root", metavar="DIR", help="With --mcp: the folder that the tools may read and write.")
    ] = Path(),
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; one that other machines reach needs a token.")
    ] = ServiceOptions.host,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 0,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of processes, each with the model.")] = (
        ServiceOptions.n_workers
    ),
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="File with the token that requests need; also the variable RSTC_TOKEN."
        ),
    ] = None,
    max_texts: Annotated[
        int, typer.Option("--max-texts", min=1, help="Texts of a request, at most.")
    ] = ServiceOptions.max_texts,
    max_chars: Annotated[
        int, typer.Option("--max-chars", min=1, help="Characters of a text, at most.")
    ] = ServiceOptions.max_chars,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="Bytes of a request, at most.")
    ] = ServiceOptions.max_body_bytes,
    max_requests: Annotated[
        int, typer.Option("--max-requests", min=1, help="Predictions at once in a process; others get status 503.")
    ] = ServiceOptions.max_requests,
    client_seconds: Annotated[
        float, typer.Option("--client-seconds", min=0.1, help="Seconds that a client may take to send a request.")
    ] = ServiceOptions.client_seconds,
    device: Device = "auto",
) -> ServerDocument | None:
    """Serve a model over HTTP, or offer clustering as tools to an agent over MCP.

    POST /v1/predict assigns texts to clusters as `rstc predict` does; there are also /v1/clusters, /v1/model,
    /health/live, /health/ready, /metrics and /openapi.json. When DIR is replaced by another model, that one is loaded
    and takes over; a broken one is refused. SIGTERM ends the service after the requests that it has accepted.

    With --mcp, an agent that starts this command gets tools to cluster files below --root, to look at runs and to
    correct them.

    Examples:

        rstc serve run --port 8000

        rstc serve run --host 0.0.0.0 --port 8000 --workers 4 --token-file token.txt

        rstc serve --mcp --root data
    """
    if mcp:
        if folder is not None:
            raise InputError(f"--mcp serves the runs below --root; leave {folder} out")
        if writes_json():
            raise InputError("--mcp and --json both write to standard output; leave --json out")
        from rstc.runtime.optional import import_optional

        import_optional("mcp", "serve")
        from rstc.service.mcp_server import run_mcp_server

        run_mcp_server(root)
        return None
    if folder is None:
        raise InputError("rstc serve needs the folder of a model, or --mcp")
    import logging

    from rstc.cli.display import notes, output
    from rstc.runtime.cores import default_threads
    from rstc.service.workers import Supervisor

    logging.getLogger("rstc").setLevel(logging.INFO)
    options = ServiceOptions(
        folder,
        host=host,
        token=read_token(token_file),
        device=device,
        n_workers=workers,
        threads=max(default_threads() // workers, 1),
        max_body_bytes=max_body,
        max_texts=max_texts,
        max_chars=max_chars,
        max_requests=max_requests,
        client_seconds=client_seconds,
    )
    supervisor = Supervisor(options, port)
    if not is_loopback(host):
        notes.print("note: other machines can reach this address, and the connection is not encrypted")

    def announce_address() -> None:
        output.print(f"Serving {folder} at {supervisor.address} (Ctrl-C stops it)", soft_wrap=True)
        announce(ServerDocument(folder=str(folder), address=supervisor.address))

    supervisor.run(announce_address)
    output.print("stopped")
    return None
