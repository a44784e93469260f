"""Prediction in Spark: a local session with two worker processes, Parquet in and Parquet out (`make test-spark`)."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from rstc import RSTC, InputError, SavedModel
from rstc.io.columns import CLUSTER_COLUMNS

pytest.importorskip("pyspark", reason="PySpark is missing: make test-spark installs it")

ROWS, PARTITIONS = 200, 4
DOCS = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start Spark with two worker processes; without Java the tests are skipped, but not in CI."""
    java = Path(os.environ.get("JAVA_HOME", ""), "bin", "java")
    if not (shutil.which("java") or java.is_file()):
        problem = "Java is missing: tools/install-java.sh"
        pytest.fail(problem) if os.environ.get("CI") else pytest.skip(problem)
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("rstc").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.files.openCostInBytes", "512m").getOrCreate()  # a partition for each file
    yield session
    session.stop()


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return rows with their number, a text that is missing in one row of ten, a category, a date and a list."""
    rng = np.random.default_rng(0)
    words = ["parcel", "late", "courier", "password", "login", "reset", "refund", "money", "bank", "soup", "onion"]
    return pd.DataFrame(
        {
            "row": np.arange(ROWS),
            "channel": rng.choice(["mail", "chat"], ROWS),
            "text": [None if i % 10 == 9 else " ".join(rng.choice(words, 4)) for i in range(ROWS)],
            "at": pd.date_range("2026-01-01", periods=ROWS, freq="h").astype("datetime64[us]"),
            "tags": [["a", "b"][: i % 3] for i in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def folder(spark: Any, table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the rows by Spark, in four Parquet files that follow each other; return their folder."""
    folder = tmp_path_factory.mktemp("spark") / "in"
    schema = "row long, channel string, text string, at timestamp_ntz, tags array<string>"
    rows = [(row, channel, text, at.to_pydatetime(), tags) for row, channel, text, at, tags in table.values.tolist()]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, PARTITIONS), schema)
    frame.write.parquet(str(folder))
    assert len(list(folder.glob("*.parquet"))) == PARTITIONS
    return str(folder)


def check_rows(labelled: pd.DataFrame, table: pd.DataFrame, model: RSTC) -> None:
    """Check that all rows are there in order, with their own columns and the predictions of the model."""
    assert labelled.columns.tolist() == [*table.columns, *CLUSTER_COLUMNS]
    assert labelled["row"].tolist() == table["row"].tolist()
    assert labelled["tags"].map(list).tolist() == table["tags"].tolist()
    plain = ["channel", "text", "at"]
    pd.testing.assert_frame_equal(labelled[plain], table[plain], check_dtype=False)  # toPandas has nanoseconds
    assert labelled["cluster"].isna().tolist() == table["text"].isna().tolist()
    assert labelled["confidence"].isna().tolist() == table["text"].isna().tolist()
    assert labelled["cluster"].fillna(-1).astype(int).tolist() == model.predict(table["text"].tolist()).tolist()
    confidence = model.assign(table["text"].tolist()).confidence
    assert labelled["confidence"].fillna(0).tolist() == pytest.approx(confidence.tolist(), abs=1e-3)


def read_partitions(folder: Path) -> pd.DataFrame:
    """Read a Parquet file for each partition; Spark chooses the order of partitions, but not of the rows in them."""
    tables = [pq.read_table(path).to_pandas() for path in folder.glob("part-*.parquet")]
    assert [len(table) for table in tables] == [ROWS // PARTITIONS] * PARTITIONS
    return pd.concat(sorted(tables, key=lambda table: table["row"][0]), ignore_index=True)


def test_spark_keeps_rows_and_columns_and_adds_the_predictions(
    spark: Any, finished_run: Path, model: RSTC, table: pd.DataFrame, folder: str, tmp_path: Path
) -> None:
    saved = SavedModel(finished_run, text_column="text")
    frame = spark.read.parquet(folder)
    columns = list(frame.columns)
    labelled = frame.mapInArrow(saved.predict_batch, saved.batch_schema(frame.schema))
    assert frame.columns == columns, "the schema of the input is not changed"
    assert labelled.rdd.getNumPartitions() == PARTITIONS
    labelled.write.parquet(str(tmp_path / "out"))
    check_rows(read_partitions(tmp_path / "out"), table, model)


def test_block_of_the_documentation_runs(
    spark: Any,
    finished_run: Path,
    model: RSTC,
    table: pd.DataFrame,
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(finished_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python title=\"Spark\"\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    # Spark's own process stays in the folder that it was started in.
    block_code = block[1].replace('"in/"', repr(folder)).replace("labelled-by-spark/", f"{tmp_path}/labelled")
    exec(block_code, {})
    check_rows(read_partitions(tmp_path / "labelled"), table, model)


def test_worker_process_loads_the_model_once_for_several_tasks(
    spark: Any, finished_run: Path, folder: str, tmp_path: Path
) -> None:
    shutil.copytree(finished_run, tmp_path / "run")  # a folder that no worker knows
    saved = SavedModel(tmp_path / "run", text_column="text")

    def count_loads(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from rstc.pipelines import saved_model

        before = saved_model._load.cache_info().misses
        rows = sum(len(batch) for batch in saved.predict_batch(batches))
        loads = saved_model._load.cache_info().misses - before
        yield pa.RecordBatch.from_pydict({"process": [os.getpid()], "loads": [loads], "rows": [rows]})

    frame = spark.read.parquet(folder).repartition(8)
    tasks = frame.mapInArrow(count_loads, "process long, loads long, rows long").toPandas()
    assert tasks["rows"].sum() == ROWS
    assert len(tasks) == 8 > tasks["process"].nunique()
    assert set(tasks.groupby("process")["loads"].sum()) == {1}


def test_fitted_model_itself_can_be_sent_to_the_workers(
    spark: Any, model: RSTC, table: pd.DataFrame, folder: str
) -> None:
    frame = spark.read.parquet(folder)
    own = ", ".join(f"{name} {kind}" for name, kind in frame.dtypes)
    schema = f"{own}, cluster long, cluster_name string, confidence double, confidence_level string"
    labelled = frame.mapInArrow(model.predict_batch, schema).toPandas()
    check_rows(labelled.sort_values("row", ignore_index=True), table, model)


def test_column_that_predictions_would_replace_is_refused(spark: Any, finished_run: Path, folder: str) -> None:
    frame = spark.read.parquet(folder).withColumnRenamed("channel", "cluster")
    with pytest.raises(InputError, match="already has a column 'cluster'"):
        SavedModel(finished_run).batch_schema(frame.schema)
