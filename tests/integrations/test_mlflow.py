"""RSTC as a flavour of MLflow: what is logged, and what comes back, with a tracking store in a local folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from rstc import RSTC, InputError, OnnxModel
from rstc.io.columns import CLUSTER_COLUMNS

mlflow = pytest.importorskip("mlflow", reason="make test-mlflow installs it")

ROWS = pd.DataFrame({"id": [7, 8, 9], "text": ["parcel late courier", None, "password login reset"]})


@pytest.fixture(autouse=True)
def local_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep runs and registered models in a folder of the test's own."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no other local store
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


def list_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check_table(predicted: pd.DataFrame, model: RSTC) -> None:
    """Check the predictions of ROWS."""
    clusters = model.predict(ROWS["text"].tolist()).tolist()
    assert predicted.columns.tolist() == list(CLUSTER_COLUMNS)
    assert predicted["cluster"].fillna(-1).tolist() == clusters
    names = [None if cluster < 0 else model.cluster_names_[cluster] for cluster in clusters]
    assert predicted["cluster_name"].astype(object).where(predicted["cluster_name"].notna(), None).tolist() == names
    assert predicted["confidence"].isna().tolist() == [False, True, False]


def test_logged_model_is_loaded_by_its_address(model: RSTC) -> None:
    from rstc.integrations.mlflow import load_model, log_model

    with mlflow.start_run():
        info = log_model(model, name="tickets", registered_model_name="tickets")
    for address in (info.model_uri, "models:/tickets/1"):
        loaded = load_model(address, device="cpu")
        assert isinstance(loaded, RSTC)
        assert loaded.predict(["parcel late"]).tolist() == model.predict(["parcel late"]).tolist()
    assert set(info.flavors) == {"rstc", "python_function"}


def test_pyfunc_predicts_clusters_names_and_confidence(model: RSTC) -> None:
    from rstc.integrations.mlflow import log_model

    with mlflow.start_run():
        info = log_model(model)
    served = mlflow.pyfunc.load_model(info.model_uri, model_config={"device": "cpu"})
    assert served.metadata.get_input_schema().input_names() == ["text"]
    assert served.metadata.get_output_schema().input_names() == list(CLUSTER_COLUMNS)
    check_table(served.predict(ROWS), model)
    check_table(served.predict(ROWS.assign(cluster=3)[["cluster", "text"]]), model)
    with pytest.raises(mlflow.exceptions.MlflowException, match="text"):
        served.predict(ROWS[["id"]])


def test_predictor_takes_a_list_of_texts(model: RSTC) -> None:
    from rstc.integrations.mlflow import TablePredictor

    predictor = TablePredictor(model, "text", model.cluster_names_)
    check_table(predictor.predict(ROWS["text"].tolist()), model)
    with pytest.raises(InputError, match="takes no parameters, got top_k"):
        predictor.predict(["parcel"], {"top_k": 3})


def test_logged_model_holds_our_folder_and_neither_pickle_nor_code(model: RSTC, tmp_path: Path) -> None:
    from rstc.integrations.mlflow import save_model

    model.save(tmp_path / "own")
    save_model(model, tmp_path / "saved")
    names = list_names(tmp_path / "saved")
    folder = {name.removeprefix("data/model/") for name in names if name.startswith("data/model/")}
    assert folder == list_names(tmp_path / "own")
    others = {name for name in names if not name.startswith("data/model/")}
    assert others == {"MLmodel", "conda.yaml", "python_env.yaml", "requirements.txt"}
    assert not {path.suffix for path in (tmp_path / "saved").rglob("*")} & {".pkl", ".pickle", ".py", ".pyc", ".pt"}
    requirements = (tmp_path / "saved" / "requirements.txt").read_text()
    assert "rstc==" in requirements
    assert "torch==" in requirements
    assert "+cpu" not in requirements


def test_run_folder_and_exported_model_are_logged_as_they_are(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    from rstc.integrations.mlflow import load_model, save_model

    pytest.importorskip("onnxruntime")
    save_model(finished_run, tmp_path / "of-a-run")
    assert (tmp_path / "of-a-run/data/model/model.json").read_bytes() == (
        finished_run / "model/model.json"
    ).read_bytes()
    model.export_onnx(tmp_path / "exported")
    save_model(tmp_path / "exported", tmp_path / "light")
    assert isinstance(load_model(tmp_path / "light"), OnnxModel)
    assert "torch" not in (tmp_path / "light/requirements.txt").read_text()
    check_table(mlflow.pyfunc.load_model(str(tmp_path / "light")).predict(ROWS), model)
    with pytest.raises(InputError, match="there is no model in"):
        save_model(tmp_path / "nothing", tmp_path / "saved")


def test_exported_model_is_served_without_torch(model: RSTC, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from rstc.integrations.mlflow import save_model

    model.export_onnx(tmp_path / "exported")
    save_model(tmp_path / "exported", tmp_path / "light")
    code = f"""
import sys, pandas
from rstc.integrations.mlflow import load_model
print(load_model({str(tmp_path / "light")!r}).predict(["parcel late courier"]).tolist(), "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.stdout.strip() == f"{model.predict(['parcel late courier']).tolist()} False", done.stderr


@pytest.mark.parametrize("name", ["heads.safetensors", "encoder/model.safetensors"])
def test_altered_model_is_refused(name: str, finished_run: Path, tmp_path: Path) -> None:
    from rstc.integrations.mlflow import load_model, save_model

    save_model(finished_run, tmp_path / "saved")
    with (tmp_path / "saved/data/model" / name).open("ab") as file:
        file.write(b"more")
    with pytest.raises(InputError, match=f"altered: {name}"):
        load_model(tmp_path / "saved")


@pytest.mark.parametrize(
    ("flavor", "message"),
    [({"data": "../../other"}, "names the folder '../../other'"), (None, "has no flavour 'rstc'")],
)
def test_description_that_leads_elsewhere_is_refused(
    flavor: dict[str, Any] | None, message: str, finished_run: Path, tmp_path: Path
) -> None:
    from rstc.integrations.mlflow import load_model, save_model

    save_model(finished_run, tmp_path / "saved")
    shutil.copytree(finished_run / "model", tmp_path / "other")
    description = yaml.safe_load((tmp_path / "saved/MLmodel").read_text())
    description["flavors"].pop("rstc")
    description["flavors"] |= {"rstc": flavor} if flavor else {}
    (tmp_path / "saved/MLmodel").write_text(yaml.safe_dump(description))
    with pytest.raises(InputError, match=message):
        load_model(tmp_path / "saved")


def test_several_text_columns_are_the_signature(model: RSTC) -> None:
    from rstc.integrations.mlflow import TablePredictor, make_signature

    signature = make_signature(["title", "body"])
    assert signature.inputs.input_names() == ["title", "body"]
    table = pd.DataFrame({"body": ["late courier", None], "id": [1, 2], "title": ["parcel", "password"]})
    predicted = TablePredictor(model, ["title", "body"], model.cluster_names_).predict(table)
    assert predicted["cluster"].tolist() == model.predict(["parcel\nlate courier", "password"]).tolist()


def test_block_of_the_documentation_runs(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "install.md").read_text(encoding="utf-8")
    block = re.search(r'```python title="MLflow"\n(.*?)```', page, re.DOTALL)
    assert block is not None
    shutil.copytree(finished_run, tmp_path / "run")
    names: dict[str, Any] = {"table": ROWS}
    exec(block[1], names)
    check_table(names["served"].predict(ROWS), model)
