"""Protection against CSV injection: apostrophes escape what a spreadsheet would evaluate as a formula.

A spreadsheet evaluates a cell that begins as a formula does. One that expects another separator, as those of many
countries do, splits `late;=1+1` into two cells and evaluates the second one. So an apostrophe is inserted at the
beginning of a cell and after everything in it that separates cells or lines somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

SPREADSHEET_FORMATS = ("csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz")  # formats that spreadsheets guess cells of
# Spreadsheets take the full-width forms of East Asian keyboards for the plain ones.
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠", "'")

_PREFIX = "[=+\\-@\t\r＝＋－＠']"
_BEGINNING = r"(\A|[;,|\t\r\n])([ \"]*)"  # of a cell, for some separator; quotes and spaces before it may be dropped
_UNSAFE = re.compile(f"{_BEGINNING}(?={_PREFIX})")
_ESCAPED = re.compile(f"{_BEGINNING}'(?={_PREFIX})")


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which no text cell and no column name begins as a formula does, wherever it is split.

    An apostrophe at such a place gets another one, so that `unescape_formulas` restores every text.

    >>> escape_formulas(pd.DataFrame({"text": ["=1+1", "late;=1+1", "'tis"], "n": [-5, 1, 2]})).values.tolist()
    [["'=1+1", -5], ["late;'=1+1", 1], ["''tis", 2]]
    """
    return _map_texts(table, lambda text: _UNSAFE.sub(r"\1\2'", text))


def unescape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it was before `escape_formulas`."""
    return _map_texts(table, lambda text: _ESCAPED.sub(r"\1\2", text))


def _map_texts(table: pd.DataFrame, function: Callable[[str], str]) -> pd.DataFrame:
    """Return a table with a function applied to every text cell and every column name."""

    def apply(value: Any) -> Any:
        return function(value) if isinstance(value, str) else value

    result = table.copy()
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            result[name] = table[name].astype(object).map(apply)
    return result.rename(columns=apply)
