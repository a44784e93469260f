"""Whatever a file holds, a reader gives tables or one clear sentence; whatever texts say, a run ends rightly."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rstc import RSTC, InputError
from rstc.io.csv_injection import SPREADSHEETS, with_formulas, without_formulas
from rstc.pipelines.predict import predict_file
from rstc.pipelines.cluster import cluster_file
from rstc.io.readers import SUFFIXES, read_table, table_writer
from rstc.io.columns import find_text_column, texts_of


def parquet(table: dict[str, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(table), file, **options)
    return file.getvalue()


WHOLE = {
    "csv": b'id,text\n1,"late, again"\n2,"no ""refund"""\n',
    "tsv": b"id\ttext\n1\tlate again\n",
    "jsonl": '{"id": 1, "text": "zu spät"}\n{"id": 2, "text": null}\n'.encode(),
    "parquet": parquet({"id": [1, 2], "text": ["late again", None]}),
    "txt": b"late again\n\nno refund\n",
}


def read(content: bytes, format: str, folder: Path) -> pd.DataFrame | None:
    """Read a file as a run does; None where it was refused in one sentence."""
    path = folder / f"file{SUFFIXES[format]}"
    path.write_bytes(content)
    try:
        table = read_table(str(path), format)
        column = find_text_column(table)
        assert all(text is None or text.strip() for text in texts_of(table, column))
    except InputError:
        return None
    return table


@pytest.mark.parametrize("format", SUFFIXES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(format: str, content: bytes, tmp_path: Path) -> None:
    read(content, format, tmp_path)


@pytest.mark.parametrize("format", SUFFIXES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_that_was_damaged_is_read_or_refused(format: str, data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(WHOLE[format])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(content[: data.draw(st.integers(0, len(content)))]), format, tmp_path)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(TEXTS, min_size=1, max_size=5), harmless=st.booleans())
def test_any_texts_come_back_as_they_went(format: str, rows: list[str], harmless: bool, tmp_path: Path) -> None:
    path = tmp_path / f"file{SUFFIXES[format]}"
    with table_writer(path, format, harmless) as write:
        write(pd.DataFrame({"n": [str(i) for i in range(len(rows))], "text": rows}, dtype=object))
    table = read_table(str(path), format)
    if harmless and format in SPREADSHEETS:
        assert not table["text"].str.startswith(("=", "+", "-", "@", "\t", "\r")).any()
        table = with_formulas(table)
    assert table["text"].tolist() == rows


def test_formulas_are_guarded_in_names_and_cells_and_numbers_stay(tmp_path: Path) -> None:
    table = pd.DataFrame({"=cmd": ["=1+1", "+1", "-1", "@sum", "'quoted", "fine"], "n": [-1.5, 2, 3, 4, 5, 6]})
    guarded = without_formulas(table)
    assert guarded.columns.tolist() == ["'=cmd", "n"]
    assert guarded["'=cmd"].tolist() == ["'=1+1", "'+1", "'-1", "'@sum", "''quoted", "fine"]
    assert guarded["n"].tolist() == table["n"].tolist()
    pd.testing.assert_frame_equal(with_formulas(guarded), table)


CASES: dict[str, tuple[str, bytes, str]] = {
    "a quote that never ends": ("csv", b'text\n"late\n', "look at its quotes"),
    "more cells than columns": ("csv", b"a,b\n1,2,3\n", "3 cells"),
    "the same header twice": ("csv", b"text,text\na,b\n", "more than one column called 'text'"),
    "the same header twice in parquet": ("parquet", b"", "cannot be read"),
    "a million columns": ("csv", b",".join(b"c%d" % i for i in range(10**6)) + b"\n", "1,000,000 columns"),
    "a million columns with the same name": ("csv", b"c," * 10**6 + b"c\n", "columns"),
    "mixed encodings": ("csv", b"text\ncaf\xc3\xa9\ncaf\xe9\n", "byte 0xE9"),
    "utf-16": ("csv", "text\nlate\n".encode("utf-16"), "byte 0xFF"),
    "compressed": ("csv", gzip.compress(b"text\nlate\n"), "byte 0x8B"),
    "an unfinished object": ("jsonl", b'{"text": "late"\n', "line 1"),
    "a list": ("jsonl", b'["late"]\n', "line 1"),
    "endless brackets": ("jsonl", b"[" * 10**5 + b"\n", "line 1"),
    "a number of many digits": ("jsonl", b'{"text": ' + b"1" * 10**4 + b"}\n", "line 1"),
    "not a parquet file": ("parquet", b"PAR1 and then nothing PAR1", "cannot be read as parquet"),
    "only white space": ("txt", b" \n\t\n", ""),
    "nothing": ("csv", b"", "is empty"),
    "a header only": ("csv", b"text\n", "holds no rows"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_read_is_told_in_one_sentence(case: str, tmp_path: Path) -> None:
    format, content, message = CASES[case]
    if case == "the same header twice in parquet":
        content = parquet_with_twins()
        message = "more than one column called 'text'"
    path = tmp_path / f"file{SUFFIXES[format]}"
    path.write_bytes(content)
    if not message:
        assert texts_of(read_table(str(path), format), "text") == [None, None]
        return
    with pytest.raises(InputError, match=message):
        read_table(str(path), format)


def parquet_with_twins() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), file)
    return file.getvalue()


def test_an_encoding_that_does_not_fit_either_is_not_proposed_again(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(b"text\nsp\x90t\n")
    with pytest.raises(InputError, match="for example --encoding cp1252"):
        read_table(str(tmp_path / "odd.csv"), "csv")
    with pytest.raises(InputError, match="or is no text at all"):
        read_table(str(tmp_path / "odd.csv"), "csv", "cp1252")


def test_a_parquet_file_that_unpacks_to_more_than_memory_is_refused(tmp_path: Path) -> None:
    cell = "late again " * 10**5  # a megabyte, in each of 10,000 rows
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000, dtype=np.int32)), pa.array([cell]))
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"text": column}), path, store_schema=False)
    assert path.stat().st_size < 10**5
    with pytest.raises(InputError, match=r"unpacks to 11\.0 GB in 10,000 rows of column 'text'"):
        read_table(str(path), "parquet")


def test_dictionaries_in_a_parquet_file_stay_dictionaries(tmp_path: Path) -> None:
    column = pa.array(["late again", None, "late again"]).dictionary_encode()
    pq.write_table(pa.table({"text": column, "n": [1, 2, 3]}), tmp_path / "file.parquet")
    table = read_table(str(tmp_path / "file.parquet"), "parquet")
    assert texts_of(table, "text") == ["late again", None, "late again"]
    with table_writer(tmp_path / "out.parquet", "parquet") as write:
        write(table)
    assert pq.read_table(tmp_path / "out.parquet").schema.field("text").type == column.type


# -- whole runs -------------------------------------------------------------------------------------------------

Quick = dict[str, Any]


def clustered(texts: list[Any], k: int, quick: Quick, folder: Path, format: str = "csv") -> pd.DataFrame:
    path = folder / f"file{SUFFIXES[format]}"
    with table_writer(path, format) as write:
        write(pd.DataFrame({"text": texts}, dtype=object))
    cluster_file(str(path), folder / "run", k, settings=quick, overwrite=True)
    return read_table(str(folder / "run" / path.with_stem("clusters").name), format)


def test_nul_bytes_and_half_emojis_are_clustered(quick: Quick, tmp_path: Path) -> None:
    texts = ["late\0parcel", "no parcel", "lost password \ud83d", "reset my password"]
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    cluster_file(str(path), tmp_path / "run", 2, settings=quick)
    rows = [json.loads(line) for line in (tmp_path / "run/clusters.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == [*texts[:2], "lost password ?", texts[3]]
    assert all(isinstance(row["cluster"], int) for row in rows)


def test_a_cell_of_ten_megabytes_is_clustered(
    quick: Quick, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    long = "late parcel " * (10**7 // 12)
    table = clustered([*texts_and_topics[0][:30], long], 4, quick, tmp_path)
    assert table["text"].iloc[-1] == long
    assert table["cluster"].iloc[-1] != ""
    assert (tmp_path / "run/report.html").stat().st_size < 2 * 10**6, "the page shows the beginning of it"


def test_as_many_clusters_as_texts(quick: Quick, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path) -> None:
    texts = sorted(set(texts_and_topics[0]))[:12]
    table = clustered(texts, 12, quick | {"head_start": 0.9}, tmp_path)
    assert len(set(table["cluster"])) >= 10


@pytest.mark.parametrize(
    ("texts", "k", "message"),
    [
        ([" ", "\t", ""], 2, "needs at least 2 distinct texts, got 0"),
        (["same"] * 50, 2, "needs at least 2 distinct texts, got 1"),
        (["a text", "another text"], 3, "needs at least 3 distinct texts, got 2"),
    ],
)
def test_texts_that_cannot_be_told_apart_are_refused(
    texts: list[str], k: int, message: str, quick: Quick, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        clustered(texts, k, quick, tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, " "])
def test_a_missing_view_is_the_text_itself(
    missing: Any, quick: Quick, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts = texts_and_topics[0][:40]
    model = RSTC(3, random_state=0, **quick).fit(texts, views=([missing] * 40, texts))
    assert np.isfinite(model.probabilities_).all()


@pytest.mark.parametrize("views", [(["a"] * 39, ["b"] * 40), (["a"] * 40, []), (["a"] * 40,)])
def test_views_of_another_length_are_refused(
    views: Any, quick: Quick, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    with pytest.raises(InputError, match="view"):
        RSTC(3, **quick).fit(texts_and_topics[0][:40], views=views)


@pytest.mark.parametrize("command", ["cluster", "predict"])
def test_a_folder_that_may_not_be_written_to_is_told_before_the_work(
    command: str, tickets: Path, finished_run: Path, tmp_path: Path
) -> None:
    place = tmp_path / "read-only"
    place.mkdir(mode=0o555)
    words = [str(tickets), "-k", "4"] if command == "cluster" else [str(finished_run), str(tickets)]
    ended = subprocess.run(
        [
            *as_anybody(),
            sys.executable,
            "-m",
            "rstc",
            command,
            *words,
            "--text-column",
            "text",
            "--out",
            place / "x.csv",
        ],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert f"cannot be written: {place} is not a folder that can be written to" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(place.iterdir()) == []


def as_anybody() -> list[str]:
    """Return what lets a command run without root's right to write anywhere."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write anywhere, and setpriv, which takes that away, is missing")
    rights = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]


def test_links_as_output_are_followed(tickets: Path, quick: Quick, finished_run: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cluster_file(str(tickets), tmp_path / "link", 4, settings=quick)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "clusters.csv").is_file()
    (tmp_path / "file.csv").symlink_to(tmp_path / "real.csv")
    predict_file(finished_run, str(tickets), tmp_path / "file.csv", text_column="text")
    assert (tmp_path / "file.csv").is_symlink()
    assert (tmp_path / "real.csv").is_file()
    (tmp_path / "in.csv").symlink_to(tickets)
    with pytest.raises(InputError, match="the same file"):
        predict_file(finished_run, str(tickets), tmp_path / "in.csv", text_column="text")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_guarded_runs_can_be_corrected(tickets: Path, quick: Quick, tmp_path: Path) -> None:
    from rstc.pipelines.apply_edits import apply_edits
    from rstc.results.corrected_run import RunNow

    table = pd.read_csv(tickets)
    table.loc[0, "text"] = "=HYPERLINK(parcel late)"
    table.to_csv(tickets, index=False)
    cluster_file(str(tickets), tmp_path / "run", 4, text_column="text", settings=quick, guard_formulas=True)
    assert pd.read_csv(tmp_path / "run/clusters.csv")["text"][0] == "'=HYPERLINK(parcel late)"
    run = RunNow.read(tmp_path / "run")
    run.correct({"do": "rename", "cluster": 0, "name": "mine"})
    run.save(tmp_path / "run")
    apply_edits(tmp_path / "run")
    assert pd.read_csv(tmp_path / "run/clusters.csv")["text"][0] == "'=HYPERLINK(parcel late)"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.one_of(st.none(), TEXTS, st.sampled_from(["late parcel", "reset password"])), max_size=25),
    k=st.integers(-1, 8),
)
def test_any_texts_and_any_number_end_in_clusters_or_a_sentence(texts: list[str | None], k: int, quick: Quick) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = RSTC(k, random_state=0, **(quick | {"max_steps": 2})).fit(texts)
        except InputError:
            return
    there = np.array([text is not None and bool(text.strip()) for text in texts])
    assert (model.labels_[there] >= 0).all()
    assert (model.labels_[there] < k).all()
    assert (model.labels_[~there] == -1).all()
    assert np.isfinite(model.probabilities_).all()
    assert np.allclose(model.probabilities_[there].sum(1), 1, atol=1e-4)
    assert np.array_equal(model.predict(texts), model.labels_)
