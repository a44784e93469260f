"""Corrections made in a real browser, with the server of `rstc explore`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.server import ExploreServer
from rstc.results.edits import read_log


@pytest.fixture
def page(browser: Any, run_folder: Path) -> Iterator[Any]:
    with ExploreServer(EditSession(run_folder)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        browser.get(server.address)
        saved(browser, "no corrections")
        yield browser
        server.shutdown()


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def choose(browser: Any, selector: str, cluster: str) -> None:
    """Select a cluster and press the button beside it."""
    find(browser, selector).click()
    Select(find(browser, selector)).select_by_value(cluster)
    find(browser, selector.removesuffix('"]') + '-do"]').click()


def names(browser: Any) -> list[str]:
    return [element.text for element in browser.find_elements("css selector", "#clusters .name")]


def saved(browser: Any, message: str) -> None:
    until(lambda: find(browser, "#saved").text == message)


def until(happened: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError(f"it did not happen within {seconds} seconds")


def test_rename_survives_a_reload(page: Any, run_folder: Path) -> None:
    find(page, "#cluster-0").click()
    name = find(page, "#detail input")
    name.clear()
    name.send_keys("Where is <b>my</b> parcel?\n")
    saved(page, "1 correction, saved")
    assert "Where is <b>my</b> parcel?" in names(page)
    page.refresh()
    saved(page, "1 correction, saved")
    assert "Where is <b>my</b> parcel?" in names(page)
    assert read_log(run_folder).edits[0]["name"] == "Where is <b>my</b> parcel?"


def test_merge_split_and_undo(page: Any) -> None:
    before = names(page)
    find(page, "#cluster-1").click()
    choose(page, '#detail [data-action="merge"]', "0")
    saved(page, "1 correction, saved")
    assert len(names(page)) == 3
    find(page, "#cluster-0").click()
    find(page, '#detail [data-action="split"]').click()
    saved(page, "2 corrections, saved")
    assert len(names(page)) == 4
    find(page, "#undo").click()
    saved(page, "1 correction, saved")
    find(page, "#undo").click()
    saved(page, "no corrections")
    assert names(page) == before
    assert not find(page, "#undo").is_enabled()


def test_texts_are_moved_and_marked_as_noise(page: Any, run_folder: Path) -> None:
    find(page, "#cluster-0").click()
    moved = int(find(page, "#detail ul.all li").get_attribute("data-row"))
    choose(page, f'#detail ul.all li[data-row="{moved}"] [data-action="move"]', "2")
    saved(page, "1 correction, saved")
    noisy = int(find(page, "#detail ul.all li").get_attribute("data-row"))
    find(page, f'#detail ul.all li[data-row="{noisy}"] [data-action="noise"]').click()
    saved(page, "2 corrections, saved")
    made = read_log(run_folder).edits
    assert made == ({"do": "move", "rows": [moved], "into": 2}, {"do": "noise", "rows": [noisy]})
    assert "noise" in names(page)


def test_keyboard_focus_stays_in_the_list_after_an_edit(page: Any, run_folder: Path) -> None:
    find(page, "#cluster-0").click()
    find(page, '#detail ul.all [data-action="noise"]').send_keys("\n")
    saved(page, "1 correction, saved")
    page.switch_to.active_element.send_keys("\n")
    saved(page, "2 corrections, saved")
    assert [edit["do"] for edit in read_log(run_folder).edits] == ["noise", "noise"]
    find(page, "#undo").click()
    saved(page, "1 correction, saved")


def test_edits_are_sent_one_after_the_other(page: Any, run_folder: Path) -> None:
    find(page, "#cluster-0").click()
    page.execute_script(
        """document.querySelector('#detail [data-action="split"]').click();
        document.querySelectorAll('#detail ul.all [data-action="noise"]')[3].click();"""
    )
    saved(page, "2 corrections, saved")
    assert [edit["do"] for edit in read_log(run_folder).edits] == ["split", "noise"]


def test_halves_of_a_split_are_shown_with_their_typical_texts(page: Any, run_folder: Path) -> None:
    find(page, "#cluster-1").click()
    choose(page, '#detail [data-action="merge"]', "0")
    saved(page, "1 correction, saved")
    find(page, "#cluster-0").click()
    find(page, '#detail [data-action="split"]').click()
    saved(page, "2 corrections, saved")
    assert find(page, "#detail h2").text.startswith("Split into")
    rows = [int(item.get_attribute("data-row")) for item in page.find_elements("css selector", "#detail li")]
    split_off = set(read_log(run_folder).edits[1]["rows"])
    assert [row in split_off for row in rows] == [False] * 5 + [True] * 5


def test_corrections_are_applied_by_a_button(page: Any, run_folder: Path) -> None:
    assert not find(page, "#apply").is_enabled(), "there is nothing to apply"
    find(page, "#cluster-1").click()
    choose(page, '#detail [data-action="merge"]', "0")
    saved(page, "1 correction, saved")
    find(page, "#apply").click()
    until(lambda: "applied" in find(page, "#applied").text, seconds=60)
    message = find(page, "#applied").text
    assert message == "1 correction applied: clusters.csv, the model and report.html have 3 clusters"
    assert not find(page, "#apply-progress").is_displayed()
    assert (run_folder / "model-found").is_dir()
    find(page, "#undo").click()
    saved(page, "no corrections")
    assert find(page, "#apply").is_enabled(), "what was undone can be applied as well"


def test_problem_of_applying_is_shown_and_corrections_go_on(page: Any, run_folder: Path) -> None:
    find(page, "#cluster-1").click()
    choose(page, '#detail [data-action="merge"]', "0")
    saved(page, "1 correction, saved")
    (run_folder / "clusters.csv").rename(run_folder / "sorted.csv")
    find(page, "#apply").click()
    until(lambda: find(page, "#applied").text.startswith("not applied: "), seconds=60)
    assert "clusters.csv" in find(page, "#applied").text
    find(page, "#undo").click()
    saved(page, "no corrections")


def test_grouped_clusters_are_not_corrected_and_the_tree_follows_merges(page: Any) -> None:
    find(page, "#tab-tree").click()
    slider = find(page, "#panel-tree input[type=range]")
    slider.send_keys(Keys.ARROW_LEFT)
    find(page, "#tab-map").click()
    group = next(name for name in page.find_elements("css selector", "#clusters .name") if "more" in name.text)
    group.click()
    assert page.find_elements("css selector", '#detail [data-action="rename"]') == []
    find(page, "#tab-tree").click()
    slider.send_keys(Keys.END)
    find(page, "#tab-map").click()
    find(page, "#cluster-1").click()
    choose(page, '#detail [data-action="merge"]', "0")
    saved(page, "1 correction, saved")
    find(page, "#tab-tree").click()
    assert len(page.find_elements("css selector", "#panel-tree .bar")) == 3
    assert find(page, "#panel-tree output").text == "all 3"


def test_corrections_fit_a_screen_of_360_pixels(page: Any) -> None:
    find(page, "#cluster-0").click()
    name = find(page, "#detail input")
    name.clear()
    name.send_keys("a name of many words " * 9 + "\n")
    saved(page, "1 correction, saved")
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    )
    try:
        find(page, "#cluster-1").click()
        find(page, '#detail [data-action="merge"]').click()
        assert page.execute_script("return document.documentElement.scrollWidth <= 360")
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_search_hits_are_moved_together(page: Any, run_folder: Path) -> None:
    find(page, "#search").send_keys("garlic")
    until(lambda: "texts" in find(page, "#hits").text)
    choose(page, '#detail [data-action="move-all"]', "0")
    saved(page, "1 correction, saved")
    assert len(read_log(run_folder).edits[0]["rows"]) == int(find(page, "#hits").text.split()[0])
