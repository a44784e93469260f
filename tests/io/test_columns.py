"""The text column of a table, cleaned texts, and the columns that predictions add."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.io.columns import (
    add_cluster_columns,
    add_predictions,
    clean_text,
    extract_confidence,
    extract_texts,
    find_text_column,
    find_text_columns,
    row_index,
    text_column_name,
    to_text_column,
    to_text_list,
)

PHRASES = ["late again", "app is down"]


def test_only_column_with_words_is_the_text_column() -> None:
    table = pd.DataFrame({"id": ["a1", "b2"], "date": ["2024-01-02", "2024-01-03"], "body": ["my app", "is slow"]})
    assert find_text_column(table) == "body"


def test_of_several_columns_with_words_the_one_called_text_is_chosen() -> None:
    table = pd.DataFrame({"title": ["my app", "is slow"], "text": ["one two", "three four"]})
    assert find_text_column(table) == "text"


def test_of_several_other_columns_with_words_the_user_must_choose() -> None:
    table = pd.DataFrame({"title": ["my app", "is slow"], "body": ["one two", "three four"]})
    with pytest.raises(InputError, match="title, body; choose one with --text-column"):
        find_text_column(table)
    assert find_text_column(table, "body") == "body"
    with pytest.raises(InputError, match="no column 'subject'; the columns are title, body"):
        find_text_column(table, "subject")


def test_texts_of_several_columns_are_joined_without_the_missing_ones() -> None:
    table = pd.DataFrame({"title": ["Late", None, " "], "n": [1, 2, 3], "body": ["my parcel", "app is down", ""]})
    columns = find_text_columns(table, to_text_column(("title", "body")))
    assert columns == ["title", "body"]
    assert extract_texts(table, columns) == ["Late\nmy parcel", "app is down", None]
    assert extract_texts(table.drop(columns="title"), columns) == ["my parcel", "app is down", None]
    with pytest.raises(InputError, match="no column 'subject'"):
        find_text_columns(table, ["title", "subject"])


def test_texts_that_are_named_by_several_columns_remember_them() -> None:
    assert text_column_name(pd.Series(PHRASES, name=("title", "body"))) == ["title", "body"]


def test_phrases_of_scripts_without_spaces_are_words() -> None:
    assert find_text_column(pd.DataFrame({"n": ["1", "2"], "q": ["我的包裹在哪里", "无法登录账户"]})) == "q"


def test_only_column_is_chosen_whatever_it_holds() -> None:
    assert find_text_column(pd.DataFrame({"q": ["refund", "login"]})) == "q"


def test_table_of_numbers_has_no_text_column() -> None:
    with pytest.raises(InputError, match="choose one of a, b with --text-column"):
        find_text_column(pd.DataFrame({"a": ["1", "2"], "b": [0.5, 1.5]}))


def test_view_columns_are_not_chosen() -> None:
    table = pd.DataFrame({"id": ["1", "2"], "body": PHRASES, "text1": PHRASES, "text2": PHRASES})
    assert find_text_column(table, other_columns=("text1", "text2")) == "body"
    table = pd.DataFrame({"id": ["1", "2"], "text": PHRASES, "text2": PHRASES})
    assert find_text_column(table, other_columns=("text", "text2")) == "text", "a view may be the text itself"
    with pytest.raises(InputError, match="no column seems to hold texts"):
        find_text_column(table.rename(columns={"text": "text1"}), other_columns=("text1", "text2"))


def test_missing_empty_and_blank_cells_hold_no_text() -> None:
    table = pd.DataFrame({"t": ["a", "", " \t", None, float("nan"), pd.NA, "\u200b!"]}, dtype=object)
    assert extract_texts(table, "t") == ["a", None, None, None, None, None, "\u200b!"]


def test_absent_column_holds_no_texts() -> None:
    assert extract_texts(pd.DataFrame({"t": ["a", "b"]}), "body") == [None, None]


def test_lone_surrogates_are_replaced() -> None:
    assert clean_text("bad \ud800 one") == "bad ? one"


def test_texts_given_in_python_keep_their_index_and_column_name() -> None:
    X = pd.DataFrame({"id": ["1", "2"], "body": PHRASES}, index=[5, 7])
    assert to_text_list(X) == PHRASES
    assert text_column_name(X) == "body"
    assert row_index(X).tolist() == [5, 7]
    assert text_column_name(PHRASES) is row_index(PHRASES) is None


def test_rows_without_a_text_get_no_cluster() -> None:
    table = add_cluster_columns(pd.DataFrame({"t": ["a", ""]}), [3, None], [0.123456, None], {3: "late"})
    assert (
        table.to_csv(index=False) == "t,cluster,cluster_name,confidence,confidence_level\na,3,late,0.1235,low\n,,,,\n"
    )


def test_confidences_are_numbers_from_0_to_1() -> None:
    table = pd.DataFrame({"confidence": ["0.5", "", "1"], "score": [3, 2, 1], "name": ["a", "b", "c"]})
    assert extract_confidence(table, None) == [0.5, 0.0, 1.0]
    assert extract_confidence(table[["score"]], None) is None
    assert extract_confidence(table[["score"]].rename(columns={"score": "confidence"}), None) is None
    for column, message in (("score", "numbers from 0 to 1"), ("name", "numbers from 0 to 1"), ("other", "no column")):
        with pytest.raises(InputError, match=message):
            extract_confidence(table, column)


def test_outlier_has_cluster_minus_one_and_no_confidence() -> None:
    clusters, confidence = np.array([3, -1, -1]), np.array([0.5, 0.4, 0.0], dtype=np.float32)
    names = ["w", "x", "y", "z"]
    table = add_predictions(pd.DataFrame({"t": ["a", "b", ""]}), ["a", "b", None], clusters, confidence, names)
    assert table.to_csv(index=False).splitlines()[1:] == ["a,3,z,0.5,medium", "b,-1,outlier,,", ",,,,"]


def test_existing_cluster_column_is_not_overwritten() -> None:
    with pytest.raises(InputError, match="already has a column 'cluster'"):
        add_cluster_columns(pd.DataFrame({"cluster": ["x"]}), [1], [0.5], {1: "x"})
