"""The other columns of a run's texts are kept with them, whatever a file holds."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rstc.results.kept_columns import from_bytes, make_storable, to_bytes
from rstc.results.points import Points, read_points, write_points
from rstc.results.unfinished_run import UnfinishedRun, read_unfinished, write_unfinished


def make_points(columns: pd.DataFrame) -> Points:
    n = 2
    layout = np.zeros((n, 2), dtype=np.uint16)
    return Points(["late", "lost"], np.arange(n), np.arange(n), np.ones(n, dtype=np.float32), layout, columns)


def test_values_of_several_types_become_strings():
    columns = make_storable(pd.DataFrame({"answer": [1, "one", None, {"a": 1}]}, dtype=object))
    assert columns["answer"].tolist() == ["1", "one", pd.NA, '{"a": 1}']


def test_lists_become_json():
    assert make_storable(pd.DataFrame({"tags": [["a", "b"], []]}))["tags"].tolist() == ['["a", "b"]', "[]"]


def test_bytes_are_left_out():
    table = pd.DataFrame({"photo": pd.array([b"\xff", b"\x00"], dtype=pd.ArrowDtype(pa.binary())), "id": [1, 2]})
    assert list(make_storable(table).columns) == ["id"]


def test_numbers_dates_and_categories_keep_their_values():
    table = pd.DataFrame({"stars": [4, 5], "day": [dt.date(2026, 1, 2), None], "plan": pd.Categorical(["a", "b"])})
    columns = make_storable(table)
    assert columns["stars"].tolist() == [4, 5]
    assert columns["day"].tolist() == [dt.date(2026, 1, 2), pd.NA]
    assert columns["plan"].tolist() == ["a", "b"]


@pytest.mark.parametrize("table", [pd.DataFrame({"text": ["a", None], "x": [1.5, 2.5]}), pd.DataFrame(index=[0, 1])])
def test_a_stream_restores_the_columns(table):
    columns = make_storable(table)
    pd.testing.assert_frame_equal(from_bytes(to_bytes(columns), 2), columns)


def test_columns_named_like_those_of_rstc_are_kept_in_the_folder(tmp_path):
    columns = make_storable(pd.DataFrame({"text": ["title a", "title b"], "x": [1, 2], "row": ["r", "s"]}))
    write_points(tmp_path, make_points(columns))
    points = read_points(tmp_path)
    assert points.texts == ["late", "lost"]
    pd.testing.assert_frame_equal(points.columns, columns)


def test_an_unfinished_run_holds_the_columns(tmp_path):
    columns = make_storable(pd.DataFrame({"stars": ["4", None]}))
    write_unfinished(tmp_path, UnfinishedRun(make_points(columns), np.zeros((2, 3), dtype=np.float32), None))
    pd.testing.assert_frame_equal(read_unfinished(tmp_path).points.columns, columns)
