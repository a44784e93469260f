"""`rstc predict`: new texts, labelled by a saved model as they stream by."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.options import Device, Encoding, Format, GuardFormulas, TextColumn, note_guarded, note_plain_input
from rstc.errors import InputError

# Torch's matrix library remembers how to compute each shape that it has seen, with memory for each. A stream of texts
# has ever new shapes, and to find out anew costs nothing that could be measured. It is read when torch is loaded.
FEW_SHAPES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")


def predict(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run folder, or that of a saved or an exported model.")
    ],
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSONL, Parquet, plain text (one a line), or - for stdin; many files by a folder or by * in "
            "the name; addresses as s3://bucket/in/*.parquet."
        ),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The file to write; of many, the folder.")],
    text_column: TextColumn = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    device: Device = "auto",
    guard_formulas: GuardFormulas = False,
    engine: Annotated[
        str, typer.Option("--engine", help="Who labels many files: local, this process; ray, a worker a processor.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="How many workers Ray has at the most.")
    ] = None,
) -> None:
    """Label new texts with the clusters of an earlier run.

    A file is read and written in pieces, so that it may be larger than memory. An output file that exists is replaced
    when the new one is complete. A run with --noise gives -1 to new texts that belong nowhere, too.

    Of many files each is written under its own name, in its own format, rows and their order kept; those that an
    earlier call completed are skipped. So after a stop, the same command goes on.

    Examples:

        rstc predict run new_tickets.csv --out labelled.csv

        rstc predict run huge.parquet --out labelled.parquet --text-column body

        rstc predict run 'in/*.parquet' --out labelled/

        rstc predict run 'in/**/*.parquet' --out labelled/ --engine ray
    """
    os.environ.setdefault(*FEW_SHAPES)
    from rstc.cli.display import output, shown_progress
    from rstc.io.remote import is_address

    if engine not in ("local", "ray"):
        raise InputError(f"--engine is local or ray, got {engine!r}")
    many = engine == "ray" or any(sign in file for sign in "*?") or is_address(out) or Path(file).is_dir()
    if many:
        if format is not None:
            raise InputError("of many files the format is told by their endings; leave --format out")
        _predict_many(folder, file, out, text_column, encoding, device, guard_formulas, engine, workers)
        return
    note_plain_input(file, format)
    with shown_progress() as listener:
        from rstc.pipelines.predict import predict_file

        rows, texts = predict_file(
            folder,
            file,
            Path(out),
            text_column=text_column,
            format=format,
            encoding=encoding,
            device=device,
            guard_formulas=guard_formulas,
            listener=listener,
        )
        from rstc.io.readers import format_of
    note_guarded(guard_formulas, format_of(out))
    output.print(f"{rows:,} rows written to {out}{_without_text(rows, texts)}", highlight=False, markup=False)


def _predict_many(
    folder: Path,
    pattern: str,
    out: str,
    text_column: str | None,
    encoding: str,
    device: str,
    guard_formulas: bool,
    engine: str,
    workers: int | None,
) -> None:
    """Label many files and say what came of it."""
    from rstc.cli.display import output, shown_progress

    with shown_progress() as listener:
        from rstc.pipelines.predict import predict_files

        by = None
        if engine == "ray":
            from rstc.pipelines.predict_ray import ray_engine

            by = ray_engine(workers)
        done = predict_files(
            folder,
            pattern,
            out,
            text_column=text_column,
            encoding=encoding,
            device=device,
            guard_formulas=guard_formulas,
            engine=by,
            listener=listener,
        )
    files = f"{done.parts:,} {'file' if done.parts == 1 else 'files'} with {done.rows:,} rows written to {out}"
    skipped = f"; {done.skipped:,} were there already" if done.skipped else ""
    output.print(files + skipped + _without_text(done.rows, done.texts), highlight=False, markup=False)


def _without_text(rows: int, texts: int) -> str:
    return f"; {rows - texts:,} rows hold no text and get no cluster" if texts < rows else ""
