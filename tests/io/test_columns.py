"""What a text is, and which column holds it."""

from __future__ import annotations

import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.io.columns import clean, find_text_column, texts_of, with_clusters


def test_the_only_column_with_words_is_taken() -> None:
    table = pd.DataFrame({"id": ["a1", "b2"], "date": ["2024-01-02", "2024-01-03"], "body": ["my app", "is slow"]})
    assert find_text_column(table) == "body"


def test_among_several_the_one_called_text_is_taken() -> None:
    table = pd.DataFrame({"title": ["my app", "is slow"], "text": ["one two", "three four"]})
    assert find_text_column(table) == "text"


def test_among_several_others_the_user_must_choose() -> None:
    table = pd.DataFrame({"title": ["my app", "is slow"], "body": ["one two", "three four"]})
    with pytest.raises(InputError, match="title, body; choose one with --text-column"):
        find_text_column(table)
    assert find_text_column(table, "body") == "body"
    with pytest.raises(InputError, match="no column 'subject'; the columns are title, body"):
        find_text_column(table, "subject")


def test_texts_without_spaces_are_texts_too() -> None:
    assert find_text_column(pd.DataFrame({"n": ["1", "2"], "q": ["我的包裹在哪里", "无法登录账户"]})) == "q"


def test_the_only_column_is_taken_whatever_it_holds() -> None:
    assert find_text_column(pd.DataFrame({"q": ["refund", "login"]})) == "q"


def test_a_table_of_numbers_holds_no_texts() -> None:
    with pytest.raises(InputError, match="choose one of a, b with --text-column"):
        find_text_column(pd.DataFrame({"a": ["1", "2"], "b": [0.5, 1.5]}))


def test_missing_empty_and_blank_cells_are_no_texts() -> None:
    table = pd.DataFrame({"t": ["a", "", " \t", None, float("nan"), pd.NA, "\u200b!"]}, dtype=object)
    assert texts_of(table, "t") == ["a", None, None, None, None, None, "\u200b!"]


def test_lone_surrogates_are_replaced() -> None:
    assert clean("bad \ud800 one") == "bad ? one"


def test_rows_without_a_text_get_no_cluster() -> None:
    table = with_clusters(pd.DataFrame({"t": ["a", ""]}), [3, None], [0.123456, None])
    assert table.to_csv(index=False) == "t,cluster,confidence\na,3,0.1235\n,,\n"


def test_columns_of_ours_that_are_there_already_are_not_overwritten() -> None:
    with pytest.raises(InputError, match="already has a column 'cluster'"):
        with_clusters(pd.DataFrame({"cluster": ["x"]}), [1], [0.5])


def test_columns_that_are_known_to_hold_views_are_not_taken_for_the_texts() -> None:
    said = ["late again", "app is down"]
    table = pd.DataFrame({"id": ["1", "2"], "body": said, "text1": said, "text2": said})
    assert find_text_column(table, besides=("text1", "text2")) == "body"
    table = pd.DataFrame({"id": ["1", "2"], "text": said, "text2": said})
    assert find_text_column(table, besides=("text", "text2")) == "text", "a view may be the text itself"
    with pytest.raises(InputError, match="no column seems to hold texts"):
        find_text_column(table.rename(columns={"text": "text1"}), besides=("text1", "text2"))
