"""The report in a real browser, as a file and without any network."""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc.cli.report import add_truth
from rstc.results.corrected_run import RunNow
from rstc.report.html.render import write_page
from rstc.results.run_folder import read_points, read_summary, write_points
from rstc.pipelines.cluster import cluster_file

PHONE = (500, 900)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cluster the demo's messages with the real encoder, for a few steps."""
    out = tmp_path_factory.mktemp("demo") / "run"
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        cluster_file(str(sample), out, 10, truth_column="topic", settings={"max_steps": 2})
    add_truth(out, "topic")
    return out


@pytest.fixture
def page(browser: Any, demo: Path) -> Any:
    return opened(browser, demo)


def opened(browser: Any, folder: Path) -> Any:
    browser.get((folder / "report.html").as_uri())
    assert find(browser, "html").get_attribute("data-ready") == "true"
    return browser


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def all_of(browser: Any, selector: str) -> list[Any]:
    return list(browser.find_elements("css selector", selector))


def texts(browser: Any, selector: str) -> list[str]:
    return [one.text for one in all_of(browser, selector)]


def wait(until: Callable[[], Any]) -> Any:
    for _ in range(100):
        if found := until():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen within five seconds")


def settled(browser: Any) -> None:
    """Wait until what was asked for is drawn."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def picture(browser: Any) -> str:
    settled(browser)
    return str(browser.execute_script("return document.getElementById('map').toDataURL()"))


def place_of(browser: Any, folder: Path, row: int) -> tuple[int, int]:
    """Return where a text's point is, seen from the middle of the whole map."""
    box = find(browser, "#map").rect
    scale = min(box["width"], box["height"]) * 0.92 / 65535
    x, y = read_points(folder).places[row].astype(float)
    return round((x - 32768) * scale), round((y - 32768) * scale)


def actions(browser: Any) -> Any:
    from selenium.webdriver import ActionChains

    return ActionChains(browser)


def press(browser: Any, selector: str, *keys: str) -> None:
    find(browser, selector).send_keys(*keys)


def test_it_lists_the_clusters_with_their_names_and_sizes(page: Any, demo: Path) -> None:
    clusters = sorted(read_summary(demo)["clusters"], key=lambda one: -one["size"])
    assert texts(page, "#clusters .name") == [one["name"] for one in clusters]
    assert texts(page, "#clusters .count") == [str(one["size"]) for one in clusters]
    assert "465 texts" in find(page, "#facts").text


def test_a_cluster_shows_keywords_typical_doubtful_near_and_all_texts(page: Any, demo: Path) -> None:
    one = read_summary(demo)["clusters"][0]
    find(page, "#cluster-0").click()
    detail = find(page, "#detail")
    assert texts(page, "#detail .words span") == one["keywords"]
    assert f"{one['size']} texts" in detail.text
    for heading in ("Typical", "Doubtful", "All texts", "Near:"):
        assert heading in detail.text
    assert " ".join(one["typical"][0].split()) in " ".join(detail.text.split())
    assert len(all_of(page, "#detail ul.all li")) == 50
    find(page, "#detail .pages button:last-child").click()
    assert "page 2" in find(page, "#detail .pages").text


def test_search_finds_texts_and_lights_them_on_the_map(page: Any, demo: Path) -> None:
    before = picture(page)
    expected = sum("refund" in text.lower() for text in read_points(demo).texts)
    press(page, "#search", "ReFund")
    wait(lambda: find(page, "#hits").text == f"{expected} of 465 texts")
    assert all(mark.lower() == "refund" for mark in texts(page, "#detail mark"))
    assert picture(page) != before
    find(page, "#search").clear()
    press(page, "#search", " ")
    wait(lambda: find(page, "#hits").text == "")
    assert picture(page) == before


def test_a_point_shows_its_text_under_the_pointer_and_when_clicked(page: Any, demo: Path) -> None:
    points, canvas = read_points(demo), find(page, "#map")
    apart = ((points.places[:, None].astype(float) - points.places[None]) ** 2).sum(2)
    np.fill_diagonal(apart, np.inf)
    row = int(apart.min(1).argmax())  # the one that stands most alone
    actions(page).move_to_element_with_offset(canvas, *place_of(page, demo, row)).perform()
    assert points.texts[row].split()[0] in find(page, "#tip").text
    actions(page).click().perform()
    assert find(page, "#detail li").get_attribute("data-row") == str(row)


def test_a_lasso_around_all_finds_all(page: Any) -> None:
    find(page, "#lasso").click()
    box = find(page, "#map").rect
    wide, high = int(box["width"] / 2) - 2, int(box["height"] / 2) - 2
    actions(page).move_to_element_with_offset(find(page, "#map"), -wide, -high).click_and_hold().move_by_offset(
        2 * wide, 0
    ).move_by_offset(0, 2 * high).move_by_offset(-2 * wide, 0).release().perform()
    assert find(page, "#detail h2").text == "465 texts"


def test_it_works_with_the_keyboard(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    press(page, "#clusters", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert find(page, "#clusters li:nth-child(2)").get_attribute("aria-selected") == "true"
    press(page, "#clusters", Keys.ESCAPE)
    assert all_of(page, '#clusters [aria-selected="true"]') == []
    whole = picture(page)
    press(page, "#map", "+")
    assert picture(page) != whole
    press(page, "#map", "0")
    assert picture(page) == whole
    press(page, "#tab-map", Keys.ARROW_RIGHT)
    assert find(page, "#panel-sizes").is_displayed()
    assert page.switch_to.active_element.get_attribute("id") == "tab-sizes"


def test_the_other_tabs_show_sizes_training_truth_and_settings(page: Any, demo: Path) -> None:
    summary = read_summary(demo)
    find(page, "#tab-sizes").click()
    assert len(all_of(page, "#panel-sizes rect")) == 10
    find(page, "#tab-training").click()
    for said in ("class-wise loss", "instance-wise loss", "clusters were predicted", "2 steps"):
        assert said in find(page, "#panel-training").text
    find(page, "#tab-truth").click()
    assert f"ACC {100 * summary['truth']['acc']:.1f} %" in find(page, "#panel-truth").text
    shown = [[cell.text or "0" for cell in all_of(row, "td")] for row in all_of(page, "#panel-truth tbody tr")]
    assert [[int(cell) for cell in row] for row in shown] == summary["truth"]["matrix"]
    find(page, "#tab-settings").click()
    assert "kmeans_starts" in find(page, "#panel-settings").text
    assert summary["versions"]["torch"] in find(page, "#panel-settings").text


def test_dark_and_light(page: Any) -> None:
    colour = "return getComputedStyle(document.documentElement).backgroundColor"
    before = page.execute_script(colour)
    find(page, "#theme").click()
    assert page.execute_script(colour) != before
    find(page, "#theme").click()
    assert page.execute_script(colour) == before


def test_a_phone_shows_it_without_scrolling_sideways(open_browser: Callable[..., Any], demo: Path) -> None:
    phone = opened(open_browser(PHONE), demo)
    assert phone.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    find(phone, "#cluster-0").click()
    assert find(phone, "#detail h2").is_displayed()
    assert phone.get_log("browser") == []


def test_all_texts_are_exported(page: Any, demo: Path, shared_browser: tuple[Any, Path]) -> None:
    from selenium.webdriver.support.select import Select

    Select(find(page, "#export")).select_by_value("all")
    find(page, "#export-do").click()
    file = wait(lambda: next(shared_browser[1].glob("*.csv"), None))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    points = read_points(demo)
    assert [row["cluster"] for row in rows] == [str(cluster) for cluster in points.clusters]
    # What a spreadsheet would take for a formula has a mark before it.
    assert [row["text"].removeprefix("'") for row in rows] == [text.removeprefix("'") for text in points.texts]
    file.unlink()


HOSTILE = [
    "<script>document.title = 'run'</script>",
    "</script><script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "javascript:document.title='run'",
    "<b>bold</b> &amp; <!-- ",
]


def test_a_hostile_text_is_shown_and_does_nothing(browser: Any, finished_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hostile"
    shutil.copytree(finished_run, folder)
    points = read_points(folder)
    hostile = [HOSTILE[i % len(HOSTILE)] for i in range(len(points.texts))]
    write_points(folder, replace(points, texts=hostile))
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary["input"]["file"] = "<script>document.title='run'</script>.csv"
    for one in summary["clusters"]:
        one["name"] = one["keywords"][0] = "<img src=x onerror=\"document.title='run'\">"
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    write_page(folder, RunNow.read(folder))
    opened(browser, folder)
    find(browser, "#cluster-0").click()
    press(browser, "#search", "<")
    wait(lambda: "texts" in find(browser, "#hits").text)
    shown = texts(browser, "#detail li")
    assert any(HOSTILE[0] in text for text in shown)
    assert any(HOSTILE[2] in text for text in shown)
    assert browser.title.startswith("<script>"), "the file's name, as it is"
    assert all_of(browser, "img") == []


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cluster the demo's messages into as many clusters as they suggest."""
    out = tmp_path_factory.mktemp("counted") / "run"
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        cluster_file(str(sample), out, "2-12", text_column="text", settings={"max_steps": 2})
    return out


def test_how_many_clusters_there_are_is_shown_with_what_spoke_for_others(browser: Any, counted: Path) -> None:
    found = read_summary(counted)["count"]
    page = opened(browser, counted)
    find(page, "#tab-count").click()
    assert f"The texts suggest {found['n_clusters']} clusters." in find(page, "#count-said").text
    assert len(all_of(page, "#panel-count figure:first-of-type circle")) == len(found["candidates"])
    find(page, "#panel-count summary").click()
    assert len(all_of(page, "#panel-count tbody tr")) == len(found["candidates"])


def test_the_tree_has_a_leaf_for_each_cluster(page: Any, demo: Path) -> None:
    find(page, "#tab-count").click()
    assert not all_of(page, "#count-said"), "the number was given"
    names = texts(page, "#panel-count svg text")
    assert len(names) == len(read_summary(demo)["clusters"])


def test_the_tree_follows_corrections(browser: Any, demo: Path, tmp_path: Path) -> None:
    own = tmp_path / "run"
    shutil.copytree(demo, own)
    run = RunNow.read(own)
    run.correct({"do": "merge", "cluster": 2, "into": 1})
    run.save(own)
    write_page(own, RunNow.read(own))
    page = opened(browser, own)
    find(page, "#tab-count").click()
    assert len(texts(page, "#panel-count svg text")) == len(read_summary(demo)["clusters"]) - 1
