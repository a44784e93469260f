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
Encoding = Annotated[
    str, typer.Option("--encoding", help="The character encoding of a text file; results are written in UTF-8.")
]

Device = Annotated[
    str, typer.Option("--device", metavar="NAME", help="cpu, cuda, cuda:1 or mps; auto takes a GPU where there is one.")
]

GuardFormulas = Annotated[
    bool,
    typer.Option(
        "--guard-formulas",
        help="In CSV, TSV and plain text, put an apostrophe before what a spreadsheet would run as a formula.",
    ),
]


def note_guarded(asked: bool, format: str) -> None:
    """Tell that cells were guarded, or that there was nothing to guard."""
    from rstc.cli.display import output
    from rstc.io.csv_injection import SPREADSHEETS

    if asked and format in SPREADSHEETS:
        said = "Cells that begin with = + - @ or an apostrophe were written with an apostrophe in front"
    elif asked:
        said = f"Nothing to guard: no spreadsheet takes texts in {format} for formulas"
    else:
        return
    output.print(said, highlight=False, markup=False)


def note_plain_input(file: str, format: str | None) -> None:
    """Tell how standard input is read where nothing says otherwise: a table's lines would pass for texts."""
    if file == "-" and format is None:
        typer.echo("note: standard input is read as one text a line; for a table say --format csv", err=True)
