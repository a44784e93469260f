"""The texts of a run and their embeddings, as points.parquet and embeddings.npy of its folder hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import replace_file
from rstc.io.parquet import read_bounded_parquet
from rstc.results import kept_columns
from rstc.results.run_checks import check_embedding_size
from rstc.results.run_files import POINTS, TEXT_EMBEDDINGS, is_unfinished

if TYPE_CHECKING:
    from rstc.results.layout import Layout

POINT_COLUMNS = ["text", "row", "cluster", "confidence", "x", "y"]  # of points.parquet, beside the kept columns
NEIGHBOURS = "neighbours"  # and this one
FINE = "fine"  # and this one, where there is a finer level of detail than the clusters


@dataclass(frozen=True)
class Points:
    """The texts of a run, without the rows of the input that hold no text.

    Attributes
    ----------
    texts : list of str
        N texts.
    rows : array of int, shape (N,)
        The row of each text in the input, from 0.
    clusters : array of int, shape (N,)
        The cluster that the run found for each text.
    confidence : array of float, shape (N,)
        Confidence of each text, from 0 to 1.
    layout : array of uint16, shape (N, 2)
        The position of each text on the map.
    columns : DataFrame
        The other columns of the input, N rows; without columns if they are not kept.
    text_position : int
        Number of these columns that stand before the texts in the input.
    neighbours : array of int32, shape (N, k), or None
        The numbers of the nearest texts of each text, nearest first; None if they are not known.
    fine : array of int, shape (N,), or None
        Group of each text in the finest level of detail, negative for none; None if no level is finer than clusters.
    """

    texts: list[str]
    rows: NDArray[np.int64]
    clusters: NDArray[np.int64]
    confidence: NDArray[np.float32]
    layout: Layout
    columns: pd.DataFrame = field(default_factory=pd.DataFrame)
    text_position: int = 0
    neighbours: NDArray[np.int32] | None = None
    fine: NDArray[np.int64] | None = None


def write_points(folder: Path, points: Points) -> None:
    """Write points.parquet, whose kept columns stand before and after the texts as in the input."""
    kept = list(kept_columns.add_prefix(points.columns).items())
    columns = {
        **dict(kept[: points.text_position]),
        "text": points.texts,
        "row": points.rows,
        "cluster": points.clusters,
        "confidence": points.confidence,
        "x": points.layout[:, 0],
        "y": points.layout[:, 1],
        **({} if points.fine is None else {FINE: points.fine}),
        **dict(kept[points.text_position :]),
    }
    if points.neighbours is not None:
        columns[NEIGHBOURS] = list(points.neighbours)
    with replace_file(folder / POINTS) as temporary:
        pd.DataFrame(columns).to_parquet(temporary, index=False)


def read_points(folder: Path) -> Points:
    """Read points.parquet."""
    path = folder / POINTS
    try:
        stored = read_bounded_parquet(path)
        table = stored.select(POINT_COLUMNS).to_pandas(ignore_metadata=True)
        return Points(
            table["text"].tolist(),
            table["row"].to_numpy(np.int64),
            table["cluster"].to_numpy(np.int64),
            table["confidence"].to_numpy(np.float32),
            table[["x", "y"]].to_numpy(np.uint16),
            kept_columns.select_prefixed(stored),
            sum(
                name.startswith(kept_columns.PREFIX)
                for name in stored.column_names[: stored.column_names.index("text")]
            ),
            _read_neighbours(stored),
            stored[FINE].to_numpy().astype(np.int64) if FINE in stored.column_names else None,
        )
    except FileNotFoundError:
        if is_unfinished(folder):
            raise InputError(
                f"{folder} has no map and no page, because the run was interrupted; `rstc report {folder}` makes them"
            ) from None
        raise InputError(f"there is no {path}; cluster the file again") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError, pa.ArrowException) as error:
        raise InputError(f"{path} does not hold the texts of a run") from error


def _read_neighbours(stored: pa.Table) -> NDArray[np.int32] | None:
    """Return the nearest texts of each text (N, k), None if the run was made without them."""
    if NEIGHBOURS not in stored.column_names:
        return None
    lists = stored[NEIGHBOURS].combine_chunks()
    neighbours = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), dtype=np.int32).reshape(len(lists), -1)
    if neighbours.size and not (neighbours.min() >= 0 and neighbours.max() < len(lists)):
        raise ValueError("a neighbour that is not a text")
    return neighbours


def write_embeddings(folder: Path, E: NDArray[np.floating]) -> None:
    """Write embeddings.npy: the embeddings (N, D) of the texts at unit length, in half precision."""
    lengths = np.linalg.norm(E, axis=1, keepdims=True)
    U = np.asarray(E / np.maximum(lengths, np.finfo(np.float32).tiny), dtype=np.float16)
    with replace_file(folder / TEXT_EMBEDDINGS) as temporary, temporary.open("wb") as file:
        np.save(file, U, allow_pickle=False)


def read_embeddings(folder: Path, n_texts: int) -> NDArray[np.float16] | None:
    """Read embeddings.npy, (N, D); None if the run has none for each of its N texts, as runs of earlier versions."""
    try:
        check_embedding_size(folder / TEXT_EMBEDDINGS)
        U = np.load(folder / TEXT_EMBEDDINGS, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    fits = isinstance(U, np.ndarray) and U.dtype == np.float16 and U.ndim == 2 and len(U) == n_texts
    return U if fits and np.isfinite(U).all() else None


def identify_texts(folder: Path) -> tuple[int, ...]:
    """Return what tells whether the texts of a run were replaced: corrections keep the file as it is."""
    try:
        status = (folder / POINTS).stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns
