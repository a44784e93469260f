"""Models by the path of their folder: what is sent to workers, when it is loaded, and prediction in Dask."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cloudpickle
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rstc import RSTC, InputError, SavedModel
from rstc.io.columns import CLUSTER_COLUMNS
from rstc.pipelines import saved_model

TABLE = pd.DataFrame(
    {
        "row": range(40),
        "channel": ["mail", "chat"] * 20,
        "text": ["parcel late courier", None, "password login reset", "refund money bank"] * 10,
    }
)


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


@pytest.fixture
def forget_models() -> None:
    """Start the test as in a new process, which has loaded no model."""
    saved_model._load.cache_clear()


def check_predictions(labelled: pd.DataFrame, model: RSTC) -> None:
    """Check that the rows are those of TABLE in order, with the predictions of the model."""
    assert labelled.columns.tolist() == ["row", "channel", "text", *CLUSTER_COLUMNS]
    assert labelled["row"].tolist() == TABLE["row"].tolist()
    assert labelled["channel"].tolist() == TABLE["channel"].tolist()
    assert labelled["cluster"].isna().tolist() == TABLE["text"].isna().tolist()
    assert labelled["cluster"].fillna(-1).tolist() == model.predict(TABLE["text"].tolist()).tolist()
    assert labelled["confidence"].isna().tolist() == TABLE["text"].isna().tolist()


def test_pickle_is_small_and_holds_no_weights(finished_run: Path, model: RSTC) -> None:
    pickled = cloudpickle.dumps(SavedModel(finished_run).predict_batch)
    assert len(pickled) < 1000
    check_predictions(pickle.loads(pickled)(TABLE), model)


def test_pickled_estimator_predicts_as_before(model: RSTC) -> None:
    check_predictions(pickle.loads(pickle.dumps(model)).predict_batch(TABLE), model)


@pytest.mark.usefixtures("forget_models")
def test_threads_share_one_loaded_model(finished_run: Path, model: RSTC) -> None:
    saved = [SavedModel(finished_run) for _ in range(8)]
    assert saved_model._load.cache_info().misses == 0, "a model is loaded when a batch needs it"
    with ThreadPoolExecutor(8) as pool:
        for labelled in pool.map(lambda one: one.predict_batch(TABLE), saved):
            check_predictions(labelled, model)
    assert saved_model._load.cache_info().misses == 1


def test_run_model_and_exported_folders_are_found_from_any_directory(
    finished_run: Path, model: RSTC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    shutil.copytree(finished_run, tmp_path / "run")
    model.export_onnx(tmp_path / "exported")
    monkeypatch.chdir(tmp_path)
    models = [SavedModel(folder) for folder in ("run", Path("run/model"), "exported")]
    monkeypatch.chdir("/")
    for saved in models:
        check_predictions(saved.predict_batch(TABLE), model)
    assert models[0].checksum == models[1].checksum != models[2].checksum


def test_exported_model_is_used_without_torch(model: RSTC, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model.export_onnx(tmp_path / "exported")
    code = f"""
import sys, pandas, rstc
batch = pandas.DataFrame({{"text": ["parcel late courier"]}})
print(rstc.SavedModel({str(tmp_path / "exported")!r}).predict_batch(batch)["cluster"].tolist(), "torch" in sys.modules)
"""
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert completed.stdout.strip() == f"{model.predict(['parcel late courier']).tolist()} False", completed.stderr


@pytest.mark.usefixtures("forget_models")
def test_another_model_in_the_folder_is_refused(run_folder: Path, model: RSTC) -> None:
    before = SavedModel(run_folder)
    model.merge_to(2).save(run_folder / "model")
    with pytest.raises(InputError, match="is not the one that the SavedModel was created from"):
        before.predict_batch(TABLE)
    after = SavedModel(run_folder)
    assert set(after.predict_batch(TABLE)["cluster"].dropna()) <= {0, 1}
    with pytest.raises(InputError, match="there is no model in"):
        SavedModel(run_folder / "none")


def test_schema_is_that_of_the_predicted_batch(finished_run: Path) -> None:
    saved = SavedModel(finished_run)
    table = pa.Table.from_pandas(TABLE)
    assert saved.batch_schema(table.schema) == saved.predict_batch(table).schema
    empty = saved.batch_schema(TABLE)
    assert len(empty) == 0
    pd.testing.assert_series_equal(empty.dtypes, saved.predict_batch(TABLE).dtypes)
    with pytest.raises(InputError, match="already has a column 'cluster'"):
        saved.batch_schema(empty)
    with pytest.raises(InputError, match="already has a column 'confidence'"):
        saved.batch_schema(pa.schema({"text": pa.string(), "confidence": pa.float64()}))
    with pytest.raises(InputError, match=r"a schema is .*, got dict"):
        saved.batch_schema({"text": str})


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_dask_predicts_partitions_of_parquet_files(
    finished_run: Path, model: RSTC, scheduler: str, tmp_path: Path
) -> None:
    dd.from_pandas(TABLE, npartitions=4).to_parquet(tmp_path / "in", write_index=False)
    frame = dd.read_parquet(tmp_path / "in", split_row_groups=True)
    assert frame.npartitions == 4
    saved = SavedModel(finished_run, text_column="text")
    labelled = frame.map_partitions(saved.predict_batch, meta=saved.batch_schema(frame))
    assert labelled.npartitions == 4
    computed = labelled.compute(scheduler=scheduler, num_workers=2)
    check_predictions(computed.reset_index(drop=True), model)
    pd.testing.assert_series_equal(computed.dtypes, labelled.dtypes)


def test_dask_learns_the_schema_without_loading_the_model(finished_run: Path) -> None:
    saved_model._load.cache_clear()
    frame = dd.from_pandas(TABLE.set_index("row"), npartitions=2)
    saved = SavedModel(finished_run, text_column="text")
    labelled = frame.map_partitions(saved.predict_batch, meta=saved.batch_schema(frame))
    assert saved_model._load.cache_info().misses == 0
    assert labelled.index.name == "row"
    assert str(labelled["cluster"].dtype) == "Int64"
    counts = labelled.groupby("channel")["cluster"].count().compute()
    assert counts.to_dict() == {"mail": 20, "chat": 10}


def test_dask_infers_the_schema_from_a_fitted_model(model: RSTC) -> None:
    frame = dd.from_pandas(TABLE, npartitions=3).map_partitions(model.predict_batch)
    assert np.all(frame.dtypes == model.predict_batch(frame.partitions[0].compute()[TABLE.columns]).dtypes)
    check_predictions(frame.compute(), model)
