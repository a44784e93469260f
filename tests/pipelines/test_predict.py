"""Many files labelled, by this process and by Ray, and batches as data engines hand them on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rstc import RSTC, InputError
from rstc.pipelines.predict_ray import ray_engine
from rstc.pipelines.predict import predict_files

WORDS = ["parcel", "late", "courier", "password", "login", "reset", "refund", "money", "bank", "soup", "onion"]


def make_parts(folder: Path, names: list[str], rows: int = 30) -> dict[str, pd.DataFrame]:
    """Write parquet files of texts, one row in ten without; return them by name."""
    rng, made = np.random.default_rng(0), {}
    for number, name in enumerate(names):
        texts = [None if i % 10 == 9 else " ".join(rng.choice(WORDS, 4)) for i in range(rows)]
        made[name] = pd.DataFrame({"row": np.arange(rows) + number * rows, "text": texts, "n": rng.random(rows)})
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        made[name].to_parquet(folder / name, index=False, row_group_size=10)
    return made


def check_parts(out: Path, made: dict[str, pd.DataFrame], model: RSTC) -> None:
    """See that every part is there with its rows in order, and labelled as the model does."""
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.parquet")) == sorted(made)
    for name, table in made.items():
        found = pq.read_table(out / name).to_pandas(ignore_metadata=True)
        pd.testing.assert_frame_equal(found[["row", "text", "n"]], table)
        assert found["cluster"].isna().tolist() == table["text"].isna().tolist()
        assert found["cluster"].fillna(-1).astype(int).tolist() == model.predict(table["text"].tolist()).tolist()


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


def test_parts_keep_their_names_rows_and_order(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    made = make_parts(tmp_path / "in", ["day=1/a.parquet", "day=1/b.parquet", "day=2/a.parquet"])
    done = predict_files(finished_run, str(tmp_path / "in/**/*.parquet"), str(tmp_path / "out"))
    assert (done.parts, done.skipped, done.rows, done.texts) == (3, 0, 90, 81)
    check_parts(tmp_path / "out", made, model)
    assert pq.read_schema(tmp_path / "out/day=1/a.parquet").field("n").type == pa.float64()


def test_what_is_done_is_skipped_and_what_changed_is_done_again(
    finished_run: Path, model: RSTC, tmp_path: Path
) -> None:
    made = make_parts(tmp_path / "in", ["a.parquet", "b.parquet"])
    into = str(tmp_path / "out")
    predict_files(finished_run, str(tmp_path / "in"), into)
    (tmp_path / "out/b.parquet").unlink()
    seen: list[tuple[str, int, int]] = []
    again = predict_files(finished_run, str(tmp_path / "in"), into, listener=lambda *what: seen.append(what))
    assert (again.parts, again.skipped) == (1, 1)
    assert seen == [("predict", 1, 1)]
    made |= make_parts(tmp_path / "in", ["a.parquet"], rows=12)
    later = time.time() + 5
    os.utime(tmp_path / "in/a.parquet", (later, later))
    assert predict_files(finished_run, str(tmp_path / "in"), into).parts == 1
    check_parts(tmp_path / "out", made, model)
    with pytest.raises(InputError, match="another setting"):
        predict_files(finished_run, str(tmp_path / "in"), into, text_column="n")


def test_a_file_that_cannot_be_read_does_not_stop_the_others(finished_run: Path, tmp_path: Path) -> None:
    make_parts(tmp_path / "in", ["a.parquet", "c.parquet"])
    (tmp_path / "in/b.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"b\.parquet cannot be read as parquet.*what could be read is in"):
        predict_files(finished_run, str(tmp_path / "in/*.parquet"), str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == ["a.parquet", "c.parquet"]
    with pytest.raises(InputError, match="there is no file"):
        predict_files(finished_run, str(tmp_path / "none/*.parquet"), str(tmp_path / "out"))


def test_an_empty_part_stays_an_empty_part(finished_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pd.DataFrame({"text": pd.Series([], dtype=str), "n": pd.Series([], dtype=float)}).to_parquet(
        tmp_path / "in/e.parquet"
    )
    (tmp_path / "in/e.csv").write_text("text,n\n")
    assert predict_files(finished_run, str(tmp_path / "in"), str(tmp_path / "out")).rows == 0
    assert pq.read_table(tmp_path / "out/e.parquet").column_names == ["text", "n", "cluster", "confidence"]
    assert (tmp_path / "out/e.csv").read_text() == "text,n,cluster,confidence\n"


def test_addresses_that_fsspec_knows_are_read_and_written(finished_run: Path, model: RSTC, tmp_path: Path) -> None:
    made = make_parts(tmp_path / "in", ["a.parquet", "x/b.parquet"])
    store = fsspec.filesystem("memory")
    store.put(str(tmp_path / "in"), "/bucket/in", recursive=True)
    done = predict_files(finished_run, "memory://bucket/in/**/*.parquet", "memory://bucket/out")
    assert done.rows == 60
    assert predict_files(finished_run, "memory://bucket/in", "memory://bucket/out").skipped == 2
    store.get("/bucket/out", str(tmp_path / "out"), recursive=True)
    check_parts(tmp_path / "out", made, model)
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


def workers() -> list[int]:
    """Return the processes of Ray that have a model at hand."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_bytes().startswith(b"ray::MapWorker"):
                found.append(int(place.parent.name))
        except OSError:
            continue  # it ended meanwhile
    return found


@pytest.mark.slow
def test_ray_loses_no_row_when_a_worker_is_killed(
    local_ray: Any, finished_run: Path, model: RSTC, tmp_path: Path
) -> None:
    made = make_parts(tmp_path / "in", [f"day={i % 3}/{i:02}.parquet" for i in range(20)], rows=400)
    killed: list[int] = []
    ended = threading.Event()

    def kill_one() -> None:
        while not ended.wait(0.02):
            if list((tmp_path / "out").rglob("*.parquet")) and (found := workers()):
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
                return

    killer = threading.Thread(target=kill_one)
    killer.start()
    done = predict_files(finished_run, str(tmp_path / "in/**/*.parquet"), str(tmp_path / "out"), engine=ray_engine(2))
    ended.set()
    killer.join()
    assert killed, "no worker was there to be killed"
    assert (done.parts, done.rows) == (20, 8000)
    check_parts(tmp_path / "out", made, model)
    assert not list((tmp_path / "out").rglob(".*")), "nothing half-written is left"


def test_ray_skips_what_is_done_and_says_what_is_wrong(local_ray: Any, finished_run: Path, tmp_path: Path) -> None:
    make_parts(tmp_path / "in", ["a.parquet", "b.parquet"])
    into = str(tmp_path / "out")
    assert predict_files(finished_run, str(tmp_path / "in"), into, engine=ray_engine()).parts == 2
    (tmp_path / "in/c.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"c\.parquet cannot be read"):
        predict_files(finished_run, str(tmp_path / "in"), into, engine=ray_engine())


TABLE = pd.DataFrame({"id": [1, 2, 3], "text": ["parcel late courier", None, "password login reset"]})


def test_a_batch_comes_back_as_it_came_with_two_columns_more(model: RSTC) -> None:
    clusters = model.predict(TABLE["text"].tolist())
    frame = model.predict_batch(TABLE)
    assert frame["cluster"].tolist() == [clusters[0], pd.NA, clusters[2]]
    assert frame.columns.tolist() == ["id", "text", "cluster", "confidence"]
    arrow = pa.Table.from_pandas(TABLE)
    for batch in (arrow, arrow.to_batches()[0]):
        found = model.predict_batch(batch)
        assert type(found) is type(batch)
        assert found.column("cluster").to_pylist() == [clusters[0], None, clusters[2]]
        assert found.schema.field("id") == batch.schema.field("id")
    columns = {name: TABLE[name].to_numpy() for name in TABLE}
    assert model.predict_batch(columns)["cluster"].tolist() == [clusters[0], -1, clusters[2]]
    # as Spark's mapInArrow does: an iterator of record batches for an iterator of record batches
    stream = model.predict_batch(iter(arrow.to_batches(max_chunksize=2)))
    assert [len(one) for one in stream] == [2, 1]
    assert len(model.predict_batch(TABLE.head(0))) == 0
    with pytest.raises(InputError, match="there is no column 'body'"):
        model.predict_batch(TABLE, "body")
    with pytest.raises(InputError, match="a batch is"):
        model.predict_batch(["parcel"])


def test_engines_take_predict_batch_as_it_is(local_ray: Any, model: RSTC) -> None:
    import dask.dataframe as dd

    table = pd.concat([TABLE] * 4, ignore_index=True)
    expected = model.predict_batch(table)["cluster"].tolist()
    dask_frame = dd.from_pandas(table, npartitions=3).map_partitions(model.predict_batch)
    assert dask_frame.compute()["cluster"].tolist() == expected
    for kind in ("pyarrow", "pandas", "numpy"):
        rows = local_ray.data.from_pandas(table).map_batches(model.predict_batch, batch_format=kind).to_pandas()
        assert rows["cluster"].fillna(-1).astype(int).tolist() == [-1 if c is pd.NA else c for c in expected]


def test_eight_processes_share_one_model(finished_run: Path, tickets: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in sorted(finished_run.rglob("*")) if path.is_file()}
    outs = [str(tmp_path / f"labelled{number}.csv") for number in range(8)]
    command = ["predict", str(finished_run), str(tickets), "--text-column", "text"]
    ran = subprocess.run(
        [sys.executable, Path(__file__).parent / "crowding.py", json.dumps({"command": command, "outs": outs})],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.stdout.splitlines()[-1] == json.dumps([0] * 8), ran.stderr
    results = {Path(out).read_bytes() for out in outs}
    assert len(results) == 1
    assert pd.read_csv(outs[0])["cluster"].tolist() == pd.read_csv(finished_run / "clusters.csv")["cluster"].tolist()
    assert {path: path.read_bytes() for path in sorted(finished_run.rglob("*")) if path.is_file()} == before
