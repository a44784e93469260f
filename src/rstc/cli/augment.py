"""`rstc augment`: write two augmented versions of each text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.documents.files import AugmentDocument
from rstc.cli.options import Device, Encoding, Format, Header, Sheet, TextColumn, warn_plain_text_input
from rstc.representation.view_specs import DEFAULT_AUGMENT_SPEC, ENCODER_METHODS, VIEW_METHODS

N_EXAMPLES = 5
METHODS_HELP = "\n\n".join(f"`{name}`: {text}" for name, text in VIEW_METHODS.items() if name not in ENCODER_METHODS)


def augment(
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON(L), Excel, Parquet or plain text (one text per line), text also with .gz; - for "
            "standard input."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")],
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="VIEWS", help="How the texts are changed: a view specification.")
    ] = DEFAULT_AUGMENT_SPEC,
    text_column: TextColumn = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Random seed; the same seed and file give the same versions.")
    ] = 0,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", metavar="NAME", help="Sentence encoder for methods that need one: a folder or a hub name."
        ),
    ] = None,
    format: Format = None,
    sheet: Sheet = None,
    encoding: Encoding = "utf-8",
    header: Header = None,
    device: Device = "auto",
) -> AugmentDocument:
    """Write two augmented versions of each text, as the columns `text1` and `text2`.

    VIEWS is one of the methods below, optionally with the share of words to change after an @ (default 0.1), or
    several methods joined by +. A comma separates version 1 from version 2.

    Examples:

        rstc augment tickets.csv --out views.csv --method typos

        rstc augment tickets.csv --out views.csv --method deletion@0.2+swap

        rstc augment tickets.csv --out views.csv --method contextual:roberta-base,contextual:bert-base-uncased

        rstc cluster views.csv --clusters 12 --out run --views text1,text2
    """
    from rstc.cli.display import augmentation_table, output, show_progress

    warn_plain_text_input(file, format)
    with show_progress(file) as listener:
        from rstc.pipelines.augment import augment_file

        augmented = augment_file(
            file,
            out,
            method,
            text_column=text_column,
            format=format,
            sheet=sheet,
            encoding=encoding,
            header=header,
            seed=seed,
            encoder=encoder,
            device=device,
            listener=listener,
        )
    texts = augmented.dropna(subset="text")
    output.print(augmentation_table(texts.head(N_EXAMPLES)))
    words = texts.map(str.split)
    changed = float(((words["text1"] != words["text"]) | (words["text2"] != words["text"])).mean())
    output.print(f"{len(augmented):,} rows written to {out}; {changed:.0%} of the texts were changed")
    return AugmentDocument(out=str(out), n_rows=len(augmented), n_texts=len(texts), changed_share=changed)
