"""The first tab of the page: overview, map, filters, search, export, keyboard and contrast, in a real browser."""

from __future__ import annotations

import csv
import json
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from browser_page import actions, all_of, find, opened, picture, press, settled, texts, wait
from rstc.report.html.render import render_page, write_page
from rstc.results.comparisons import ComparisonRequest, Comparisons
from rstc.results.corrected_run import CorrectedRun
from rstc.results.group_shares import compute_group_shares
from rstc.results.groups import cut_groups
from rstc.results.points import read_points, write_points
from rstc.results.run_folder import read_summary, write_summary


@pytest.fixture
def page(browser: Any, run_with_columns: Path) -> Any:
    return opened(browser, run_with_columns)


@pytest.fixture
def resize(browser: Any) -> Iterator[Callable[[int, int], None]]:
    """Return a function that changes the size of the page."""

    def change(width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.execute_async_script("setTimeout(arguments[0], 400)")
        settled(browser)

    yield change
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def inspect(browser: Any, what: str) -> Any:
    return browser.execute_script(f"return document.getElementById('map').inspect.{what}")


def places(browser: Any) -> np.ndarray:
    script = "const { placeOf } = document.getElementById('map').inspect; return [...Array(465).keys()].map(placeOf)"
    return np.array(browser.execute_script(script))


def show_filters(browser: Any) -> None:
    find(browser, "#show-filters").click()


def count_of(browser: Any, cluster: int) -> int:
    return int(browser.execute_script(f"return document.querySelector('#cluster-{cluster} .count').textContent"))


def passing(browser: Any) -> str:
    return str(find(browser, "#passing").text)


def search(browser: Any, query: str) -> int:
    """Search and return the number of hits."""
    browser.execute_script("document.getElementById('hits').textContent = ''")
    find(browser, "#search").clear()
    press(browser, "#search", query)
    return int(wait(lambda: find(browser, "#hits").text).split(" of ")[0])


def test_page_opens_with_an_overview(page: Any, run: Path) -> None:
    summary = read_summary(run)
    assert find(page, "#detail h2").text == "Overview"
    assert texts(page, ".tile strong")[:2] == ["465", "10"]
    largest = sorted(summary.clusters, key=lambda entry: -entry.size)[:5]
    assert texts(page, ".largest .name") == [entry.name for entry in largest]
    assert f"{largest[0].size} · " in find(page, ".largest .count").text
    n_low = int((read_points(run).confidence < 0.5).sum())
    assert f"{n_low} text" in find(page, "#hints").text


def test_overview_selects_and_comes_back(page: Any) -> None:
    first = find(page, ".largest .name").text
    find(page, ".largest").click()
    assert find(page, "#detail h2").text == first
    find(page, '#detail [data-action="overview"]').click()
    assert find(page, "#detail h2").text == "Overview"
    find(page, ".largest").click()
    press(page, "body", Keys.ESCAPE)
    assert find(page, "#detail h2").text == "Overview"
    find(page, "#hints .link").click()
    assert find(page, "#detail h2").text != "Overview"
    box = find(page, "#map").rect
    corner = (-int(box["width"] / 2) + 3, -int(box["height"] / 2) + 3)
    actions(page).move_to_element_with_offset(find(page, "#map"), *corner).click().perform()
    assert find(page, "#detail h2").text == "Overview", "a click on the background"


def test_overview_shows_what_the_run_knows_beyond_clusters(browser: Any, run: Path, tmp_path: Path) -> None:
    more = {
        "messages": [{"text": "12 texts were cut", "advice": "Raise max_length.", "level": "warning"}],
        "proposals": [
            {
                "id": 0,
                "name": "gift cards",
                "size": 3,
                "stability": None,
                "keywords": ["gift", "card"],
                "typical": [1],
                "rows": [1, 2, 3],
                "near": None,
                "status": "open",
            }
        ],
        "updates": [{"file": "march.csv", "rows": 40, "date": "2026-03-31"}],
        "over_time": {
            "clusters": [{"id": 0, "trend": "growing", "sentence": "doubled since May"}, {"id": 1, "trend": "steady"}]
        },
    }
    html = render_page(CorrectedRun.read(run)).replace(
        '"columns_left_out":', json.dumps(more)[1:-1] + ', "columns_left_out":'
    )
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    opened(browser, tmp_path)
    assert "12 texts were cut Raise max_length." in find(browser, "#messages").text
    news = find(browser, "#news").text
    for part in ("40 texts added from march.csv", "gift cards", "growing", "doubled since May"):
        assert part in news
    assert len(all_of(browser, "#news li")) == 3, "a steady cluster is not new"
    assert find(browser, "[data-action='to-trends']").text == "Over time: 1 of 2 clusters changed"
    find(browser, "[data-action='to-proposal']").click()
    assert find(browser, "#tab-proposals").get_attribute("aria-selected") == "true"
    find(browser, "[data-proposal='0'] button").click()
    assert [item.get_attribute("data-row") for item in all_of(browser, "#detail ul.all li")] == ["1", "2", "3"]


def test_map_tab_explains_itself_without_jargon(page: Any) -> None:
    shown = find(page, "#panel-map").text
    find(page, "#cluster-0").click()
    shown += find(page, "#panel-map").text
    for word in ("transport", "(b)", "Training", "pseudo", "encoder"):
        assert word not in shown


def test_points_fill_the_map(page: Any, resize: Callable[[int, int], None]) -> None:
    for size in ((1400, 900), (900, 900), (390, 844)):
        resize(*size)
        box, points = find(page, "#map").rect, places(page)
        low, high = np.quantile(points, [0.01, 0.99], axis=0)
        used = (high - low) / [box["width"], box["height"]]
        assert used.max() >= 0.8
        assert used.min() >= 0.6
        assert (points >= 0).all()
        assert (points <= [box["width"], box["height"]]).all(), "no text is cut off, however far outside it is"


def test_labels_cover_neither_each_other_nor_the_edge(page: Any, resize: Callable[[int, int], None]) -> None:
    for size in ((1400, 900), (390, 844)):
        resize(*size)
        box, labels = find(page, "#map").rect, inspect(page, "labels()")
        assert len(labels) >= 6
        for i, label in enumerate(labels):
            left, top, right, bottom = label["box"]
            assert min(left, top) >= 0
            assert right <= box["width"]
            assert bottom <= box["height"]
            assert len(label["lines"]) <= 2
            for other in labels[:i]:
                l2, t2, r2, b2 = other["box"]
                assert right <= l2 or r2 <= left or bottom <= t2 or b2 <= top
        assert np.mean([label["covered"] for label in labels]) < 0.15, "names stand where there are few points"


def test_selected_cluster_keeps_only_its_own_label(page: Any) -> None:
    find(page, "#cluster-0").click()
    settled(page)
    assert [label["cluster"] for label in inspect(page, "labels()")] == [0]


def test_regions_can_be_hidden(page: Any) -> None:
    before = picture(page)
    find(page, "#contours").click()
    assert picture(page) != before
    find(page, "#contours").click()
    assert picture(page) == before


def test_category_filter_changes_counts_chips_and_search(page: Any, run: Path) -> None:
    clusters = read_points(run).clusters
    before, hits = picture(page), search(page, "the")
    press(page, "body", Keys.ESCAPE)
    show_filters(page)
    find(page, '[data-column="airline"] [data-value="Virgin"] input').click()
    rows = np.flatnonzero(np.arange(465) % 10 > 8)
    assert passing(page) == f"{len(rows)} of 465 texts"
    assert "Virgin" in find(page, ".chip").text
    assert picture(page) != before, "the other texts are faint"
    for cluster in range(10):
        shown = page.execute_script("return document.getElementById('cluster-' + arguments[0])", cluster)
        assert shown is not None
        assert count_of(page, cluster) == int((clusters[rows] == cluster).sum())
    assert search(page, "the") < hits
    press(page, "body", Keys.ESCAPE)
    find(page, ".chip").click()
    assert all_of(page, ".chip") == []
    assert not find(page, '[data-column="airline"] [data-value="Virgin"] input').is_selected()
    assert count_of(page, 0) == int((clusters == 0).sum())


def test_counts_of_a_category_are_those_beside_the_other_filters(page: Any) -> None:
    show_filters(page)
    delta = '[data-column="airline"] [data-value="Delta"]'
    all_delta = int(find(page, f"{delta} .count").text)
    find(page, f"{delta} input").click()
    assert int(find(page, f"{delta} .count").text) == all_delta
    press(page, '[data-column="stars"] [data-end="low"]', Keys.END)
    assert int(find(page, f"{delta} .count").text) < all_delta
    find(page, "#chips .quiet").click()
    assert int(find(page, f"{delta} .count").text) == all_delta


def test_dates_are_brushed_with_the_keyboard_and_typed(page: Any) -> None:
    show_filters(page)
    days = np.arange(465) % 100
    press(page, '[data-column="date"] [data-end="low"]', Keys.END)
    assert passing(page) == f"{(days == 99).sum()} of 465 texts"
    press(page, '[data-column="date"] [data-end="low"]', Keys.ARROW_LEFT)
    assert passing(page) == f"{(days >= 98).sum()} of 465 texts"
    find(page, '#detail [data-action="read-filtered"]').click()
    rows = {int(item.get_attribute("data-row")) for item in all_of(page, "#detail ul.all li")}
    assert rows == set(np.flatnonzero(days >= 98).tolist())
    low, high = (find(page, f'[data-column="date"] [data-exact="{end}"]') for end in ("low", "high"))
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    page.execute_script(script, low, "2026-01-03")
    page.execute_script(script, high, "2026-01-04")
    assert passing(page) == f"{((days == 2) | (days == 3)).sum()} of 465 texts"


def test_histogram_is_brushed_with_the_mouse(page: Any) -> None:
    show_filters(page)
    histogram = find(page, '[data-column="date"] .histogram')
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", histogram)
    width = histogram.rect["width"]
    actions(page).move_to_element_with_offset(histogram, int(-width / 4), 0).click_and_hold().move_by_offset(
        int(width / 2), 0
    ).release().perform()
    n = int(passing(page).split()[0])
    assert 0.4 * 465 < n < 0.6 * 465
    assert "2026-01" in find(page, ".chip").text


def test_text_columns_are_filtered_by_what_they_contain(page: Any) -> None:
    show_filters(page)
    find(page, '[data-column="note"] summary').click()
    wait(lambda: all_of(page, '[data-column="note"] input'))  # a section is filled when it has opened
    press(page, '[data-column="note"] input', "seat 46, cafe")
    wait(lambda: all_of(page, "#passing"))
    assert passing(page) == "1 of 465 texts"


def test_overview_compares_the_filtered_texts_with_all(page: Any) -> None:
    show_filters(page)
    find(page, '[data-column="airline"] [data-value="United"] input').click()
    assert find(page, ".tile strong").text == passing(page).split()[0]
    assert "× usual" in find(page, ".largest .lift").text


@pytest.mark.parametrize(
    ("column", "entries"), [("airline", ["Delta", "United", "Virgin"]), ("date", ["2026-01"]), ("confidence", ["%"])]
)
def test_colour_by_a_column_shows_a_legend(page: Any, column: str, entries: list[str]) -> None:
    before = picture(page)
    assert not find(page, "#legend").is_displayed()
    Select(find(page, "#colour-by")).select_by_visible_text(column)
    assert picture(page) != before
    for entry in [column, *entries]:
        assert entry in find(page, "#legend").text
    Select(find(page, "#colour-by")).select_by_visible_text("cluster")
    assert not find(page, "#legend").is_displayed()
    assert picture(page) == before


def test_legend_counts_empty_cells(page: Any) -> None:
    Select(find(page, "#colour-by")).select_by_visible_text("stars")
    assert "no value (47)" in find(page, "#legend").text


def test_search_finds_all_words_in_any_order(page: Any, run: Path) -> None:
    lower = [text.lower() for text in read_points(run).texts]
    expected = sum("my" in text and "order" in text for text in lower)
    assert search(page, "order my") == search(page, "MY ORDER") == expected
    assert search(page, '"my order"') == sum("my order" in text for text in lower) < expected


def test_search_ignores_accents_and_marks_hits(browser: Any, run_with_columns: Path, tmp_path: Path) -> None:
    folder = tmp_path / "accents"
    shutil.copytree(run_with_columns, folder)
    points = read_points(folder)
    decomposed = unicodedata.normalize("NFD", "ein zweites Café in Zürich")
    write_points(folder, replace(points, texts=["Das CAFÉ in Zürich ist zu", decomposed, *points.texts[2:]]))
    write_summary(folder, read_summary(folder))  # with their checksum
    write_page(folder)
    opened(browser, folder)
    assert search(browser, "zurich cafe") == 2
    marked = [unicodedata.normalize("NFC", mark) for mark in texts(browser, "#detail ul.all mark")]
    assert marked == ["CAFÉ", "Zürich", "Café", "Zürich"]


def test_texts_near_in_meaning_follow_the_hits(page: Any, run: Path) -> None:
    points = read_points(run)
    assert points.neighbours is not None
    n = search(page, "refund")
    near = [int(item.get_attribute("data-row")) for item in all_of(page, "#detail ul.near-texts li")]
    assert near
    assert "near in meaning" in find(page, "#hits").text
    hits = {row for row, text in enumerate(points.texts) if "refund" in text.lower()}
    assert len(hits) == n
    for row in near:
        assert row not in hits
        reverse = {other for other in hits if row in points.neighbours[other]}
        assert reverse or hits & set(points.neighbours[row].tolist())


def test_similar_texts_are_the_neighbours_by_meaning(page: Any, run: Path) -> None:
    points = read_points(run)
    assert points.neighbours is not None
    find(page, "#cluster-0").click()
    item = find(page, "#detail ul.all li")
    row = int(item.get_attribute("data-row"))
    find(page, f'#detail ul.all li[data-row="{row}"] [data-action="similar"]').click()
    shown = [int(one.get_attribute("data-row")) for one in all_of(page, "#detail li")]
    assert shown[: 1 + points.neighbours.shape[1]] == [row, *points.neighbours[row].tolist()]


def download(browser: Any, folder: Path, which: str) -> list[dict[str, str]]:
    Select(find(browser, "#export")).select_by_value(which)
    find(browser, "#export-do").click()
    file = wait(lambda: next(folder.glob("*.csv"), None))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    file.unlink()
    return rows


def test_export_has_the_columns_of_the_file(
    page: Any, run_with_columns: Path, shared_browser: tuple[Any, Path]
) -> None:
    points, names = (
        read_points(run_with_columns),
        {entry.cluster: entry.name for entry in read_summary(run_with_columns).clusters},
    )
    rows = download(page, shared_browser[1], "all")
    found = ["cluster", "cluster_name", "confidence", "confidence_level"]
    assert list(rows[0]) == ["id", "text", "date", "stars", "airline", "note", *found]
    for name in ("id", "date", "stars", "airline"):
        assert [row[name] for row in rows] == points.columns[name].tolist()
    assert [row["cluster_name"] for row in rows] == [names[cluster] for cluster in points.clusters]
    assert rows[0]["note"] == "'=1+1", "a formula is escaped"
    assert {row["confidence_level"] for row in rows} <= {"high", "medium", "low"}


def test_export_of_filtered_and_of_listed_texts(page: Any, run: Path, shared_browser: tuple[Any, Path]) -> None:
    show_filters(page)
    find(page, '[data-column="airline"] [data-value="Virgin"] input').click()
    rows = download(page, shared_browser[1], "filtered")
    assert {row["airline"] for row in rows} == {"Virgin"}
    assert len(rows) == int(passing(page).split()[0])
    n = search(page, "order")
    near = len(all_of(page, "#detail ul.near-texts li"))
    assert len(download(page, shared_browser[1], "shown")) == n + near


def test_page_without_columns_filters_by_confidence_only(browser: Any, finished_run: Path, tmp_path: Path) -> None:
    run = CorrectedRun.read(finished_run)
    run.points = replace(run.points, columns=pd.DataFrame(index=pd.RangeIndex(120)))
    (tmp_path / "report.html").write_text(render_page(run), encoding="utf-8")
    page = opened(browser, tmp_path)
    show_filters(page)
    assert [one.get_attribute("data-column") for one in all_of(page, "details.filter")] == ["confidence"]
    assert [option.text for option in Select(find(page, "#colour-by")).options] == ["cluster", "confidence"]


def test_page_of_an_earlier_run_shows_neighbours_on_the_map(browser: Any, finished_run: Path, tmp_path: Path) -> None:
    run = CorrectedRun.read(finished_run)
    run.points = replace(run.points, neighbours=None)
    (tmp_path / "report.html").write_text(render_page(run), encoding="utf-8")
    page = opened(browser, tmp_path)
    press(page, "#map", Keys.ARROW_RIGHT, Keys.ENTER)
    assert "Nearest on the map" in find(page, "#detail").text


def test_slash_focuses_the_search_and_escape_clears_it(page: Any) -> None:
    press(page, "body", "/")
    assert page.switch_to.active_element.get_attribute("id") == "search"
    page.switch_to.active_element.send_keys("order")
    wait(lambda: "texts" in find(page, "#hits").text)
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert find(page, "#search").get_attribute("value") == ""
    assert find(page, "#hits").text == ""
    assert find(page, "#detail h2").text == "Overview"


def test_arrow_keys_move_from_text_to_text_on_the_map(page: Any, run: Path) -> None:
    press(page, "#map", Keys.ARROW_RIGHT)
    first = find(page, "#announcement").get_attribute("textContent")
    assert any(text[:20] in first for text in read_points(run).texts)
    assert find(page, "#tip").is_displayed()
    press(page, "#map", Keys.ARROW_RIGHT)
    assert find(page, "#announcement").get_attribute("textContent") != first
    press(page, "#map", Keys.ENTER)
    assert find(page, "#detail h2").text == "A text and those like it"


def test_every_control_has_a_name(page: Any) -> None:
    show_filters(page)
    script = """
    const isNamed = (one) => one.ariaLabel || one.textContent.trim() || one.labels?.length || one.title;
    const controls = [...document.querySelectorAll("button, input, select, canvas[tabindex], summary")];
    return controls.filter((one) => !isNamed(one)).map((one) => one.outerHTML);
    """
    assert page.execute_script(script) == []


def luminance(colour: str) -> float:
    channels = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_enough_contrast(page: Any, theme: str) -> None:
    page.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    script = "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()"
    colours = {
        name: page.execute_script(script, f"--{name}")
        for name in ("back", "soft", "ink", "faint", "mark", "lit", "edge")
    }
    for back in ("back", "soft"):
        for name in ("ink", "faint", "mark", "lit"):
            assert contrast(colours[name], colours[back]) >= 4.5, (name, back)
    assert contrast(colours["edge"], colours["back"]) >= 3, "of the sliders"


def test_phone_needs_no_horizontal_scrolling(page: Any, resize: Callable[[int, int], None]) -> None:
    resize(390, 844)
    width = "return document.documentElement.scrollWidth"
    assert page.execute_script(width) <= 390
    show_filters(page)
    find(page, '[data-column="airline"] [data-value="Delta"] input').click()
    Select(find(page, "#colour-by")).select_by_visible_text("airline")
    assert page.execute_script(width) <= 390
    search(page, "order")
    assert page.execute_script(width) <= 390
    assert find(page, "#map").rect["height"] > 300


def set_groups(page: Any, n: int) -> None:
    script = "const slider = document.querySelector('#grouping input'); slider.value = arguments[0]; "
    page.execute_script(script + "slider.dispatchEvent(new Event('input'))", n)
    settled(page)


def test_names_counts_and_filters_follow_the_groups_that_clusters_are_shown_in(page: Any) -> None:
    labels = {label["cluster"] for label in inspect(page, "labels()")}
    set_groups(page, 4)
    groups = [int(item.get_attribute("data-id")) for item in all_of(page, "#clusters li")]
    assert len(groups) == 4
    shown = wait(lambda: {label["cluster"] for label in inspect(page, "labels()")})
    assert shown <= set(groups)
    assert shown != labels
    assert "groups of 10 clusters" in find(page, ".tiles").text
    assert sum(count_of(page, group) for group in groups) == 465
    show_filters(page)
    find(page, ".filter[data-column=airline] [data-value=Virgin] input").click()
    passing = int(find(page, "#passing").text.split()[0])
    assert sum(count_of(page, group) for group in groups) == passing
    page.execute_script("document.querySelector('#clusters li').click()")
    first = int(find(page, "#clusters li").get_attribute("data-id"))
    assert len(all_of(page, "#detail ul.all li")) == min(50, count_of(page, first))


def test_cell_of_the_groups_lists_the_texts_of_its_cluster_and_value(
    browser: Any, run_with_columns: Path, tmp_path: Path
) -> None:
    own = tmp_path / "run"
    shutil.copytree(run_with_columns, own)
    run = CorrectedRun.read(own)
    shares = compute_group_shares(
        cut_groups(run.points.columns["airline"]),
        run.clusters,
        {entry.cluster: entry.name for entry in run.entries()},
        "airline",
        np.random.default_rng(0),
    )
    write_page(own, run, Comparisons(ComparisonRequest(by=["airline"]), None, [shares]))
    opened(browser, own)
    find(browser, "#tab-groups").click()
    column = shares.values.index("Delta")
    find(browser, f"table.heat td[data-cluster='{shares.clusters[0]}'][data-value='{column}']").click()
    assert find(browser, "#texts-dialog header .meta").text.split()[0] == str(shares.counts[0, column])
    assert "airline Delta" in find(browser, "#texts-title").text
