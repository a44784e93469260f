"""`rstc predict`: assign new texts to the clusters of a saved model, reading and writing in blocks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.documents.files import PredictionsDocument
from rstc.cli.json_output import writes_json
from rstc.cli.options import (
    Device,
    Encoding,
    Format,
    GuardFormulas,
    Header,
    Sheet,
    TextColumn,
    report_formula_guard,
    warn_plain_text_input,
)
from rstc.errors import InputError

# oneDNN caches a primitive for each input shape, with memory for each. A stream of texts has ever new shapes, so the
# cache grows without bound; switching it off had no measurable cost. The variable is read when torch is imported.
DISABLE_ONEDNN_CACHE = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder, model folder or exported model.")],
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON(L), Excel, Parquet or plain text (one text per line), text also with .gz, - for "
            "standard input; a folder or a pattern with * for many files; URLs such as s3://bucket/in/*.parquet."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write, or - for standard output; for many input files, the folder.",
        ),
    ],
    text_column: TextColumn = None,
    format: Format = None,
    sheet: Sheet = None,
    encoding: Encoding = "utf-8",
    header: Header = None,
    device: Device = "auto",
    guard_formulas: GuardFormulas = False,
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="Where many files are processed: local (in this process) or ray (one worker per CPU)."
        ),
    ] = "local",
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Maximum number of Ray workers.")] = None,
) -> PredictionsDocument:
    """Assign new texts to the clusters of an earlier run.

    Files are read and written in blocks and may be larger than memory. An existing output file is replaced when the
    new one is complete. With the model of a run with --noise, outliers among the new texts get cluster -1.

    With --out - the rows go to standard output in the format of the input, uncompressed; those of Excel and Parquet as
    CSV. Messages go to standard error.

    Many files are written one by one under their own names and in their own formats, with rows in the same order.
    Files that an earlier call completed are skipped, so the same command continues after an interruption; those whose
    content, model or options are others now are written again.

    Examples:

        rstc predict run new_tickets.csv --out labelled.csv

        rstc predict run huge.parquet --out labelled.parquet --text-column body

        rstc predict run new_tickets.xlsx --out - | head

        rstc predict run 'in/*.parquet' --out labelled/

        rstc predict run 'in/**/*.parquet' --out labelled/ --engine ray
    """
    os.environ.setdefault(*DISABLE_ONEDNN_CACHE)
    from rstc.cli.display import notes, output, show_progress
    from rstc.io.remote import is_url

    if engine not in ("local", "ray"):
        raise InputError(f"--engine must be local or ray, got {engine!r}")
    has_many_files = engine == "ray" or any(sign in file for sign in "*?") or is_url(out) or Path(file).is_dir()
    if has_many_files:
        if out == "-":
            raise InputError("--out - takes a single input file; many files need a folder")
        if format is not None:
            raise InputError("--format cannot be used with many files: the format follows from each file name")
        return _predict_many(
            folder, file, out, text_column, sheet, encoding, header, device, guard_formulas, engine, workers
        )
    if out == "-" and writes_json():
        raise InputError("--json and --out - both write to standard output; name a file with --out")
    warn_plain_text_input(file, format)
    with show_progress(file) as listener:
        from rstc.pipelines.predict import predict_file

        n_rows, n_texts = predict_file(
            folder,
            file,
            Path(out),
            text_column=text_column,
            format=format,
            sheet=sheet,
            encoding=encoding,
            header=header,
            device=device,
            guard_formulas=guard_formulas,
            listener=listener,
        )
        from rstc.io.formats import STANDARD_OUTPUT, detect_format, stream_format
    document = PredictionsDocument(out=out, n_files=1, n_skipped=0, n_rows=n_rows, n_texts=n_texts)
    if out == STANDARD_OUTPUT:
        report_formula_guard(guard_formulas, stream_format(detect_format(file, format)), notes)
        notes.print(f"{n_rows:,} rows written to standard output{_format_missing(n_rows, n_texts)}", soft_wrap=True)
        return document
    report_formula_guard(guard_formulas, detect_format(out), output)
    output.print(f"{n_rows:,} rows written to {out}{_format_missing(n_rows, n_texts)}", soft_wrap=True)
    return document


def _predict_many(
    folder: Path,
    pattern: str,
    out: str,
    text_column: list[str] | None,
    sheet: str | None,
    encoding: str,
    header: bool | None,
    device: str,
    guard_formulas: bool,
    engine: str,
    workers: int | None,
) -> PredictionsDocument:
    """Predict many files and print how many were written."""
    from rstc.cli.display import output, show_progress

    with show_progress(pattern) as listener:
        from rstc.pipelines.predict import predict_files

        ray = None
        if engine == "ray":
            from rstc.pipelines.predict_ray import ray_engine

            ray = ray_engine(workers)
        result = predict_files(
            folder,
            pattern,
            out,
            text_column=text_column,
            sheet=sheet,
            encoding=encoding,
            header=header,
            device=device,
            guard_formulas=guard_formulas,
            engine=ray,
            listener=listener,
        )
    files = (
        f"{result.n_files:,} {'file' if result.n_files == 1 else 'files'} with {result.n_rows:,} rows written to {out}"
    )
    skipped = f"; {result.n_skipped:,} skipped, already complete" if result.n_skipped else ""
    output.print(files + skipped + _format_missing(result.n_rows, result.n_texts))
    return PredictionsDocument(
        out=out, n_files=result.n_files, n_skipped=result.n_skipped, n_rows=result.n_rows, n_texts=result.n_texts
    )


def _format_missing(n_rows: int, n_texts: int) -> str:
    return f"; {n_rows - n_texts:,} rows hold no text and have no cluster" if n_texts < n_rows else ""
