"""Write the invented columns `date` and `channel` of the bundled sample: python tools/make_sample_columns.py

The texts, ids and topics stay as they are. Dates and channels are drawn with a fixed seed, so that running this again
writes the same file. Three topics have a structure that a comparison over time and between groups should find; the
dates and channels of all others are even but for chance.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

SAMPLE = Path(__file__).parent.parent / "src" / "rstc" / "samples" / "customer_messages.csv"
SEED = 18
FIRST_DAY = date(2026, 3, 2)  # a Monday
N_WEEKS = 26
CHANNELS = ["app", "email", "web chat", "phone notes"]
CHANNEL_SHARES = [0.25, 0.35, 0.25, 0.15]
GROWING_TOPIC, GROWTH = "refund_missing", 6.0  # messages per day at the end, as a multiple of those at the start
NEW_TOPIC, N_NEW_WEEKS = "gift_card", 6  # only in the last weeks
APP_TOPIC, APP_TOPIC_SHARES = "app_broken", [0.7, 0.12, 0.12, 0.06]


def draw_columns(topics: list[str], seed: int = SEED) -> pd.DataFrame:
    """Draw a date and a channel for each message by its topic.

    Parameters
    ----------
    topics : list of str
        The topic of each message.
    seed : int
        Seed of the draws.

    Returns
    -------
    DataFrame
        The columns `date` (ISO days) and `channel`, one row per message.
    """
    generator = np.random.default_rng(seed)
    n_days = 7 * N_WEEKS
    days = np.arange(n_days)
    even = np.ones(n_days)
    rates = {
        GROWING_TOPIC: GROWTH ** (days / (n_days - 1)),
        NEW_TOPIC: np.where(days >= n_days - 7 * N_NEW_WEEKS, 1.0, 0.0),
    }
    columns = pd.DataFrame(index=range(len(topics)), columns=["date", "channel"], dtype=object)
    for topic, rows in pd.Series(topics).groupby(topics).groups.items():
        n = len(rows)
        rate = np.cumsum(rates.get(topic, even))
        # One day in each n-th part of the topic's messages, so that a small topic has no trend by chance.
        places = (generator.permutation(n) + generator.random(n)) / n * rate[-1]
        drawn = np.searchsorted(rate, places, side="right")
        columns.loc[rows, "date"] = [(FIRST_DAY + timedelta(days=int(day))).isoformat() for day in drawn]
        shares = APP_TOPIC_SHARES if topic == APP_TOPIC else CHANNEL_SHARES
        columns.loc[rows, "channel"] = generator.choice(CHANNELS, size=n, p=shares)
    return columns


def write_columns(path: Path = SAMPLE) -> None:
    """Write the two columns at the end of the sample's rows, in place of earlier ones."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)[["id", "text", "topic"]]
    columns = draw_columns(table["topic"].tolist())
    pd.concat([table, columns], axis=1).to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")


if __name__ == "__main__":
    write_columns()
