"""Texts that a spreadsheet would take for formulas, made harmless, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

SPREADSHEETS = ("csv", "tsv", "txt")  # formats that one opens
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which no text, and no name of a column, begins as a formula of a spreadsheet does.

    What begins with an apostrophe gets one more, so that nothing is lost.

    >>> without_formulas(pd.DataFrame({"text": ["=1+1", "fine", "'tis"], "n": [-5, 1, 2]})).values.tolist()
    [["'=1+1", -5], ['fine', 1], ["''tis", 2]]
    """
    return _each_text(table, lambda text: f"'{text}" if text.startswith(FORMULAS) else text)


def with_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it was before `without_formulas`."""
    return _each_text(table, lambda text: text.removeprefix("'"))


def _each_text(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return a table with every text in it, and every name of a column, changed."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    out = table.copy()
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            out[name] = table[name].astype(object).map(changed)
    return out.rename(columns=changed)
