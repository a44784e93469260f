"""`rstc export`: write the model of a run as ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rstc.cli.documents.files import FilesDocument


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder or model folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
) -> FilesDocument:
    """Write the model of a run as ONNX, for machines without torch.

    `rstc predict OUT FILE` and `rstc.OnnxModel` in Python read the folder. Needs the extra onnx:
    `pip install 'rstc[onnx]'`. Outlier detection (--noise) is not exported.

    Example:

        rstc export run --out exported
    """
    from rstc.cli.display import output, show_progress

    with show_progress(folder) as listener:
        from rstc.persistence.model_description import read_description, resolve_folder
        from rstc.persistence.onnx_model import check_export_target
        from rstc.results.run_models import find_model
        from rstc.runtime.optional import import_optional

        model_folder = resolve_folder(find_model(folder))
        read_description(model_folder)  # raises if it is no model
        check_export_target(out)
        import_optional("onnxscript", "onnx")
        listener("load", 0, 0)
        from rstc.estimator import RSTC  # torch, not before the arguments are known to be valid

        model = RSTC.load(model_folder, "cpu")
        listener("export", 0, 0)
        model.export_onnx(out)
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    output.print(f"Written to {out} ({size:.0f} MB): rstc predict {out} FILE --out LABELLED")
    if model.outlier_detector_ is not None:
        output.print("The exported model assigns every text to a cluster: outlier detection (--noise) is not exported")
    return FilesDocument(files=sorted(str(path) for path in out.iterdir()))
