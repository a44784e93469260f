"""The model that a worker predicts with: loaded from its folder, and replaced when the folder is."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rstc.errors import InputError, first_line
from rstc.io.columns import name_of_cluster
from rstc.io.predictions import NO_CLUSTER, level_of
from rstc.persistence.onnx_model import is_exported
from rstc.pipelines.saved_model import identify_model, load_any_model
from rstc.results.run_models import find_model

if TYPE_CHECKING:
    from rstc.estimator import RSTC
    from rstc.persistence.onnx_model import OnnxModel

logger = logging.getLogger("rstc")

FolderState = tuple[tuple[str, int, int, int], ...]  # of each file its name, inode, size and time of its last change


@dataclass(frozen=True)
class ServedModel:
    """A model that is loaded.

    Attributes
    ----------
    model : RSTC or OnnxModel
        The model.
    checksum : str
        Identifies it.
    kind : str
        "torch" or "onnx".
    loaded : str
        When it was loaded, in ISO 8601.
    """

    model: RSTC | OnnxModel
    checksum: str
    kind: str
    loaded: str

    @classmethod
    def load(cls, folder: Path, device: str) -> ServedModel:
        """Load the model of a run, a saved model or an exported one, and predict a text with it."""
        checksum = identify_model(folder).checksum
        model = load_any_model(folder, device)
        if identify_model(folder).checksum != checksum:
            raise InputError(f"the model in {folder} was replaced while it was loaded")
        served = cls(
            model, checksum, "onnx" if is_exported(folder) else "torch", datetime.now(timezone.utc).isoformat()
        )
        served.predict(["a text"])  # what is computed for the first time takes longer
        return served

    def predict(self, texts: Sequence[str | None]) -> list[dict[str, Any]]:
        """Return the cluster, its name and the confidence of each text, as `rstc predict` writes them."""
        assignment = self.model.assign(list(texts))
        names = self.model.cluster_names_
        rows: list[dict[str, Any]] = []
        numbers, shares = assignment.clusters.tolist(), assignment.confidence.tolist()
        for text, number, share in zip(texts, numbers, shares, strict=True):
            cluster = number if text and text.strip() else None
            confidence = None if cluster in (None, NO_CLUSTER) else round(share, 4)
            rows.append(
                {
                    "cluster": cluster,
                    "name": name_of_cluster(cluster, names),
                    "confidence": confidence,
                    "confidence_level": None if confidence is None else level_of(confidence),
                    "outlier": cluster == NO_CLUSTER,
                }
            )
        return rows

    def describe(self) -> dict[str, Any]:
        """Return what the model is, without the paths of this machine."""
        return {
            "checksum": self.checksum,
            "kind": self.kind,
            "n_clusters": int(self.model.n_clusters_),
            "text_column": self.model.text_column_,
            "loaded": self.loaded,
        }

    def list_clusters(self) -> list[dict[str, Any]]:
        """Return number, name, description and estimated share of each cluster."""
        names, shares = self.model.cluster_names_, self.model.class_distribution_.tolist()
        fitted = getattr(self.model, "_fitted_model", None)
        sentences = (fitted.descriptions if fitted else None) or [None] * len(names)
        return [
            {"cluster": number, "name": name, "description": sentence, "share": round(share, 6)}
            for number, (name, sentence, share) in enumerate(zip(names, sentences, shares, strict=True))
        ]


class ModelStore:
    """Holds the model of a folder; `refresh` loads a new one beside it and then exchanges them.

    Parameters
    ----------
    folder : Path
        A run, a saved model or an exported model.
    device : str
        Where the model computes.

    Attributes
    ----------
    current : ServedModel
        The model to predict with. Whoever began a prediction keeps the model that it took.
    """

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self._device = folder, device
        self._state = read_folder_state(folder)
        self.current = ServedModel.load(folder, device)
        self._lock = threading.Lock()

    def refresh(self) -> str | None:
        """Load the model of the folder if its files changed.

        Returns
        -------
        str or None
            "loaded" or "refused"; None if there is nothing new. A refused folder is tried again when it changes.
        """
        with self._lock:
            state = read_folder_state(self.folder)
            if not state or state == self._state:  # between two folders there may be none for a moment
                return None
            try:
                if identify_model(self.folder).checksum == self.current.checksum:
                    self._state = state  # the same model in other files
                    return None
                model = ServedModel.load(self.folder, self._device)
            except Exception as problem:  # whatever is wrong with the new one, the old one goes on
                if read_folder_state(self.folder) == state:
                    self._state = state
                    logger.warning("the new model was refused, the old one goes on: %s", first_line(problem))
                    return "refused"
                return None  # it is being written
            self._state, self.current = state, model
            logger.info("model %s loaded, with %d clusters", model.checksum[:12], model.model.n_clusters_)
            return "loaded"


def read_folder_state(folder: Path) -> FolderState:
    """Return what tells whether the files of a model were replaced; empty if there are none."""
    model = folder if is_exported(folder) else find_model(folder)
    state = []
    try:
        for path in sorted(model.rglob("*")):
            status = path.stat()
            if path.is_file():
                state.append((path.name, status.st_ino, status.st_size, status.st_mtime_ns))
    except OSError:  # removed in between
        return ()
    return tuple(state)
