"""Rows that hold a text, and results put back among all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.validation.texts import NonEmptyTexts

GIVEN = NonEmptyTexts.from_list(["late", None, "lost", None])


def test_rows_without_a_text_are_left_out() -> None:
    X = pd.Series(["late", "", "lost", None], index=[3, 4, 5, 6], name="body")
    given = NonEmptyTexts.from_input(X)
    assert (given.all_texts, given.rows, given.texts, given.column) == (
        GIVEN.all_texts,
        [0, 2],
        ["late", "lost"],
        "body",
    )
    assert given.index.tolist() == [3, 4, 5, 6]


def test_expand_fills_rows_without_a_text() -> None:
    assert GIVEN.expand(np.array([5, 7]), -1).tolist() == [5, -1, 7, -1]
    assert GIVEN.expand(np.array([[1.0, 2.0], [3.0, 4.0]]), 0).tolist() == [[1, 2], [0, 0], [3, 4], [0, 0]]
    assert GIVEN.expand_list(["a", "b"]) == ["a", None, "b", None]


def test_expand_returns_the_same_array_where_no_text_is_missing() -> None:
    values = np.array([5, 7])
    assert NonEmptyTexts.from_list(["late", "lost"]).expand(values, -1) is values


def test_view_has_a_version_for_each_row() -> None:
    assert GIVEN.select_view(["LATE", "x", " ", None], 1) == ["LATE", None]
    with pytest.raises(InputError, match="view 2 has 2 texts, but there are 4 texts"):
        GIVEN.select_view(["a", "b"], 2)


def test_watch_is_called_with_rows_of_the_input() -> None:
    calls = []
    watch = GIVEN.wrap_watch(lambda step, rows, clusters: calls.append((step, rows.tolist(), clusters.tolist())))
    assert watch is not None
    watch(3, np.array([1, 0]), np.array([8, 9]))
    assert calls == [(3, [2, 0], [8, 9])]
    assert GIVEN.wrap_watch(None) is None
