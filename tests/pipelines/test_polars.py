"""Prediction in polars: tables, lazy queries, and the block of the documentation."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from rstc import RSTC, InputError, SavedModel
from rstc.io.columns import CLUSTER_COLUMNS

TABLE = pl.DataFrame(
    {
        "row": range(40),
        "channel": pl.Series(["mail", "chat"] * 20, dtype=pl.Categorical),
        "text": ["parcel late courier", None, "password login reset", "refund money bank"] * 10,
    }
)


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


def check_predictions(labelled: pl.DataFrame, model: RSTC) -> None:
    """Check that the rows are those of TABLE in order, with the predictions of the model."""
    assert labelled.columns == [*TABLE.columns, *CLUSTER_COLUMNS]
    assert labelled.select(TABLE.columns).equals(TABLE)
    assert labelled["cluster"].is_null().to_list() == TABLE["text"].is_null().to_list()
    assert labelled["cluster"].fill_null(-1).to_list() == model.predict(TABLE["text"].to_list()).tolist()
    assert labelled["confidence"].is_null().to_list() == TABLE["text"].is_null().to_list()


def test_table_keeps_its_columns_and_gets_the_predictions(finished_run: Path, model: RSTC) -> None:
    for predict in (model.predict_batch, SavedModel(finished_run).predict_batch):
        check_predictions(predict(TABLE), model)
    assert model.predict_batch(TABLE.head(0)).height == 0
    with pytest.raises(InputError, match="already has a column 'cluster'"):
        model.predict_batch(model.predict_batch(TABLE))


def test_schema_is_that_of_the_predicted_table(finished_run: Path) -> None:
    saved = SavedModel(finished_run, text_column="text")
    for schema in (TABLE, TABLE.lazy(), TABLE.schema):
        assert saved.batch_schema(schema) == saved.predict_batch(TABLE).schema


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_lazy_query_predicts_what_it_needs(finished_run: Path, model: RSTC, engine: str) -> None:
    saved = SavedModel(finished_run, text_column="text")
    query = TABLE.lazy().map_batches(saved.predict_batch, schema=saved.batch_schema(TABLE), streamable=True)
    check_predictions(query.collect(engine=engine), model)
    counts = query.group_by("channel").agg(pl.col("cluster").count()).collect(engine=engine)
    assert dict(counts.with_columns(pl.col("channel").cast(pl.String)).rows()) == {"mail": 20, "chat": 10}


def test_block_of_the_documentation_runs(
    finished_run: Path, model: RSTC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    block = re.search(r'```python title="polars"\n(.*?)```', page, re.DOTALL)
    assert block is not None
    (tmp_path / "in").mkdir()
    TABLE.head(25).write_parquet(tmp_path / "in" / "a.parquet")
    TABLE.tail(15).write_parquet(tmp_path / "in" / "b.parquet")
    shutil.copytree(finished_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    exec(block[1], {})
    check_predictions(pl.read_parquet("labelled-by-polars.parquet").sort("row"), model)
