"""Periods of dates: days, weeks, months, quarters or years, chosen by the span, and which of them are incomplete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError

Every = Literal["day", "week", "month", "quarter", "year"]

EVERY: tuple[Every, ...] = get_args(Every)
MAX_AUTOMATIC_PERIODS = 60
MIN_AUTOMATIC_PERIODS = 10
MIN_TEXTS_PER_PERIOD = 20  # on average; with fewer, a longer period is chosen
MAX_PERIODS = 400  # that a user may ask for
_FREQUENCIES = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q-DEC", "year": "Y-DEC"}  # weeks end on Sunday
_FAR = 5.0  # spans of 98 % of the dates, beyond which a date is far from the others
_DAY = 86_400  # seconds

Dates = NDArray[np.datetime64]


@dataclass(frozen=True)
class Periods:
    """Successive periods, and the one that each text is in.

    Attributes
    ----------
    every : str
        The length of a period.
    starts : array of datetime64[D], shape (T,)
        The first day of each period.
    codes : array of int, shape (N,)
        The period of each text, -1 for a text without a date or with one far from all others.
    is_complete : array of bool, shape (T,)
        False for a first or last period that the dates begin or end within.
    n_far : int
        Number of texts whose date was left out because it is far from all others.
    """

    every: Every
    starts: Dates
    codes: NDArray[np.int64]
    is_complete: NDArray[np.bool_]
    n_far: int

    def label(self, period: int) -> str:
        """Return a period in words, such as "the week of 23 Feb 2015"."""
        return label_period(self.starts[period], self.every)


def label_period(start: np.datetime64, every: Every) -> str:
    """Return a period in words.

    >>> label_period(np.datetime64("2015-02-23"), "week"), label_period(np.datetime64("2015-04-01"), "quarter")
    ('the week of 23 Feb 2015', 'the 2nd quarter of 2015')
    """
    day = pd.Timestamp(start)
    if every == "year":
        return str(day.year)
    if every == "quarter":
        return f"the {('1st', '2nd', '3rd', '4th')[day.quarter - 1]} quarter of {day.year}"
    if every == "month":
        return f"{day:%b %Y}"
    return f"{'the week of ' if every == 'week' else ''}{day.day} {day:%b %Y}"


def shorten_period(start: np.datetime64, every: Every) -> str:
    """Return a period as short as a column or an axis needs it.

    >>> shorten_period(np.datetime64("2015-02-23"), "week"), shorten_period(np.datetime64("2015-04-01"), "quarter")
    ('2015-02-23', '2015 Q2')
    """
    day = pd.Timestamp(start)
    forms = {"year": f"{day.year}", "quarter": f"{day.year} Q{day.quarter}", "month": f"{day:%Y-%m}"}
    return forms.get(every, f"{day:%Y-%m-%d}")


def cut_periods(dates: Dates, every: str | None = None) -> Periods:
    """Cut dates into periods.

    Without a given length, it is the shortest with at most 60 periods, or a longer one if that has 20 texts per period
    where the shorter one has fewer, and still 10 periods. At most 1 % of the dates, which are so far from all others
    that they must be mistakes (1970-01-01), are left out.

    Parameters
    ----------
    dates : array of datetime64, shape (N,)
        The date of each text, NaT where it is missing.
    every : {"day", "week", "month", "quarter", "year"}, optional
        The length of a period.

    Returns
    -------
    Periods

    Examples
    --------
    >>> periods = cut_periods(np.array(["2015-03-04", "2015-04-01", "NaT"], dtype="datetime64[s]"), "month")
    >>> periods.starts.tolist(), periods.codes.tolist()
    ([datetime.date(2015, 3, 1), datetime.date(2015, 4, 1)], [0, 1, -1])
    """
    if every is not None and every not in EVERY:
        raise InputError(f"every={every!r} is not one of {', '.join(EVERY)}")
    seconds = np.where(np.isnat(dates), 0, dates.astype("datetime64[s]").astype(np.int64))
    is_far = _find_far(seconds, ~np.isnat(dates))
    is_used = ~np.isnat(dates) & ~is_far
    if not is_used.any():
        raise InputError("there is no date")
    used = dates[is_used].astype("datetime64[s]")
    chosen = _choose_every(used) if every is None else _find(every)
    ordinals = _count_periods(used, chosen)
    first, n_periods = int(ordinals.min()), int(np.ptp(ordinals)) + 1
    if n_periods > MAX_PERIODS:
        raise InputError(
            f"every={chosen!r} makes {n_periods:,} periods, and {MAX_PERIODS} is the most; choose longer ones"
        )
    codes = np.full(len(dates), -1, dtype=np.int64)
    codes[is_used] = ordinals - first
    frequency = _FREQUENCIES[chosen]
    index = pd.period_range(pd.Period(ordinal=first, freq=frequency), periods=n_periods)
    starts = index.start_time.to_numpy().astype("datetime64[D]")
    end = (index[-1] + 1).start_time.to_numpy().astype("datetime64[s]")
    is_complete = _find_complete(used, starts[0].astype("datetime64[s]"), end, n_periods)
    return Periods(chosen, starts, codes, is_complete, int(is_far.sum()))


def _find(every: str) -> Every:
    return next(name for name in EVERY if name == every)


def _choose_every(dates: Dates) -> Every:
    """Return the length of periods that suits the span and the number of dates."""
    numbers = {every: int(np.ptp(_count_periods(dates, every))) + 1 for every in EVERY}
    chosen = next((every for every in EVERY if numbers[every] <= MAX_AUTOMATIC_PERIODS), EVERY[-1])
    for longer in EVERY[EVERY.index(chosen) + 1 :]:
        if len(dates) / numbers[chosen] >= MIN_TEXTS_PER_PERIOD or numbers[longer] < MIN_AUTOMATIC_PERIODS:
            break
        chosen = longer
    return chosen


def _count_periods(dates: Dates, every: Every) -> NDArray[np.int64]:
    """Return the number of each date's period since 1970."""
    return np.asarray(pd.DatetimeIndex(dates).to_period(_FREQUENCIES[every]).astype(np.int64))


def _find_far(seconds: NDArray[np.int64], is_present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which dates are far from all others, unless they are more than 1 % of them."""
    if not is_present.any():
        return np.zeros(len(seconds), dtype=np.bool_)
    low, high = np.quantile(seconds[is_present], [0.01, 0.99])
    margin = _FAR * max(high - low, _DAY)
    return np.asarray(is_present & ((seconds < low - margin) | (seconds > high + margin)))


def _find_complete(dates: Dates, start: np.datetime64, end: np.datetime64, n_periods: int) -> NDArray[np.bool_]:
    """Return which periods are complete: all but a first or last one with a gap longer than any between two dates.

    Dates that have no time of the day stand for whole days.
    """
    seconds = np.unique(dates.astype(np.int64))
    unit = _DAY if not (seconds % _DAY).any() else 1
    longest = int((np.diff(seconds) - unit).max(initial=0))
    is_complete = np.ones(n_periods, dtype=np.bool_)
    is_complete[0] &= seconds[0] - start.astype(np.int64) <= longest
    is_complete[-1] &= end.astype(np.int64) - (seconds[-1] + unit) <= longest
    return is_complete
