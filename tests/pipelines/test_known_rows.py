"""Which rows of a file a run holds already."""

from __future__ import annotations

import pandas as pd

from rstc.pipelines.known_rows import find_known_rows


def test_multiplicities_count_where_rows_are_distinct() -> None:
    run = pd.DataFrame({"id": ["1", "2", "3"], "text": ["late", "late", "lost"]})
    new = pd.DataFrame({"id": ["3", "3", "4"], "text": ["lost", "lost", "lost"]})
    assert find_known_rows(run, new, [3]).tolist() == [True, False, False]


def test_equal_texts_without_an_id_are_new_unless_an_earlier_file_is_repeated() -> None:
    run = pd.DataFrame({"text": ["reset", "reset", "late", "lost"]})
    assert not find_known_rows(run, pd.DataFrame({"text": ["late", "reset"]}), [3, 1]).any()
    longer = pd.DataFrame({"text": ["reset", "reset", "late", "reset"]})
    assert find_known_rows(run, longer, [3, 1]).tolist() == [True, True, True, False]
    second = pd.DataFrame({"text": ["lost", "late"]})
    assert find_known_rows(run, second, [3, 1]).tolist() == [True, False]


def test_numbers_are_compared_by_value_and_missing_values_are_equal() -> None:
    run = pd.DataFrame({"id": [1.0, 2.0, None], "text": ["a b", "c d", "e f"]})
    new = pd.DataFrame({"id": [1, 2, 9], "text": ["a b", "c d", "e f"], "more": [None, "x", None]})
    assert find_known_rows(run, new, [3]).tolist() == [True, False, False]
