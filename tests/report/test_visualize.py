"""Figures, the page and the messages of a model that was fitted in Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rstc import RSTC, InputError
from rstc.report.hierarchy_figure import build_linkage
from rstc.report.label_placement import place_labels

Data = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def model(texts_and_topics: Data, tiny_encoder: str) -> RSTC:
    texts = list(texts_and_topics[0])
    texts[3] = " "
    with pytest.warns(UserWarning, match="hold no text"):
        return RSTC(4, random_state=0, encoder=tiny_encoder, repeats=0, kmeans_starts=2).fit(pd.Series(texts, name="t"))


def list_texts(figure: Any) -> set[str]:
    """Return the words that a figure shows."""
    return {text.get_text() for axes in figure.axes for text in [*axes.texts, *axes.get_yticklabels()]}


def test_map_shows_each_text_and_the_names_of_the_clusters(model: RSTC) -> None:
    figure = model.visualize_map()
    assert sum(len(points.get_offsets()) for points in figure.axes[0].collections) == 119
    shown = {text.get_text().replace("\n", " ") for text in figure.axes[0].texts}
    assert {name.split(",")[0] for name in model.cluster_names_} == {text.split(",")[0] for text in shown}


def test_hierarchy_shows_the_names_and_sizes_of_the_clusters(model: RSTC) -> None:
    shown = list_texts(model.visualize_hierarchy())
    assert set(model.cluster_names_) <= shown
    assert {str(size) for size in model.cluster_info_["size"]} <= shown


def test_figures_and_model_are_shown_by_a_notebook(model: RSTC) -> None:
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    data, _ = formatter.format(model.visualize_map())
    assert data["image/png"].startswith(b"\x89PNG")
    data, _ = formatter.format(model.visualize_hierarchy())
    assert data["image/png"].startswith(b"\x89PNG")
    data, _ = formatter.format(model)
    assert "<svg" in data["text/html"]


def test_figures_can_be_saved(model: RSTC, tmp_path: Path) -> None:
    for suffix in ("png", "svg", "pdf"):
        model.visualize_map((5, 4)).savefig(tmp_path / f"map.{suffix}")
        assert (tmp_path / f"map.{suffix}").stat().st_size > 3000


def test_comparisons_are_drawn_as_they_are_computed(model: RSTC) -> None:
    dates = pd.Series(pd.date_range("2026-01-01", periods=120, freq="D"), name="posted")
    figure = model.visualize_over_time(dates, every="month")
    assert len([axes for axes in figure.axes if axes.axison]) == 3  # a row of panels, as nothing has changed
    groups = pd.Series(["phone", "shop", "mail"] * 40, name="channel")
    assert {"phone", "shop", "mail"} <= {
        label.get_text().split("\n")[0] for axes in model.visualize_by(groups).axes for label in axes.get_xticklabels()
    }


def test_messages_say_what_matters(model: RSTC, tiny_encoder: str) -> None:
    assert [message.text for message in model.messages_] == ["cluster 0 holds 50 % of the texts"]
    texts = [f"{word} " * 200 for word in ("parcel", "late", "password", "login")] * 5
    long = RSTC(2, encoder=tiny_encoder, random_state=0, repeats=0).fit(texts)
    assert long.truncated_share_ == 1
    assert "100 % of the texts are longer than 64 tokens and were cut" in [message.text for message in long.messages_]


def read_content(page: Path) -> dict[str, Any]:
    """Return the JSON content of a page."""
    scripts = re.findall(r"<script[^>]*type=\"application/json\"[^>]*>(.*?)</script>", page.read_text(), re.DOTALL)
    contents = [json.loads(script) for script in scripts]
    return next(content for content in contents if isinstance(content, dict) and "clusters" in content)


def test_report_is_the_page_of_the_model(model: RSTC, tmp_path: Path) -> None:
    content = read_content(model.report(tmp_path / "out.html"))
    assert content["title"] == "out"
    assert [cluster["name"] for cluster in content["clusters"]] == model.cluster_names_
    assert [cluster["size"] for cluster in content["clusters"]] == model.cluster_info_["size"].tolist()
    assert content["rows"][:4] == [1, 2, 3, 5]  # row 4 holds no text


def test_report_shows_new_names(model: RSTC, tmp_path: Path) -> None:
    before = model.cluster_names_[0]
    model.rename_clusters({0: "late <parcels>"})
    content = read_content(model.report(tmp_path / "out.html", title="tickets"))
    model.rename_clusters({0: before})
    assert (content["title"], content["clusters"][0]["name"]) == ("tickets", "late <parcels>")


def test_report_refuses_columns_of_other_rows(model: RSTC, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="columns has 2 rows, but the model was fitted on 120"):
        model.report(tmp_path / "out.html", columns=pd.DataFrame({"stars": [1, 2]}))
    assert not (tmp_path / "out.html").exists()


def test_loaded_model_has_no_texts_to_show(model: RSTC, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="does not hold the texts"):
        RSTC.load(tmp_path / "model").visualize_map()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=25), st.integers(0, 2**32 - 1))
def test_placed_labels_overlap_neither_each_other_nor_the_border(anchors: list[Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.column_stack([rng.uniform(20, 120, len(anchors)), rng.uniform(8, 25, len(anchors))])
    places = place_labels(np.array(anchors), sizes, rng.uniform(0, 300, (50, 2)), 400, 300)
    boxes = [(p.x - w / 2, p.y - h / 2, p.x + w / 2, p.y + h / 2) for p, (w, h) in zip(places, sizes, strict=True) if p]
    assert boxes
    for i, a in enumerate(boxes):
        assert min(a) >= 0
        assert a[2] <= 400
        assert a[3] <= 300
        assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[:i])


def test_linkage_stays_valid_where_rounding_reverses_two_joins() -> None:
    _, linkage = build_linkage([(0, 1, 0.5), (2, 3, 0.4999), (1, 3, 0.7)], [0, 1, 2, 3])
    assert linkage.tolist() == [[0, 1, 0.5, 2], [2, 3, 0.5, 2], [4, 5, 0.7, 4]]
