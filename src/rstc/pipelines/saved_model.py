"""A saved model by the path of its folder, for workers of data engines: small to send, loaded once in each process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rstc.errors import InputError
from rstc.io.atomic import sha256
from rstc.io.batches import extend_schema, predict_batch_with
from rstc.io.columns import TextColumn, to_text_column
from rstc.persistence import model_description, onnx_model
from rstc.persistence.model_description import resolve_folder
from rstc.persistence.onnx_model import OnnxModel, is_exported
from rstc.results.naming import are_names, fill_names
from rstc.results.run_models import find_model

if TYPE_CHECKING:
    from rstc.estimator import RSTC

MAX_LOADED = 2  # models that a process holds: workers live longer than the jobs that use a model

_load_lock = threading.Lock()  # Dask calls from several threads; the first one loads


class SavedModel:
    """A saved model that data engines can send to their workers.

    It has `predict_batch` like `RSTC`, but is pickled as a path and a checksum, which takes some hundred bytes; a
    fitted `RSTC` is pickled with its weights and with the texts that it was fitted on. The first batch of a process
    loads the model, and later batches use it again. A worker that finds another model in the folder raises an error.

    Parameters
    ----------
    folder : str or Path
        A run, a saved model or an exported model, which workers on other machines need under the same path; or a model
        on the hub, hub:OWNER/MODEL.
    text_column : str or sequence of str, optional
        The column that holds the texts, or several whose texts are joined by line breaks; by default that of the
        model's training data, or the only one.
    device : str, default="auto"
        Where a worker computes; an exported model computes on the CPU.

    Attributes
    ----------
    checksum : str
        Identifies the model.

    Examples
    --------
    >>> model = SavedModel("run")  # doctest: +SKIP
    >>> model.predict_batch(table)  # doctest: +SKIP
    """

    def __init__(
        self, folder: str | Path, text_column: str | Sequence[str] | None = None, device: str = "auto"
    ) -> None:
        # A worker may have another working directory.
        self.folder = str(Path(folder).absolute() if Path(folder).exists() else folder)
        identity = identify_model(_resolve(self.folder))
        self.checksum, self._names = identity.checksum, identity.names
        self.text_column = to_text_column(text_column) or identity.text_column
        self.device = device

    def __repr__(self) -> str:
        return f"SavedModel({self.folder!r}, text_column={self.text_column!r}, device={self.device!r})"

    def predict_batch(self, batch: Any) -> Any:
        """Return a batch of rows with the columns `cluster`, `cluster_name`, `confidence` and `confidence_level`.

        It can be passed to `dataset.map_batches(model.predict_batch)` (Ray), `frame.mapInArrow(model.predict_batch,
        model.batch_schema(frame.schema))` (Spark), `frame.map_partitions(model.predict_batch,
        meta=model.batch_schema(frame))` (Dask) and `frame.map_batches(model.predict_batch,
        schema=model.batch_schema(frame))` (polars, lazy).

        Parameters
        ----------
        batch : table, record batch, dict or iterator
            A pyarrow table or record batch, a table of pandas or polars, a dictionary of columns, or an iterator over
            these; the result has the same type.
        """
        return predict_batch_with(batch, self.text_column, self._predict, self._names)

    def batch_schema(self, schema: Any) -> Any:
        """Return the schema of what `predict_batch` returns, without loading the model.

        Parameters
        ----------
        schema : schema or table
            The schema of the batches: a `pyarrow.Schema`, Spark's `frame.schema`, or a table of pandas, Dask or polars.

        Returns
        -------
        schema or table
            A new schema of the same library; for pandas and Dask an empty pandas table, as Dask takes it as `meta`.
        """
        return extend_schema(schema)

    def _predict(self, texts: list[str | None]) -> tuple[Any, Any]:
        """Return clusters and confidence of texts."""
        with _load_lock:
            model = _load(self.folder, self.checksum, self.device)
        assignment = model.assign(texts)
        return assignment.clusters, assignment.confidence


class ModelIdentity(NamedTuple):
    """What a model folder says of itself without its network: its checksum, its text column, its clusters' names."""

    checksum: str
    text_column: TextColumn | None
    names: list[str]


def identify_model(folder: Path) -> ModelIdentity:
    """Read the identity of the model of a run, a saved model or an exported one."""
    if is_exported(folder):
        exported = onnx_model.read_description(folder)
        return ModelIdentity(
            sha256(folder / onnx_model.DESCRIPTION),
            to_text_column(exported.text_column),
            fill_names(exported.names, exported.n_clusters),
        )
    description = model_description.read_description(resolve_folder(find_model(folder)))
    column, names = (description.facts.get(name) for name in ("text_column", "names"))
    return ModelIdentity(
        description.checksum,
        to_text_column(column),
        fill_names(names if are_names(names, description.n_clusters) else None, description.n_clusters),
    )


def load_any_model(folder: Path, device: str) -> RSTC | OnnxModel:
    """Load the model of a run, a saved model or an exported one."""
    if is_exported(folder):
        return OnnxModel(folder)
    from rstc.estimator import RSTC  # torch, not for an exported model, and not before the input is known to be valid

    return RSTC.load(find_model(folder), device)


def _resolve(name: str) -> Path:
    """Return the folder of that name, or the local copy of a model on the hub."""
    if Path(name).exists():
        return Path(name)
    return resolve_folder(name)


@lru_cache(MAX_LOADED)
def _load(name: str, checksum: str, device: str) -> RSTC | OnnxModel:
    """Load a model, which has to have a checksum."""
    folder = _resolve(name)
    if identify_model(folder).checksum != checksum:
        raise InputError(f"the model in {folder} is not the one that the SavedModel was created from")
    return load_any_model(folder, device)
