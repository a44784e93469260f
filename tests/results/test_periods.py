"""Periods of dates."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.errors import InputError
from rstc.results.periods import EVERY, cut_periods, label_period, shorten_period


def days(start: str, n: int, step: int = 1) -> np.ndarray:
    """Return dates at even distances in days."""
    return (np.datetime64(start) + step * np.arange(n)).astype("datetime64[s]")


@pytest.mark.parametrize(
    ("n_days", "per_day", "expected"),
    [
        (1, 50, "day"),
        (20, 50, "day"),
        (60, 20, "day"),
        (200, 20, "week"),
        (800, 5, "month"),
        (5000, 1, "quarter"),
        (9000, 1, "year"),
    ],
)
def test_length_is_chosen_by_the_span(n_days: int, per_day: int, expected: str) -> None:
    assert cut_periods(np.repeat(days("2015-01-01", n_days), per_day)).every == expected


def test_few_texts_get_longer_periods() -> None:
    assert cut_periods(days("2015-01-01", 366)).every == "month"
    assert cut_periods(np.repeat(days("2015-01-01", 366), 5)).every == "week"


def test_periods_without_texts_are_kept() -> None:
    periods = cut_periods(np.array(["2015-01-31", "2015-04-01"], dtype="datetime64[s]"), "month")
    assert periods.starts.astype(str).tolist() == ["2015-01-01", "2015-02-01", "2015-03-01", "2015-04-01"]
    assert periods.codes.tolist() == [0, 3]


def test_weeks_begin_on_monday() -> None:
    periods = cut_periods(days("2015-03-01", 3), "week")  # a Sunday
    assert periods.starts.astype(str).tolist() == ["2015-02-23", "2015-03-02"]
    assert periods.codes.tolist() == [0, 1, 1]


@given(st.lists(st.datetimes(dt.datetime(2001, 1, 1), dt.datetime(2008, 1, 1)), min_size=1), st.sampled_from(EVERY[1:]))
def test_every_date_is_in_its_period(dates: list[dt.datetime], every: str) -> None:
    stamps = np.array(dates, dtype="datetime64[s]")
    periods = cut_periods(stamps, every if every != "week" else "month")
    ends = np.append(periods.starts[1:], np.datetime64("2100-01-01"))
    used = periods.codes >= 0
    assert (periods.starts[periods.codes[used]] <= stamps[used]).all()
    assert (stamps[used] < ends[periods.codes[used]]).all()


def test_periods_that_the_dates_begin_or_end_within_are_incomplete() -> None:
    periods = cut_periods(days("2015-01-07", 30), "week")  # Wednesday to Thursday
    assert np.flatnonzero(~periods.is_complete).tolist() == [0, len(periods.starts) - 1]
    assert cut_periods(days("2015-01-05", 28), "week").is_complete.all()


def test_a_week_without_its_weekend_is_complete_if_no_week_has_one() -> None:
    weekdays = np.concatenate([days(f"2015-01-{monday:02}", 5) for monday in (5, 12, 19)])
    assert cut_periods(weekdays, "week").is_complete.all()


def test_a_day_that_ends_in_the_morning_is_incomplete() -> None:
    hours = np.datetime64("2015-01-05", "s") + np.arange(24 * 10 + 9) * np.timedelta64(3600, "s")
    periods = cut_periods(hours, "day")
    assert periods.is_complete.tolist() == [True] * 10 + [False]


def test_one_date_of_a_thousand_that_is_far_from_all_others_is_left_out() -> None:
    dates = np.append(np.repeat(days("2015-01-01", 50), 20), np.datetime64("1970-01-01", "s"))
    periods = cut_periods(dates)
    assert (periods.every, periods.n_far, periods.codes[-1]) == ("day", 1, -1)


def test_unsuitable_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="every='fortnight' is not one of day, week"):
        cut_periods(days("2015-01-01", 10), "fortnight")
    with pytest.raises(InputError, match="makes 3,000 periods, and 400 is the most"):
        cut_periods(days("2010-01-01", 3000), "day")
    with pytest.raises(InputError, match="no date"):
        cut_periods(np.array(["NaT"], dtype="datetime64[s]"))


def test_periods_are_named() -> None:
    day = np.datetime64("2015-07-01")
    assert [label_period(day, every) for every in EVERY] == [
        "1 Jul 2015",
        "the week of 1 Jul 2015",
        "Jul 2015",
        "the 3rd quarter of 2015",
        "2015",
    ]
    assert [shorten_period(day, every) for every in EVERY] == ["2015-07-01", "2015-07-01", "2015-07", "2015 Q3", "2015"]
