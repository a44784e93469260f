"""The file with the confidence of new texts, in a model folder or an exported model, which is read without torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rstc.errors import InputError

if TYPE_CHECKING:
    from rstc.pseudo_labels.confidence_model import ConfidenceModel

CONFIDENCE = "confidence.safetensors"


def read_confidence(folder: Path, dim: int, n_clusters: int) -> ConfidenceModel:
    """Read the confidence of new texts from a model folder or an exported model.

    Parameters
    ----------
    folder : Path
        The folder.
    dim : int
        D, the number of dimensions of the model's embeddings.
    n_clusters : int
        C, the number of its clusters.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    from rstc.pseudo_labels.confidence_model import ConfidenceModel  # imports scikit-learn

    try:
        return ConfidenceModel.from_arrays(load_file(folder / CONFIDENCE), dim, n_clusters)
    except (SafetensorError, InputError) as problem:
        raise InputError(f"{folder / CONFIDENCE} does not fit the model: {problem}") from problem
