"""`rstc export`: a run's model as ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder, or a saved model's folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")],
) -> None:
    """Write a run's model as ONNX, for machines without torch.

    `rstc predict OUT FILE` takes the folder as it takes a run, and so does rstc.OnnxModel in Python. Needs the extra
    onnx: `pip install 'rstc[onnx]'`. What --noise knows of strange texts is not in it.

    Example:

        rstc export run --out exported
    """
    from rstc.cli.display import output, shown_progress

    with shown_progress() as listener:
        from rstc.estimator import RSTC
        from rstc.results.run_folder import find_model

        model = RSTC.load(find_model(folder), "cpu")
        listener("export", 0, 0)
        model.export_onnx(out)
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    output.print(
        f"Written to {out} ({size:.0f} MB): rstc predict {out} FILE --out LABELLED", highlight=False, markup=False
    )
    if model.strangers_ is not None:
        output.print("It gives every text a cluster: --noise is not in it", highlight=False, markup=False)
