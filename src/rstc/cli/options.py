"""Options that several commands share, and the messages that belong to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rstc.cli.completion import complete_column, complete_device, complete_format

if TYPE_CHECKING:
    from rich.console import Console

TextColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--text-column",
        metavar="NAME",
        help="Column that holds the texts; given several times, the texts of these columns are joined.",
        autocompletion=complete_column,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="Sheet of an Excel workbook, by name or number; default: the first."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="File format (csv, tsv, json, jsonl, txt, each with .gz, parquet, xlsx) if the file name does not tell.",
        autocompletion=complete_format,
    ),
]
Encoding = Annotated[
    str, typer.Option("--encoding", help="Character encoding of text files; results are written in UTF-8.")
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="NAME",
        help="cpu, cuda, cuda:1 or mps; auto uses a GPU if there is one.",
        autocompletion=complete_device,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of a CSV, TSV or Excel file holds the names of the columns; by default it does, "
        "and a file whose first row looks like data is refused.",
        show_default=False,
    ),
]
GuardFormulas = Annotated[
    bool,
    typer.Option(
        "--guard-formulas",
        help="Put an apostrophe before cells that a spreadsheet would evaluate as a formula (CSV, TSV, plain text).",
    ),
]


def report_formula_guard(enabled: bool, format: str, console: Console) -> None:
    """Print whether cells were guarded against formulas, or why there was nothing to guard."""
    from rstc.io.csv_injection import SPREADSHEET_FORMATS

    if enabled and format in SPREADSHEET_FORMATS:
        console.print(
            "An apostrophe was put before = + - @ and apostrophes at the beginning of cells, and where a spreadsheet "
            "may split a text",
            soft_wrap=True,
        )
    elif enabled and format == "xlsx":
        console.print("--guard-formulas has no effect on xlsx: texts are always written as texts")
    elif enabled:
        console.print(f"--guard-formulas has no effect on {format}: spreadsheets evaluate no formulas in it")


def warn_plain_text_input(file: str, format: str | None) -> None:
    """Print a note that standard input is read as plain text, because a table would be read line by line too."""
    if file == "-" and format is None:
        typer.echo("note: standard input is read as one text per line; for a table add --format csv", err=True)
