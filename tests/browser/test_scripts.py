"""Texts of any script on the page: their direction and language, the search, and where they are cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from browser_page import find, opened, press, texts, wait
from made_pages import make_run
from rstc.report.html.render import render_page
from rstc.results.corrected_run import CorrectedRun

TEXTS = [
    "أين الطرد 4711؟",
    "カードが使えません",
    "的中率の低い退款",
    "मेरा पासवर्ड",
    "ＡＢＣ café",
    "ΠΑΡΑΓΓΕΛΙΑ",
    "คำสั่งซื้อ",
    "かいぎ",
    "plain",
]


@pytest.fixture(scope="module")
def folder(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a page whose first texts are of several scripts; the name of its first cluster is Arabic."""
    made = make_run(CorrectedRun.read(run), n_clusters=3, n_texts=60)
    points = replace(made.points, texts=[*TEXTS, *made.points.texts[len(TEXTS) :]])
    first, *others = made.summary.clusters
    first = replace(first, name="الطرد, التوصيل", keywords=["الطرد", "التوصيل"], typical_rows=list(range(len(TEXTS))))
    summary = replace(made.summary, clusters=[first, *others], levels=[], languages={"zh": 0.5, "ar": 0.3, "ja": 0.2})
    out = tmp_path_factory.mktemp("scripts")
    (out / "report.html").write_text(render_page(CorrectedRun(summary, points)), encoding="utf-8")
    return out


@pytest.fixture
def page(browser: Any, folder: Path) -> Any:
    return opened(browser, folder)


def test_names_have_their_direction_and_language(page: Any) -> None:
    name = find(page, "#cluster-0 .name")
    assert (name.get_attribute("dir"), name.get_attribute("lang")) == ("auto", "ar")
    assert name.value_of_css_property("direction") == "rtl"
    assert find(page, "#cluster-1 .name").get_attribute("dir") == ""
    assert find(page, "#languages").text == "Languages: Chinese 50 %, Arabic 30 %, Japanese 20 %"


def test_texts_have_the_language_of_their_script(page: Any) -> None:
    find(page, "#cluster-0").click()
    shown = {row: find(page, f'#detail li[data-row="{row}"] .text').get_attribute("lang") for row in range(len(TEXTS))}
    assert [shown[row] for row in range(4)] == ["ar", "ja", "ja", "hi"]
    assert shown[8] == ""
    assert find(page, '#detail li[data-row="0"] .text').value_of_css_property("direction") == "rtl"


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("カード", ["カード"]),
        ("ｶｰﾄﾞ", ["カード"]),
        ("abc CAFE", ["ＡＢＣ", "café"]),
        ("παραγγελία", ["ΠΑΡΑΓΓΕΛΙΑ"]),
        ("الطَّرد", ["الطرد"]),
        ("पासवर्ड", ["पासवर्ड"]),
        ("退款", ["退款"]),
        ("สั่งซื้อ", ["สั่งซื้อ"]),
    ],
)
def test_search_finds_words_of_any_script(page: Any, query: str, marked: list[str]) -> None:
    press(page, "#search", query)
    wait(lambda: find(page, "#hits").text.startswith("1 of 60 texts"))
    assert texts(page, "#detail ul.all mark") == marked


@pytest.mark.parametrize("query", ["かいき", "पासवरड"])
def test_marks_of_other_scripts_are_letters(page: Any, query: str) -> None:
    press(page, "#search", query)
    wait(lambda: find(page, "#hits").text.startswith("0 of 60 texts"))
