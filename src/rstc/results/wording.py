"""Numbers in sentences: shares as percentages, ratios, and names in quotation marks."""

from __future__ import annotations

MAX_NAME = 60  # characters of a name in a sentence


def quote(name: str) -> str:
    """Return a name in quotation marks, cut to the length that a sentence bears.

    >>> quote("late flight")
    "'late flight'"
    """
    return f"'{name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + '…'}'"


def format_percent(share: float, unit: bool = True) -> str:
    """Return a share as a percentage with the digits that matter.

    >>> format_percent(0.1834), format_percent(0.0834), format_percent(0.0004), format_percent(0)
    ('18 %', '8.3 %', '0.04 %', '0 %')
    """
    percent = 100 * share
    number = f"{percent:.0f}" if percent >= 10 or percent == 0 else f"{percent:.2g}"
    return f"{number} %" if unit else number


def format_ratio(ratio: float) -> str:
    """Return a ratio with the digits that matter.

    >>> format_ratio(2.345), format_ratio(0.0712), format_ratio(31.6)
    ('2.3', '0.071', '32')
    """
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2g}"
