"""A run whose clusters are written, and whose map and page are still to be made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import replace_file
from rstc.results import kept_columns
from rstc.results.points import FINE, Points
from rstc.results.run_checks import check_file
from rstc.results.run_files import SUMMARY, UNFINISHED
from rstc.results.run_folder import read_summary


@dataclass(frozen=True)
class UnfinishedRun:
    """What the map and the page of a run are made from.

    Attributes
    ----------
    points : Points
        The texts, with zeros as their positions on the map.
    E : array of float, shape (N, D)
        The embeddings of the texts.
    command : dict or None
        What the run was requested with, of JSON values; None if no command completes it but `rstc report`.
    """

    points: Points
    E: NDArray[np.float32]
    command: dict[str, Any] | None


def write_unfinished(folder: Path, run: UnfinishedRun) -> None:
    """Write what the map and the page of a run are made from."""
    from safetensors.numpy import save_file

    points = run.points
    arrays = {
        "E": np.ascontiguousarray(run.E),
        "texts": np.frombuffer(json.dumps(points.texts).encode(), dtype=np.uint8),
        "rows": points.rows,
        "clusters": points.clusters,
        "confidence": points.confidence,
        "columns": np.frombuffer(kept_columns.to_bytes(points.columns), dtype=np.uint8),
    }
    if points.fine is not None:
        arrays[FINE] = points.fine
    with replace_file(folder / UNFINISHED) as temporary:
        metadata = {"command": json.dumps(run.command), "text_position": str(points.text_position)}
        save_file(arrays, temporary, metadata)


def read_unfinished(folder: Path) -> UnfinishedRun:
    """Read what the map and the page of a run are made from."""
    from safetensors import SafetensorError, safe_open

    path = folder / UNFINISHED
    if (folder / SUMMARY).is_file():
        check_file(folder, UNFINISHED, read_summary(folder))
    try:
        with safe_open(path, "np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
            metadata = file.metadata()
        command, text_position = json.loads(metadata["command"]), int(metadata.get("text_position", 0))
        texts = json.loads(arrays["texts"].tobytes())
        layout = np.zeros((len(texts), 2), dtype=np.uint16)
        columns = kept_columns.from_bytes(arrays["columns"].tobytes(), len(texts))
        points = Points(
            texts,
            arrays["rows"],
            arrays["clusters"],
            arrays["confidence"],
            layout,
            columns,
            text_position,
            fine=arrays.get(FINE),
        )
        E = arrays["E"]
        if not (E.ndim == 2 and len(E) == len(texts) and E.dtype.kind == "f" and np.isfinite(E).all()):
            raise ValueError("embeddings that are not those of the texts")
        return UnfinishedRun(points, E, command)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged; cluster the file again with --overwrite") from error
