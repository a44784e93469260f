"""The page in a real browser, opened as a file and without network."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser_page import actions, all_of, find, opened, picture, place_of, press, texts, wait
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.points import read_points, write_points
from rstc.results.run_folder import read_summary

PHONE = (500, 900)


@pytest.fixture
def page(browser: Any, run: Path) -> Any:
    return opened(browser, run)


def test_list_shows_names_and_sizes_of_clusters(page: Any, run: Path) -> None:
    clusters = sorted(read_summary(run).clusters, key=lambda entry: -entry.size)
    assert texts(page, "#clusters .name") == [entry.name for entry in clusters]
    assert texts(page, "#clusters .count") == [str(entry.size) for entry in clusters]
    assert "465 texts" in find(page, "#facts").text


def test_selected_cluster_shows_keywords_quotes_near_clusters_and_texts(page: Any, run: Path) -> None:
    entry = read_summary(run).clusters[0]
    find(page, "#cluster-0").click()
    detail = find(page, "#detail")
    assert texts(page, "#detail .words span") == entry.keywords
    assert f"{entry.size} texts" in detail.text
    for heading in ("Typical", "Doubtful", "All texts", "Near:"):
        assert heading in detail.text
    assert " ".join(entry.typical[0].split()) in " ".join(detail.text.split())
    assert len(all_of(page, "#detail ul.all li")) == 50
    find(page, "#detail .pages button:last-child").click()
    assert "page 2" in find(page, "#detail .pages").text


def test_search_lists_hits_and_highlights_them_on_the_map(page: Any, run: Path) -> None:
    before = picture(page)
    expected = sum("refund" in text.lower() for text in read_points(run).texts)
    press(page, "#search", "ReFund")
    wait(lambda: find(page, "#hits").text.startswith(f"{expected} of 465 texts"))
    assert all(mark.lower() == "refund" for mark in texts(page, "#detail mark"))
    assert picture(page) != before
    find(page, "#search").clear()
    press(page, "#search", " ")
    wait(lambda: find(page, "#hits").text == "")
    assert picture(page) == before


def test_point_shows_its_text_on_hover_and_on_click(page: Any, run: Path) -> None:
    points, canvas = read_points(run), find(page, "#map")
    places = np.array(
        [
            page.execute_script("return document.getElementById('map').inspect.placeOf(arguments[0])", row)
            for row in range(len(points.texts))
        ]
    )
    apart = ((places[:, None] - places[None]) ** 2).sum(2)
    np.fill_diagonal(apart, np.inf)
    row = int(apart.min(1).argmax())  # the most isolated point
    actions(page).move_to_element_with_offset(canvas, *place_of(page, row)).perform()
    assert points.texts[row].split()[0] in find(page, "#tip").text
    actions(page).click().perform()
    assert find(page, "#detail li").get_attribute("data-row") == str(row)


def test_lasso_around_all_points_selects_all_texts(page: Any) -> None:
    find(page, "#lasso").click()
    box = find(page, "#map").rect
    wide, high = int(box["width"] / 2) - 2, int(box["height"] / 2) - 2
    actions(page).move_to_element_with_offset(find(page, "#map"), -wide, -high).click_and_hold().move_by_offset(
        2 * wide, 0
    ).move_by_offset(0, 2 * high).move_by_offset(-2 * wide, 0).release().perform()
    assert find(page, "#detail h2").text == "465 texts"


def test_list_map_and_tabs_work_with_the_keyboard(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    press(page, "#clusters", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert find(page, "#clusters li:nth-child(2)").get_attribute("aria-selected") == "true"
    press(page, "#clusters", Keys.ESCAPE)
    assert all_of(page, '#clusters [aria-selected="true"]') == []
    whole = picture(page)
    press(page, "#map", "+")
    assert picture(page) != whole
    press(page, "#map", "0")
    wait(lambda: picture(page) == whole)
    press(page, "#tab-map", Keys.ARROW_RIGHT)
    assert find(page, "#panel-tree").is_displayed()
    assert page.switch_to.active_element.get_attribute("id") == "tab-tree"


def test_last_tab_tells_how_the_run_was_made(page: Any, run: Path) -> None:
    summary = read_summary(run)
    find(page, "#tab-made").click()
    panel = find(page, "#panel-made")
    assert len(all_of(panel, "rect")) == 10, "the sizes are open"
    assert "kmeans_starts" not in panel.text, "the rest is folded"
    for heading in all_of(panel, "details:not([open]) > summary"):
        heading.click()
    for words in ("Class-wise loss", "Instance-wise loss", "Number of predicted clusters", "2 steps", "kmeans_starts"):
        assert words in panel.text
    for words in (summary.versions["torch"], summary.decisions[0]):
        assert words in panel.text


def test_page_says_how_far_the_run_and_each_cluster_can_be_trusted(page: Any, run: Path) -> None:
    summary = read_summary(run)
    assert summary.reliability is not None
    assert find(page, "#trust").text == summary.reliability.describe()
    ratings = {entry.cluster: entry.reliability for entry in summary.clusters}
    marks = {int(item.get_attribute("data-id")): find(item, ".mark") for item in all_of(page, "#clusters li")}
    assert {c: mark.get_attribute("data-level") for c, mark in marks.items()} == {
        c: rating.level for c, rating in ratings.items() if rating
    }
    find(page, "#order option[value=stability]").click()
    order = [int(item.get_attribute("data-id")) for item in all_of(page, "#clusters li")]
    found = [ratings[cluster].n_found for cluster in order]  # type: ignore[union-attr]
    assert found == sorted(found), "the least stable first"
    all_of(page, "#clusters li")[0].click()
    assert f"Found again in {found[0]} of 30 repeats" in find(page, "#detail .note").text
    levels = {item.text.split("(")[1].rstrip(")") for item in all_of(page, "#detail ul.all li .meta")}
    assert levels <= {"high", "medium", "low"}


def test_truth_tab_draws_calibration(page: Any, run: Path) -> None:
    truth = read_summary(run).truth
    assert truth is not None
    assert truth.calibration is not None
    find(page, "#tab-truth").click()
    assert f"Expected calibration error {truth.calibration['ece']:.3f}" in find(page, "#panel-truth").text
    assert f"ACC {100 * truth.acc:.1f} %" in find(page, "#panel-truth").text
    figures = all_of(page, "#panel-truth figure")
    assert len(all_of(figures[0], "rect")) == 1 + len(truth.calibration["bins"])
    assert len(find(figures[1], "polyline").get_attribute("points").split()) == len(truth.calibration["risk"])


def test_theme_switches_between_dark_and_light(page: Any) -> None:
    colour = "return getComputedStyle(document.documentElement).backgroundColor"
    before = page.execute_script(colour)
    find(page, "#theme").click()
    assert page.execute_script(colour) != before
    find(page, "#theme").click()
    assert page.execute_script(colour) == before


def test_narrow_screen_needs_no_horizontal_scrolling(open_browser: Callable[..., Any], run: Path) -> None:
    phone = opened(open_browser(PHONE), run)
    assert phone.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    find(phone, "#cluster-0").click()
    assert find(phone, "#detail h2").is_displayed()
    assert phone.get_log("browser") == []


def test_export_holds_all_texts(page: Any, run: Path, shared_browser: tuple[Any, Path]) -> None:
    from selenium.webdriver.support.select import Select

    Select(find(page, "#export")).select_by_value("all")
    find(page, "#export-do").click()
    file = wait(lambda: next(shared_browser[1].glob("*.csv"), None))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    points = read_points(run)
    assert [row["cluster"] for row in rows] == [str(cluster) for cluster in points.clusters]
    # Texts that a spreadsheet would run as a formula are escaped by an apostrophe.
    assert [row["text"].removeprefix("'") for row in rows] == [text.removeprefix("'") for text in points.texts]
    file.unlink()


HOSTILE = [
    "<script>document.title = 'run'</script>",
    "</script><script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "javascript:document.title='run'",
    "<b>bold</b> &amp; <!-- ",
]


def test_hostile_texts_are_shown_and_not_executed(browser: Any, finished_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hostile"
    shutil.copytree(finished_run, folder)
    points = read_points(folder)
    hostile = [HOSTILE[i % len(HOSTILE)] for i in range(len(points.texts))]
    write_points(folder, replace(points, texts=hostile))
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary["input"]["file"] = "<img src=x onerror=document.title='run'>.csv"
    for one in summary["clusters"]:
        one["name"] = one["keywords"][0] = "<img src=x onerror=\"document.title='run'\">"
    del summary["checksum"], summary["files"]
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    write_page(folder, CorrectedRun.read(folder))
    opened(browser, folder)
    find(browser, "#cluster-0").click()
    press(browser, "#search", "<")
    wait(lambda: "texts" in find(browser, "#hits").text)
    shown = texts(browser, "#detail li")
    assert any(HOSTILE[0] in text for text in shown)
    assert any(HOSTILE[2] in text for text in shown)
    assert browser.title.startswith("<img src=x"), "the file's name, as it is"
    assert all_of(browser, "img") == []


@pytest.fixture(scope="module")
def run_with_search(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Cluster texts into an estimated number of clusters; return the run's folder."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "texts.txt").write_text("\n".join(texts_and_topics[0]))
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 2, "kmeans_starts": 3}
    cluster_file(RunRequest(str(folder / "texts.txt"), folder / "run", "2-12", settings=settings))
    return folder / "run"


def test_estimated_number_of_clusters_is_shown_with_all_candidates(browser: Any, run_with_search: Path) -> None:
    search = read_summary(run_with_search).n_clusters_search
    page = opened(browser, run_with_search)
    find(page, "#tab-made").click()
    find(page, "[data-key=fold-count]").click()
    wait(lambda: all_of(page, "#count-summary"))  # a section is filled when it has opened
    assert f"The texts suggest {search.n_clusters} clusters." in find(page, "#count-summary").text
    assert len(all_of(page, "#panel-made figure circle")) == len(search.candidates)
    find(page, "#panel-made details details summary").click()
    assert len(all_of(page, "#panel-made details details tbody tr")) == len(search.candidates)


def test_tree_has_a_leaf_for_each_cluster(page: Any, run: Path) -> None:
    find(page, "#tab-tree").click()
    assert len(all_of(page, "#panel-tree .bar")) == len(read_summary(run).clusters)
    find(page, "#tab-made").click()
    assert not all_of(page, "[data-key=fold-count]"), "the number was given"


def test_tree_follows_corrections(browser: Any, run: Path, tmp_path: Path) -> None:
    own = tmp_path / "run"
    shutil.copytree(run, own)
    corrected = CorrectedRun.read(own)
    corrected.correct({"do": "merge", "cluster": 2, "into": 1})
    corrected.save(own)
    write_page(own, CorrectedRun.read(own))
    page = opened(browser, own)
    find(page, "#tab-tree").click()
    assert len(all_of(page, "#panel-tree .bar")) == len(read_summary(run).clusters) - 1
