"""`rstc predict`: new texts, labelled by a saved model as they stream by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.options import Device, Encoding, Format, TextColumn, note_plain_input


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder, or a saved model's folder.")],
    file: Annotated[str, typer.Argument(help="CSV, TSV, JSONL, Parquet, plain text (one a line), or - for stdin.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")],
    text_column: TextColumn = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    device: Device = "auto",
) -> None:
    """Label new texts with the clusters of an earlier run.

    A run with --noise gives -1 to new texts that belong nowhere, too.

    The file is read and written in pieces, so that it may be larger than memory. An output file that exists is replaced
    when the new one is complete.

    Examples:

        rstc predict run new_tickets.csv --out labelled.csv

        rstc predict run huge.parquet --out labelled.parquet --text-column body
    """
    from rstc.cli.display import output, shown_progress

    note_plain_input(file, format)
    with shown_progress() as listener:
        from rstc.run import predict_file

        rows, texts = predict_file(
            folder,
            file,
            out,
            text_column=text_column,
            format=format,
            encoding=encoding,
            device=device,
            listener=listener,
        )
    missing = f"; {rows - texts:,} hold no text and get no cluster" if texts < rows else ""
    output.print(f"{rows:,} rows written to {out}{missing}", highlight=False, markup=False)
