"""Prediction of many files, by this process and by Ray, and of batches of data engines."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from fork_server import ForkedProcess
from rstc import RSTC, InputError, SavedModel
from rstc.errors import MixedPredictionsWarning
from rstc.io.atomic import compute_checksum
from rstc.io.batches import predict_batch_with
from rstc.io.columns import CLUSTER_COLUMNS
from rstc.io.remote import exists, put_file
from rstc.pipelines.predict import predict_files
from rstc.pipelines.predict_ray import ray_engine

WORDS = ["parcel", "late", "courier", "password", "login", "reset", "refund", "money", "bank", "soup", "onion"]


def write_files(folder: Path, names: list[str], rows: int = 30) -> dict[str, pd.DataFrame]:
    """Write parquet files in which one row of ten holds no text; return their tables by name."""
    rng, tables = np.random.default_rng(0), {}
    for number, name in enumerate(names):
        texts = [None if i % 10 == 9 else " ".join(rng.choice(WORDS, 4)) for i in range(rows)]
        tables[name] = pd.DataFrame({"row": np.arange(rows) + number * rows, "text": texts, "n": rng.random(rows)})
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        tables[name].to_parquet(folder / name, index=False, row_group_size=10)
    return tables


def check_files(out: Path, tables: dict[str, pd.DataFrame], model: RSTC) -> None:
    """Check that every file exists, with its rows in order and the predictions of the model."""
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.parquet")) == sorted(tables)
    for name, table in tables.items():
        written = pq.read_table(out / name).to_pandas(ignore_metadata=True)
        pd.testing.assert_frame_equal(written[["row", "text", "n"]], table)
        assert written["cluster"].isna().tolist() == table["text"].isna().tolist()
        assert written["cluster"].fillna(-1).astype(int).tolist() == model.predict(table["text"].tolist()).tolist()


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


def test_predicted_files_keep_names_rows_and_order(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    tables = write_files(tmp_path / "in", ["day=1/a.parquet", "day=1/b.parquet", "day=2/a.parquet"])
    result = predict_files(finished_run, str(tmp_path / "in/**/*.parquet"), str(tmp_path / "out"))
    assert (result.n_files, result.n_skipped, result.n_rows, result.n_texts) == (3, 0, 90, 81)
    check_files(tmp_path / "out", tables, model)
    assert pq.read_schema(tmp_path / "out/day=1/a.parquet").field("n").type == pa.float64()


def test_finished_files_are_skipped_and_changed_files_are_predicted_again(
    finished_run: Path, model: RSTC, tmp_path: Path
) -> None:
    tables = write_files(tmp_path / "in", ["a.parquet", "b.parquet"])
    out = str(tmp_path / "out")
    predict_files(finished_run, str(tmp_path / "in"), out)
    (tmp_path / "out/b.parquet").unlink()
    events: list[tuple[str, int, int]] = []
    again = predict_files(finished_run, str(tmp_path / "in"), out, listener=lambda *event: events.append(event))
    assert (again.n_files, again.n_skipped) == (1, 1)
    assert events == [("load", 0, 0), ("predict", 1, 1)]
    tables |= write_files(tmp_path / "in", ["a.parquet"], rows=12)
    os.utime(tmp_path / "in/a.parquet", (0, 0))
    assert predict_files(finished_run, str(tmp_path / "in"), out).n_files == 1, "an old time says nothing"
    check_files(tmp_path / "out", tables, model)
    assert predict_files(finished_run, str(tmp_path / "in"), out).n_files == 0


@pytest.mark.parametrize("change", ["model", "option", "output cut off", "output of the same size", "record damaged"])
def test_files_that_were_made_otherwise_or_changed_are_written_again(
    change: str, finished_run: Path, model: RSTC, tmp_path: Path
) -> None:
    tables = write_files(tmp_path / "in", ["a.parquet", "b.parquet"])
    source, out, written, folder = str(tmp_path / "in"), tmp_path / "out", tmp_path / "out/a.parquet", finished_run
    predict_files(finished_run, source, str(out))
    options: dict[str, Any] = {}
    if change == "model":
        folder = tmp_path / "other"
        shutil.copytree(finished_run / "model", folder)
        description = json.loads((folder / "model.json").read_text())
        description["facts"]["made"] = "otherwise"
        description["checksum"] = compute_checksum(description)
        (folder / "model.json").write_text(json.dumps(description))
    elif change == "option":
        options = {"text_column": "text"}
    elif change == "output cut off":
        written.write_bytes(written.read_bytes()[:-100])
    elif change == "output of the same size":
        written.write_bytes(bytes(written.stat().st_size))
    else:
        (out / "_rstc/a.parquet.json").write_text('{"made_by"')
    both = change in ("model", "option")
    assert predict_files(folder, source, str(out), **options).n_files == (2 if both else 1)
    check_files(out, tables, model)
    assert predict_files(folder, source, str(out), **options).n_files == 0


def test_folder_that_mixes_models_or_options_is_said(finished_run: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "in", ["a.parquet", "b.parquet"])
    predict_files(finished_run, str(tmp_path / "in"), str(tmp_path / "out"))
    with pytest.warns(MixedPredictionsWarning, match="also holds 1 other file that"):
        predict_files(finished_run, str(tmp_path / "in/a*"), str(tmp_path / "out"), text_column="text")


def test_file_addresses_are_paths(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    tables = write_files(tmp_path / "in", ["a.parquet", "x/b.parquet"])
    out = f"file://{tmp_path}/out"
    assert predict_files(finished_run, f"file://{tmp_path}/in/**/*.parquet", out).n_files == 2
    assert predict_files(finished_run, f"file://{tmp_path}/in/**/*.parquet", out).n_skipped == 2
    check_files(tmp_path / "out", tables, model)
    assert not list((tmp_path / "out").rglob(".*")), "no temporary files are left"


class BrokenFileSystem(MemoryFileSystem):
    """A store whose connection breaks in the middle of a file, a number of times."""

    protocol = "broken"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    failures = 0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.rpartition("://")[2].strip("/")

    def put_file(self, local: str, name: str, **options: Any) -> None:
        if BrokenFileSystem.failures and name.endswith((".parquet", ".tmp")):
            BrokenFileSystem.failures -= 1
            with self.open(name, "wb") as file:  # as stores do that show what has arrived
                file.write(Path(local).read_bytes()[:100])
            raise ConnectionError("the connection was lost")
        super().put_file(local, name, **options)


class BrokenObjectStore(BrokenFileSystem):
    """One that has no rename, and says how an object begins for the whole of it."""

    protocol = "s3"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]


@pytest.mark.parametrize("store", [BrokenFileSystem, BrokenObjectStore])
def test_upload_that_breaks_off_never_counts_as_done(
    store: type[BrokenFileSystem], finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation(store.protocol, store, clobber=True)
    write_files(tmp_path / "in", ["a.parquet", "b.parquet"])
    out = f"{store.protocol}://bucket/out"
    monkeypatch.setattr(BrokenFileSystem, "failures", 1)
    with pytest.raises(InputError, match=r"a\.parquet cannot be reached: the connection was lost"):
        predict_files(finished_run, str(tmp_path / "in"), out)
    names = [path.partition("bucket/out/")[2] for path in fsspec.filesystem(store.protocol).find("/bucket/out")]
    assert names == ["_rstc/b.parquet.json", "b.parquet"]
    again = predict_files(finished_run, str(tmp_path / "in"), out)
    assert (again.n_files, again.n_skipped) == (1, 1)
    assert predict_files(finished_run, str(tmp_path / "in"), out).n_skipped == 2


def test_object_that_differs_from_what_was_uploaded_is_removed(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation("s3", BrokenObjectStore, clobber=True)
    (tmp_path / "a.txt").write_text("late parcel")

    def put_other(self: Any, local: str, name: str, **options: Any) -> None:
        self.pipe_file(name, b"lost parcel")

    monkeypatch.setattr(BrokenObjectStore, "put_file", put_other)
    with pytest.raises(InputError, match="differs from what was uploaded"):
        put_file(tmp_path / "a.txt", "s3://bucket/other/a.txt")
    assert not exists("s3://bucket/other/a.txt")


def test_unreadable_file_does_not_stop_the_others(finished_run: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "in", ["a.parquet", "c.parquet"])
    (tmp_path / "in/b.parquet").write_bytes(b"no parquet")
    with pytest.raises(
        InputError, match=r"b\.parquet cannot be read as parquet.*the predictions of the other files are in"
    ):
        predict_files(finished_run, str(tmp_path / "in/*.parquet"), str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == ["a.parquet", "c.parquet"]
    with pytest.raises(InputError, match="there is no file"):
        predict_files(finished_run, str(tmp_path / "none/*.parquet"), str(tmp_path / "out"))


def test_empty_file_gives_an_empty_file(finished_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pd.DataFrame({"text": pd.Series([], dtype=str), "n": pd.Series([], dtype=float)}).to_parquet(
        tmp_path / "in/e.parquet"
    )
    (tmp_path / "in/e.csv").write_text("text,n\n")
    assert predict_files(finished_run, str(tmp_path / "in"), str(tmp_path / "out")).n_rows == 0
    assert pq.read_table(tmp_path / "out/e.parquet").column_names == ["text", "n", *CLUSTER_COLUMNS]
    assert (tmp_path / "out/e.csv").read_text() == "text,n,cluster,cluster_name,confidence,confidence_level\n"


def test_urls_are_read_and_written(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    tables = write_files(tmp_path / "in", ["a.parquet", "x/b.parquet"])
    store = fsspec.filesystem("memory")
    store.put(str(tmp_path / "in"), "/bucket/in", recursive=True)
    result = predict_files(finished_run, "memory://bucket/in/**/*.parquet", "memory://bucket/out")
    assert result.n_rows == 60
    assert predict_files(finished_run, "memory://bucket/in", "memory://bucket/out").n_skipped == 2
    store.get("/bucket/out", str(tmp_path / "out"), recursive=True)
    check_files(tmp_path / "out", tables, model)
    with pytest.raises(InputError, match="cannot be reached"):
        predict_files(finished_run, "nosuch://bucket/in", str(tmp_path / "other"))
    store.rm("/bucket", recursive=True)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[Any]:
    os.environ.update(RAY_worker_niceness="0")  # a test that waits for idle processors may wait long
    import ray

    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield ray
    ray.shutdown()


def find_workers() -> list[int]:
    """Return the ids of Ray's worker processes."""
    process_ids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::MapWorker"):
                process_ids.append(int(path.parent.name))
        except OSError:
            continue  # the process has ended
    return process_ids


@pytest.mark.slow
def test_ray_loses_no_rows_when_a_worker_is_killed(
    local_ray: Any, finished_run: Path, model: RSTC, tmp_path: Path
) -> None:
    tables = write_files(tmp_path / "in", [f"day={i % 3}/{i:02}.parquet" for i in range(20)], rows=400)
    killed: list[int] = []
    finished = threading.Event()

    def kill_worker() -> None:
        while not finished.wait(0.02):
            if list((tmp_path / "out").rglob("*.parquet")) and (process_ids := find_workers()):
                os.kill(process_ids[0], signal.SIGKILL)
                killed.append(process_ids[0])
                return

    killer = threading.Thread(target=kill_worker)
    killer.start()
    result = predict_files(finished_run, str(tmp_path / "in/**/*.parquet"), str(tmp_path / "out"), engine=ray_engine(2))
    finished.set()
    killer.join()
    assert killed, "there was no worker to kill"
    assert (result.n_files, result.n_rows) == (20, 8000)
    check_files(tmp_path / "out", tables, model)
    assert not list((tmp_path / "out").rglob(".*")), "no temporary files are left"


def test_ray_skips_finished_files_and_reports_unreadable_ones(
    local_ray: Any, finished_run: Path, tmp_path: Path
) -> None:
    write_files(tmp_path / "in", ["a.parquet", "b.parquet"])
    out = str(tmp_path / "out")
    assert predict_files(finished_run, str(tmp_path / "in"), out, engine=ray_engine(1)).n_files == 2
    (tmp_path / "in/c.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"c\.parquet cannot be read"):
        predict_files(finished_run, str(tmp_path / "in"), out, engine=ray_engine(1))


TABLE = pd.DataFrame({"id": [1, 2, 3], "text": ["parcel late courier", None, "password login reset"]})


def test_batch_comes_back_as_the_same_kind_with_three_more_columns(model: RSTC) -> None:
    clusters = model.predict(TABLE["text"].tolist())
    frame = model.predict_batch(TABLE)
    assert frame["cluster"].tolist() == [clusters[0], pd.NA, clusters[2]]
    assert frame.columns.tolist() == ["id", "text", *CLUSTER_COLUMNS]
    arrow = pa.Table.from_pandas(TABLE)
    for batch in (arrow, arrow.to_batches()[0]):
        predicted = model.predict_batch(batch)
        assert type(predicted) is type(batch)
        assert predicted.column("cluster").to_pylist() == [clusters[0], None, clusters[2]]
        assert predicted.schema.field("id") == batch.schema.field("id")
    columns = {name: TABLE[name].to_numpy() for name in TABLE}
    assert model.predict_batch(columns)["cluster"].tolist() == [clusters[0], -1, clusters[2]]
    # as Spark's mapInArrow does: an iterator of record batches for an iterator of record batches
    stream = model.predict_batch(iter(arrow.to_batches(max_chunksize=2)))
    assert [len(item) for item in stream] == [2, 1]
    assert len(model.predict_batch(TABLE.head(0))) == 0
    with pytest.raises(InputError, match="there is no column 'body'"):
        model.predict_batch(TABLE, "body")
    with pytest.raises(InputError, match="a batch is"):
        model.predict_batch(["parcel"])


def test_batch_that_has_a_cluster_already_is_refused(model: RSTC) -> None:
    predicted = model.predict_batch(TABLE)
    for batch in (predicted, pa.Table.from_pandas(predicted), predicted.to_dict("list")):
        with pytest.raises(InputError, match="already has a column 'cluster'"):
            model.predict_batch(batch)


def test_large_batch_is_predicted_in_blocks() -> None:
    sizes = []

    def predict(texts: list[str | None]) -> tuple[Any, Any]:
        sizes.append(len(texts))
        return np.array([len(text or "") for text in texts]), np.ones(len(texts))

    table = pa.table({"text": [str(row) for row in range(40_000)]})
    predicted = predict_batch_with(table, "text", predict, list("abcdef"))
    assert sizes == [16_384, 16_384, 7_232]
    assert predicted.column("cluster").to_pylist() == [len(str(row)) for row in range(40_000)]


def test_values_of_other_arrow_columns_are_not_converted(model: RSTC) -> None:
    interval = pa.array([pa.MonthDayNano([1, 2, 3])] * 2)
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    batch = pa.RecordBatch.from_pydict({"text": ["parcel late", None], "interval": interval, "union": union})
    predicted = model.predict_batch(batch, "text")
    assert predicted.select(batch.schema.names).equals(batch)


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "numpy"])
def test_ray_data_predicts_batches_of_each_kind(local_ray: Any, finished_run: Path, model: RSTC, kind: str) -> None:
    table = pd.concat([TABLE] * 4, ignore_index=True)
    expected = [-1 if cluster is pd.NA else cluster for cluster in model.predict_batch(table)["cluster"]]
    for predict in (model.predict_batch, SavedModel(finished_run).predict_batch):
        rows = local_ray.data.from_pandas(table).map_batches(predict, batch_format=kind).to_pandas()
        assert rows["cluster"].fillna(-1).astype(int).tolist() == expected


@pytest.mark.parametrize("engine", ["Ray Data", "Dask"])
def test_block_of_the_documentation_runs(
    local_ray: Any, finished_run: Path, model: RSTC, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    block = re.search(rf'```python title="{engine}"\n(.*?)```', page, re.DOTALL)
    assert block is not None
    tables = write_files(tmp_path / "in", ["a.parquet", "b.parquet"])
    shutil.copytree(finished_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    # Ray's workers stay in the folder that Ray was started in.
    exec(block[1].replace('"in/"', f'"{tmp_path}/in/"').replace("labelled-by-", f"{tmp_path}/labelled-by-"), {})
    (out,) = tmp_path.glob("labelled-by-*")
    written = pd.concat([pq.read_table(path).to_pandas() for path in out.glob("*.parquet")]).sort_values("row")
    texts = pd.concat(tables.values())["text"].tolist()
    assert [None if pd.isna(text) else text for text in written["text"]] == texts
    assert written["cluster"].fillna(-1).astype(int).tolist() == model.predict(texts).tolist()


def test_eight_processes_can_predict_with_one_model_folder(finished_run: Path, tickets: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in sorted(finished_run.rglob("*")) if path.is_file()}
    outs = [str(tmp_path / f"labelled{number}.csv") for number in range(8)]
    command = ["predict", str(finished_run), str(tickets), "--text-column", "text"]
    processes = [ForkedProcess(*command, "--out", out) for out in outs]
    for completed in [process.wait() for process in processes]:
        assert completed.returncode == 0, completed.stderr
    results = {Path(out).read_bytes() for out in outs}
    assert len(results) == 1
    assert pd.read_csv(outs[0])["cluster"].tolist() == pd.read_csv(finished_run / "clusters.csv")["cluster"].tolist()
    assert {path: path.read_bytes() for path in sorted(finished_run.rglob("*")) if path.is_file()} == before
