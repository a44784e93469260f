"""`rstc augment`: a file with two changed versions of each text, for people to look at and for runs to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.options import Device, Encoding, Format, TextColumn, note_plain_input
from rstc.representation.view_specs import IN_THE_ENCODER, TO_WRITE, WAYS

EXAMPLES_SHOWN = 5
WAYS_LISTED = "\n\n".join(f"`{way}`: {what}" for way, what in WAYS.items() if way not in IN_THE_ENCODER)


def augment(
    file: Annotated[str, typer.Argument(help="CSV, TSV, JSONL, Parquet, plain text (one a line), or - for stdin.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")],
    method: Annotated[str, typer.Option("--method", "-m", metavar="RECIPE", help="How texts are changed.")] = TO_WRITE,
    text_column: TextColumn = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed and file give the same versions.")] = 0,
    encoder: Annotated[
        str | None, typer.Option("--encoder", metavar="NAME", help="A folder or a hub name, for ways that need one.")
    ] = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    device: Device = "auto",
) -> None:
    """Write two changed versions of each text, as the columns `text1` and `text2`.

    A recipe is one of the ways below, with a share of the words after an @ (0.1 unless you say), or several of them
    joined by +. A comma parts version 1 from version 2.

    Examples:

        rstc augment tickets.csv --out views.csv --method typos

        rstc augment tickets.csv --out views.csv --method deletion@0.2+swap

        rstc augment tickets.csv --out views.csv --method contextual:roberta-base,contextual:bert-base-uncased

        rstc cluster views.csv --clusters 12 --out run --views text1,text2
    """
    from rstc.cli.display import changes_table, output, shown_progress

    note_plain_input(file, format)
    with shown_progress() as listener:
        from rstc.pipelines.cluster import augment_file

        made = augment_file(
            file,
            out,
            method,
            text_column=text_column,
            format=format,
            encoding=encoding,
            seed=seed,
            encoder=encoder,
            device=device,
            listener=listener,
        )
    texts = made.dropna(subset="text")
    output.print(changes_table(texts.head(EXAMPLES_SHOWN)))
    words = texts.map(str.split)
    changed = ((words["text1"] != words["text"]) | (words["text2"] != words["text"])).mean()
    output.print(f"{len(made):,} rows written to {out}; {changed:.0%} of the texts were changed", highlight=False)
