"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

TextColumn = Annotated[
    str | None, typer.Option("--text-column", metavar="NAME", help="The column that holds the texts.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, tsv, jsonl, parquet or txt, where the file's name does not tell."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="The character encoding of a text file.")]
