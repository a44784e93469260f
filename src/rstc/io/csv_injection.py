"""Protection against CSV injection: an apostrophe escapes cells that a spreadsheet would evaluate as formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

SPREADSHEET_FORMATS = ("csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz")  # formats that spreadsheets guess cells of
# Spreadsheets take the full-width forms of East Asian keyboards for the plain ones.
FORMULA_PREFIXES = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "'")


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which no text cell and no column name begins as a formula does.

    A text that begins with an apostrophe gets another one, so that `unescape_formulas` restores every text.

    >>> escape_formulas(pd.DataFrame({"text": ["=1+1", "fine", "'tis"], "n": [-5, 1, 2]})).values.tolist()
    [["'=1+1", -5], ['fine', 1], ["''tis", 2]]
    """
    return _map_texts(table, lambda text: f"'{text}" if text.startswith(FORMULA_PREFIXES) else text)


def unescape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it was before `escape_formulas`."""
    return _map_texts(table, lambda text: text.removeprefix("'"))


def _map_texts(table: pd.DataFrame, function: Callable[[str], str]) -> pd.DataFrame:
    """Return a table with a function applied to every text cell and every column name."""

    def apply(value: Any) -> Any:
        return function(value) if isinstance(value, str) else value

    result = table.copy()
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            result[name] = table[name].astype(object).map(apply)
    return result.rename(columns=apply)
