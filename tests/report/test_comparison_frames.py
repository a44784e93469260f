"""Data frames of a fitted model's clusters over time and by group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError


@pytest.fixture(scope="module")
def model(tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]]) -> RSTC:
    texts: list[str | None] = [*texts_and_topics[0], None]
    settings: dict[str, Any] = {"training": "always", "max_steps": 12, "batch_size": 32, "kmeans_starts": 3}
    with pytest.warns(UserWarning, match="hold no text"):
        return RSTC(4, encoder=tiny_encoder, random_state=0, **settings).fit(texts)


def test_over_time_has_a_row_per_cluster_and_period(model: RSTC, texts_and_topics: tuple[list[str], list[str]]) -> None:
    days = np.append(np.argsort(np.argsort(texts_and_topics[1], kind="stable")), 120)  # one topic after the other
    dates = pd.Series(np.datetime64("2015-01-01", "s") + days.astype("timedelta64[D]"), name="when")
    frame = model.over_time(dates, every="week")
    n_periods, n_clusters = 18, len(model.cluster_info_)
    assert len(frame) == n_periods * n_clusters
    assert frame["count"].sum() == 120  # the row without a text is left out
    assert set(frame["cluster_name"]) == set(model.cluster_info_["name"])
    assert frame.attrs["findings"]  # the topics follow each other


def test_by_group_finds_the_topics(model: RSTC, texts_and_topics: tuple[list[str], list[str]]) -> None:
    topics = [*texts_and_topics[1], "parcel"]
    frame = model.by_group(topics)
    assert set(frame["value"]) == {"parcel", "password", "refund", "recipe"}
    assert frame["count"].sum() == 120
    counts = pd.crosstab(pd.Series(model.labels_[:120]), pd.Series(topics[:120]))
    for row in frame.to_dict("records"):
        assert row["count"] == counts.loc[row["cluster"], row["value"]]
    assert 0 < frame.attrs["effect"] <= 1
    assert frame.attrs["findings"]


@pytest.mark.parametrize("values", [["a", "b"], np.zeros((121, 2))])
def test_values_of_another_shape_are_refused(model: RSTC, values: Any) -> None:
    with pytest.raises(InputError, match=r"one value per text, got 2 for 121 texts|one-dimensional"):
        model.by_group(values)


def test_a_name_of_a_column_is_refused(model: RSTC) -> None:
    with pytest.raises(InputError, match=r"pass table\['when'\]"):
        model.over_time("when")


def test_dates_that_cannot_be_read_are_refused(model: RSTC) -> None:
    with pytest.raises(InputError, match="the first value is 'soon'"):
        model.over_time(["soon"] * 121)


def test_a_loaded_model_has_no_texts_to_compare(model: RSTC, tmp_path: Any) -> None:
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="does not hold the texts"):
        RSTC.load(tmp_path / "model").by_group(["a"])
