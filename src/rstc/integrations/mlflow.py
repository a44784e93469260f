"""RSTC as a flavour of MLflow (extra `mlflow`): models are logged, registered, served and loaded by it.

The logged model holds the model folder of `RSTC.save`, or an exported one, and MLflow's descriptions: no pickle and no
code. `load_model` opens that folder with the checks of `RSTC.load` and takes nothing else from the logged model.
`mlflow.pyfunc.load_model` also works, but imports the module that the logged model names: use it for your own models.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd

from rstc.errors import InputError
from rstc.io.batches import predict_batch_with
from rstc.io.columns import CLUSTER_COLUMNS, TextColumn, find_text_columns, to_text_list
from rstc.persistence.model_description import COMPUTING_PACKAGES, resolve_folder
from rstc.persistence.onnx_model import OnnxModel, is_exported
from rstc.pipelines.saved_model import identify_model, load_any_model
from rstc.results.run_models import find_model
from rstc.runtime.optional import import_optional

if TYPE_CHECKING:
    from rstc.estimator import RSTC

FLAVOR = "rstc"
FOLDER = "data/model"  # of the model folder in the logged model; MLflow copies what it is given into data/
DEFAULT_COLUMN = "text"  # of models that were fitted on a list


def save_model(
    model: RSTC | str | Path,
    path: str | Path,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    extra_pip_requirements: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a model to a new folder in MLflow's format, with the flavours `rstc` and `python_function`.

    Parameters
    ----------
    model : RSTC, str or Path
        A fitted model, or the folder of a run, of a saved model or of an exported one, which is served without torch.
    path : str or Path
        The folder to write.
    mlflow_model : mlflow.models.Model, optional
        The description to extend.
    signature : mlflow.models.ModelSignature, optional
        By default the text column of the model's training data (`text` if it was fitted on a list), and the columns of
        the result.
    input_example : data frame, optional
        An example to store beside the model. It holds texts in the clear.
    pip_requirements, extra_pip_requirements : sequence of str, optional
        What the model's environment needs, in place of the exact versions of rstc and the libraries that compute its
        predictions, or in addition to them.
    metadata : dict, optional
        Further entries of the description.
    """
    pyfunc = import_optional("mlflow.pyfunc", "mlflow")
    models = import_optional("mlflow.models", "mlflow")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, PurePosixPath(FOLDER).name)
        _write_folder(model, folder)
        description = models.Model() if mlflow_model is None else mlflow_model
        description.add_flavor(FLAVOR, data=FOLDER, rstc_version=_find_version("rstc"))
        required = list(pip_requirements) if pip_requirements is not None else _list_requirements(folder)
        pyfunc.save_model(
            path=str(path),
            loader_module=__name__,
            data_path=str(folder),
            mlflow_model=description,
            signature=signature or make_signature(identify_model(folder).text_column),
            input_example=input_example,
            pip_requirements=[*required, *(extra_pip_requirements or ())],
            metadata=metadata,
            model_config={"device": "auto"},
        )


def log_model(
    model: RSTC | str | Path,
    name: str = "model",
    registered_model_name: str | None = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    extra_pip_requirements: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
    tags: dict[str, Any] | None = None,
) -> Any:
    """Log a model to the active run of MLflow, and register it if a name is given.

    Parameters
    ----------
    model : RSTC, str or Path
        A fitted model, or the folder of a run, of a saved model or of an exported one.
    name : str
        The name of the logged model.
    registered_model_name : str, optional
        The name under which the registry gets a new version.
    signature, input_example, pip_requirements, extra_pip_requirements, metadata
        Those of `save_model`.
    params, tags : dict, optional
        Parameters and tags of the logged model.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its `model_uri` is what `load_model` takes.
    """
    models = import_optional("mlflow.models", "mlflow")
    return models.Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        model=model,
        registered_model_name=registered_model_name,
        signature=signature,
        input_example=input_example,
        pip_requirements=pip_requirements,
        extra_pip_requirements=extra_pip_requirements,
        metadata=metadata,
        params=params,
        tags=tags,
    )


def load_model(model_uri: str | Path, dst_path: str | Path | None = None, device: str = "auto") -> RSTC | OnnxModel:
    """Load the model of a logged model, with the checks of `RSTC.load`.

    Parameters
    ----------
    model_uri : str or Path
        An address of MLflow, such as `models:/tickets/3` or `runs:/RUN/model`, or a folder.
    dst_path : str or Path, optional
        An existing folder to download to; by default a temporary one.
    device : str
        Where the model computes; an exported model computes on the CPU.
    """
    artifacts = import_optional("mlflow.artifacts", "mlflow")
    models = import_optional("mlflow.models", "mlflow")
    destination = None if dst_path is None else str(dst_path)
    local = Path(artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=destination))
    flavor = models.Model.load(str(local)).flavors.get(FLAVOR)
    if flavor is None:
        raise InputError(f"the logged model {model_uri} has no flavour {FLAVOR!r}")
    if flavor.get("data") != FOLDER:
        raise InputError(f"the logged model {model_uri} names the folder {flavor.get('data')!r} in place of {FOLDER!r}")
    return load_any_model(local / FOLDER, device)


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> TablePredictor:
    """Load the model folder of a logged model for `mlflow.pyfunc`, which calls this function by its name."""
    folder = Path(path)
    identity = identify_model(folder)
    model = load_any_model(folder, (model_config or {}).get("device", "auto"))
    return TablePredictor(model, identity.text_column, identity.names)


class TablePredictor:
    """A model as `mlflow.pyfunc` calls it: a table in, a table with the predictions of its rows out.

    Parameters
    ----------
    model : RSTC or OnnxModel
        The model.
    text_column : str, list of str or None
        The column that holds the texts, or several that are joined.
    names : sequence of str
        The name of each cluster.
    """

    def __init__(self, model: RSTC | OnnxModel, text_column: TextColumn | None, names: Sequence[str]) -> None:
        self.model, self.text_column, self.names = model, text_column, list(names)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Return the columns `cluster`, `cluster_name`, `confidence` and `confidence_level`, a row for each row.

        Parameters
        ----------
        model_input : pandas.DataFrame or list of str
            Rows, or texts.
        params : dict, optional
            Parameters of the request, of which this flavour has none.
        """
        if params:
            raise InputError(f"the model takes no parameters, got {', '.join(sorted(params))}")
        column = self.text_column or DEFAULT_COLUMN
        if not isinstance(model_input, pd.DataFrame):
            column, model_input = DEFAULT_COLUMN, pd.DataFrame({DEFAULT_COLUMN: to_text_list(model_input)})
        found = find_text_columns(model_input, column, how_to_choose="as the model's signature says")
        texts = model_input[[found] if isinstance(found, str) else list(found)]
        predicted: pd.DataFrame = predict_batch_with(texts, found, self._predict, self.names)
        return predicted[list(CLUSTER_COLUMNS)]

    def _predict(self, texts: list[str | None]) -> tuple[Any, Any]:
        assignment = self.model.assign(texts)
        return assignment.clusters, assignment.confidence


def _write_folder(model: RSTC | str | Path, folder: Path) -> None:
    """Write a fitted model to a folder, or copy the model of a run, a saved model or an exported one."""
    if not isinstance(model, (str, Path)):
        model.save(folder)
        return
    source = resolve_folder(model)
    source = source if is_exported(source) else find_model(source)
    identify_model(source)  # refuses what is not a model, and links
    shutil.copytree(source, folder)


def make_signature(text_column: TextColumn | None) -> Any:
    """Return MLflow's signature of a model: the text column in, the predicted columns out."""
    models = import_optional("mlflow.models", "mlflow")
    types = import_optional("mlflow.types", "mlflow")
    column = text_column or DEFAULT_COLUMN
    inputs = [types.ColSpec("string", name) for name in ([column] if isinstance(column, str) else column)]
    kinds = dict(zip(CLUSTER_COLUMNS, ("long", "string", "double", "string"), strict=True))
    outputs = [types.ColSpec(kind, name, required=False) for name, kind in kinds.items()]  # missing without a text
    return models.ModelSignature(types.Schema(inputs), types.Schema(outputs))


def _list_requirements(folder: Path) -> list[str]:
    """Return the exact versions of what computes the predictions of a model folder."""
    if is_exported(folder):
        return [f"rstc[onnx]=={_find_version('rstc')}", f"onnxruntime=={_find_version('onnxruntime')}"]
    return [f"{name}=={_find_version(name)}" for name in ("rstc", *COMPUTING_PACKAGES)]


def _find_version(package: str) -> str:
    """Return the version of a package without what names a build (+cpu), which an index may not have."""
    return version(package).partition("+")[0]
