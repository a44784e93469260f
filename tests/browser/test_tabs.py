"""The tabs beside the map in a real browser: over time, groups, tree, truth, and the printed page."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from browser_page import all_of, find, settled, texts, wait
from made_pages import make_groups, make_levels, make_over_time, make_run, write_made_page
from rstc.results.corrected_run import CorrectedRun

N_CLUSTERS, N_TEXTS, N_CLASSES, N_PERIODS = 12, 400, 10, 8
AIRLINES = ["United", "Delta", "Virgin America", "Lufthansa"]
PHONE = (500, 900)


@pytest.fixture(scope="module")
def made(finished_run: Path) -> CorrectedRun:
    return make_run(CorrectedRun.read(finished_run), N_CLUSTERS, N_TEXTS, N_CLASSES)


@pytest.fixture(scope="module")
def parts(made: CorrectedRun) -> dict[str, Any]:
    return {
        "over_time": make_over_time(made, N_PERIODS),
        "groups": [make_groups(made, "airline", AIRLINES), make_groups(made, "sentiment", ["good", "bad"], 1)],
        "levels": make_levels(made),
    }


@pytest.fixture(scope="module")
def file(made: CorrectedRun, parts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_page(tmp_path_factory.mktemp("made") / "report.html", made, **parts)


@pytest.fixture
def page(browser: Any, file: Path) -> Any:
    browser.get(file.as_uri())
    return browser


def set_slider(page: Any, value: int) -> None:
    page.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        find(page, "#panel-tree input[type=range]"),
        value,
    )


def close_dialog(page: Any) -> None:
    find(page, "#texts-dialog [data-action=close]").click()


def hover(page: Any, element: Any) -> str:
    """Move the pointer onto an element; return the text of the tooltip."""
    from selenium.webdriver import ActionChains

    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", element)
    ActionChains(page).move_to_element(element).perform()
    return str(find(page, "#panel-tip").text)


def test_tabs_without_content_are_hidden(browser: Any, made: CorrectedRun, tmp_path: Path) -> None:
    browser.get(write_made_page(tmp_path / "plain.html", made).as_uri())
    names = [tab.text for tab in all_of(browser, "[role=tab]") if tab.is_displayed()]
    assert names == ["Map", "Tree", "Truth", "How it was made"]


def test_tabs_are_reached_by_arrow_keys_and_keep_their_place(page: Any) -> None:
    find(page, "#tab-map").send_keys(Keys.END)
    assert page.switch_to.active_element.get_attribute("id") == "tab-made"
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page.switch_to.active_element.get_attribute("id") == "tab-time"
    assert find(page, "#panel-time").is_displayed()
    tab_stops = [tab for tab in all_of(page, "[role=tab]") if tab.get_attribute("tabindex") != "-1"]
    assert len(tab_stops) == 1


def test_clusters_over_time_are_grouped_by_trend(page: Any, made: CorrectedRun, parts: dict[str, Any]) -> None:
    find(page, "#tab-time").click()
    trends = [section.get_attribute("data-trend") for section in all_of(page, "#panel-time section")]
    assert trends == ["new", "growing", "fading", "gone", "steady"]
    panel = find(page, "#panel-time").text
    assert all(cluster["sentence"] in panel for cluster in parts["over_time"]["clusters"])
    assert len(all_of(page, ".card")) == N_CLUSTERS
    names = [entry.name for entry in made.summary.clusters]
    steady = [cluster for cluster in parts["over_time"]["clusters"] if cluster["trend"] == "steady"]
    steady.sort(key=lambda cluster: -sum(cluster["counts"]))
    assert texts(page, "[data-trend=steady] h4")[0] == names[steady[0]["id"]], "the largest first"


def test_values_of_a_period_are_shown_by_pointer_and_arrow_keys(page: Any, parts: dict[str, Any]) -> None:
    find(page, "#tab-time").click()
    over_time, chart = parts["over_time"], find(page, "[data-trend=new] .card svg")
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' }); arguments[0].focus()", chart)
    chart.send_keys(Keys.HOME)
    chart.send_keys(Keys.ARROW_RIGHT)
    new = [cluster for cluster in over_time["clusters"] if cluster["trend"] == "new"]
    name = chart.get_attribute("aria-label")
    assert chart.get_attribute("aria-valuenow") == "1"
    value = chart.get_attribute("aria-valuetext")
    assert "week of 12 Jan 2026" in value
    assert f"of {over_time['totals'][1]} texts (95 % interval" in value
    assert value.split(", ")[-1] in {
        f"{cluster['counts'][1]} text{'' if cluster['counts'][1] == 1 else 's'}" for cluster in new
    }
    assert name.startswith("Share of")
    assert "week of" in hover(page, chart)


def test_texts_of_a_peak_are_listed_and_shown_on_the_map(page: Any, parts: dict[str, Any]) -> None:
    find(page, "#tab-time").click()
    peak = parts["over_time"]["clusters"][0]["peak"]
    find(page, "[data-trend=new] .peak-texts").click()
    assert find(page, "#texts-dialog").is_displayed()
    rows = [int(item.get_attribute("data-row")) for item in all_of(page, "#texts-dialog li")]
    assert rows == peak["rows"][:50]
    find(page, "#texts-dialog [data-action=on-map]").click()
    assert find(page, "#panel-map").is_displayed()
    assert not find(page, "#texts-dialog").is_displayed()
    assert len(all_of(page, "#detail ul.all li")) == len(rows)


def test_dialog_closes_with_escape_and_returns_the_focus(page: Any) -> None:
    find(page, "#tab-time").click()
    button = find(page, "[data-trend=new] .peak-texts")
    button.send_keys(Keys.ENTER)
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not find(page, "#texts-dialog").is_displayed()
    assert page.switch_to.active_element == button


def test_scale_can_be_shared_and_the_box_keeps_the_focus(page: Any) -> None:
    find(page, "#tab-time").click()
    axis = ".card svg text"
    own = texts(page, axis)
    find(page, "[data-key=time-shared]").send_keys(Keys.SPACE)
    shared = texts(page, axis)
    assert own != shared
    assert len({label for label in shared if "%" in label}) == 1
    assert page.switch_to.active_element.get_attribute("data-key") == "time-shared"


def test_all_numbers_over_time_are_in_a_table(page: Any, parts: dict[str, Any]) -> None:
    find(page, "#tab-time").click()
    assert all_of(page, "#panel-time table") == [], "made when it is opened"
    find(page, "[data-key=fold-time-table]").click()
    rows = wait(lambda: all_of(page, "#panel-time tbody tr"))
    assert len(rows) == N_CLUSTERS
    first = parts["over_time"]["clusters"][0]
    cells = texts(rows[0], "td")
    assert cells[0] == first["trend"]
    assert [int(cell.split("(")[1].rstrip(")")) for cell in cells[1:]] == first["counts"]


def test_groups_show_findings_and_a_heat_map(page: Any, parts: dict[str, Any]) -> None:
    find(page, "#tab-groups").click()
    group = parts["groups"][0]
    assert texts(page, "#panel-groups > ul.findings li") == group["findings"][:8]
    assert texts(page, "table.heat th.value") == AIRLINES
    cells = all_of(page, "table.heat td")
    assert len(cells) == N_CLUSTERS * len(AIRLINES)
    for cell in cells:
        value = group["cells"][int(cell.get_attribute("data-cluster"))][int(cell.get_attribute("data-value"))]
        has_colour = cell.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)"
        assert has_colour == (value["sign"] != 0)
    Select(find(page, "#group-column")).select_by_visible_text("sentiment")
    assert texts(page, "table.heat th.value") == ["good", "bad"]
    assert page.switch_to.active_element.get_attribute("id") == "group-column"


def test_heat_map_is_sorted_by_any_column(page: Any, parts: dict[str, Any]) -> None:
    find(page, "#tab-groups").click()
    cells = parts["groups"][0]["cells"]

    def order() -> list[int]:
        return [int(cell.get_attribute("data-cluster")) for cell in all_of(page, "table.heat td:nth-of-type(1)")]

    find(page, "[data-key=sort-2]").click()
    shares = [cells[cluster][2]["share"] for cluster in order()]
    assert shares == sorted(shares, reverse=True)
    find(page, "[data-key=sort-2]").click()
    assert [cells[cluster][2]["share"] for cluster in order()] == sorted(shares)
    assert find(page, "table.heat th:nth-of-type(6)").get_attribute("aria-sort") == "ascending"
    assert page.switch_to.active_element.get_attribute("data-key") == "sort-2"


def test_cells_of_the_heat_map_are_moved_in_by_arrow_keys_and_list_texts(page: Any, made: CorrectedRun) -> None:
    find(page, "#tab-groups").click()
    page.execute_script("document.querySelector('table.heat td').focus()")
    for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_RIGHT):
        page.switch_to.active_element.send_keys(key)
    cell = page.switch_to.active_element
    assert cell.get_attribute("data-value") == "1"
    assert "95 % interval" in cell.get_attribute("aria-label")
    assert "95 % interval" in find(page, "#panel-tip").text
    assert len(all_of(page, 'table.heat td[tabindex="0"]')) == 1
    cell.send_keys(Keys.ENTER)
    cluster = int(cell.get_attribute("data-cluster"))
    rows = {int(item.get_attribute("data-row")) for item in all_of(page, "#texts-dialog li")}
    assert rows <= set(np.flatnonzero(made.points.clusters == cluster).tolist())
    close_dialog(page)


def test_slider_groups_clusters_in_the_tree_the_list_and_on_the_map(page: Any) -> None:
    find(page, "#tab-tree").click()
    set_slider(page, 4)
    assert find(page, "#panel-tree output").text == "4 of 12"
    find(page, "#tab-map").click()
    assert len(all_of(page, "#clusters li")) == 4
    assert sum(int(count) for count in texts(page, "#clusters .count")) == N_TEXTS
    assert find(page, "#grouping output").text == "4 of 12"
    names = texts(page, "#clusters .name")
    assert any(name.endswith("more") for name in names)
    find(page, "#clusters li").click()
    assert find(page, "#detail h2").text == names[0]
    members = texts(page, "#detail .members li")
    assert find(page, "#detail .meta").text.startswith(f"{len(members)} clusters")
    sizes = [int(member.rsplit("(", 1)[1].rstrip(")")) for member in members]
    assert sum(sizes) == int(texts(page, "#clusters .count")[0])
    assert find(page, "#facts").text.startswith("400 texts in 12 clusters"), "the clusters stay as they are"
    find(page, "#tab-tree").click()
    set_slider(page, 12)
    find(page, "#tab-map").click()
    assert len(all_of(page, "#clusters li")) == 12


def test_slider_follows_the_arrow_keys_and_keeps_the_focus(page: Any) -> None:
    find(page, "#tab-tree").click()
    slider = find(page, "#panel-tree input[type=range]")
    slider.send_keys(Keys.ARROW_LEFT)
    slider.send_keys(Keys.ARROW_LEFT)
    assert slider.get_attribute("aria-valuetext") == "10 of 12"
    assert page.switch_to.active_element == slider
    slider.send_keys(Keys.HOME)
    assert find(page, "#panel-tree output").text == "1 of 12"


def test_named_levels_set_the_grouping(page: Any, parts: dict[str, Any]) -> None:
    find(page, "#tab-tree").click()
    find(page, "#panel-tree [data-level=coarse]").click()
    assert find(page, "#panel-tree [data-level=coarse]").get_attribute("aria-pressed") == "true"
    find(page, "#tab-map").click()
    assert sorted(texts(page, "#clusters .name")) == ["first half", "second half"]
    find(page, "#grouping [data-level=fine]").click()
    assert len(all_of(page, "#clusters li")) == sum(bool(group["rows"]) for group in parts["levels"][2]["groups"])
    assert sum(int(count) for count in texts(page, "#clusters .count")) == N_TEXTS
    find(page, "#tab-tree").click()
    part = find(page, "[role=treeitem][data-node^=part-]")
    name = part.get_attribute("aria-label").split(":")[0]
    part.click()
    assert find(page, "#tree-selection strong").text == name
    find(page, "#tree-selection [data-key=tree-map]").click()
    assert find(page, "#detail h2").text == name
    find(page, "#grouping [data-level=medium]").click()
    assert len(all_of(page, "#clusters li")) == 12


def test_nodes_of_the_tree_are_selected_and_folded_with_the_keyboard(page: Any) -> None:
    find(page, "#tab-tree").click()
    page.execute_script("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
    root = page.switch_to.active_element
    assert root.get_attribute("aria-expanded") == "true"
    root.send_keys(Keys.ENTER)
    assert f"12 clusters, {N_TEXTS} texts" in find(page, "#tree-selection").text
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert len(all_of(page, "#panel-tree .bar")) == 1
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert len(all_of(page, "#panel-tree .bar")) == 12
    page.switch_to.active_element.send_keys(Keys.END)
    page.switch_to.active_element.send_keys(Keys.ENTER)
    find(page, "#tree-selection [data-key=tree-map]").click()
    assert len(all_of(page, '#clusters [aria-selected="true"]')) == 1


def test_node_of_the_tree_tells_its_clusters_and_its_texts_are_read(page: Any) -> None:
    find(page, "#tab-tree").click()
    node = all_of(page, "[role=treeitem][aria-level='2'] .target + circle")[0]
    assert "texts" in hover(page, node)
    node.click()
    selected = find(page, "#tree-selection").text
    find(page, "#tree-selection [data-key=tree-read]").click()
    assert find(page, "#texts-dialog .meta").text in selected
    close_dialog(page)


def test_tree_of_many_clusters_folds_small_subtrees(browser: Any, finished_run: Path, tmp_path: Path) -> None:
    run = make_run(CorrectedRun.read(finished_run), 200, 800)
    browser.get(write_made_page(tmp_path / "many.html", run).as_uri())
    find(browser, "#tab-tree").click()
    assert len(all_of(browser, "#panel-tree .bar")) == 60
    find(browser, "[data-key=unfold-all]").click()
    assert len(all_of(browser, "#panel-tree .bar")) == 200
    set_slider(browser, 20)
    find(browser, "[data-key=fold-groups]").click()
    assert len(all_of(browser, "#panel-tree .bar")) == 20


def test_confusions_are_told_most_frequent_first(page: Any, made: CorrectedRun) -> None:
    find(page, "#tab-truth").click()
    truth = made.summary.truth
    assert truth is not None
    matrix = np.array(truth.matrix)
    off_diagonal = matrix.copy()
    np.fill_diagonal(off_diagonal, 0)
    i, j = np.unravel_index(off_diagonal.argmax(), matrix.shape)
    first = find(page, "#panel-truth ol li").text
    assert first.startswith(f"{matrix[i, j]} text")
    assert f"of class “{truth.classes[i]}”" in first
    counts = [int(text.split()[0]) for text in texts(page, "#panel-truth ol li")]
    assert counts == sorted(counts, reverse=True)


def test_cell_of_the_confusion_matrix_tells_class_cluster_count_and_share(page: Any, made: CorrectedRun) -> None:
    find(page, "#tab-truth").click()
    truth = made.summary.truth
    assert truth is not None
    cells = find(page, "#matrix-cells")
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", cells)
    settled(page)  # scrolling hides the tooltip
    cells.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    spoken = find(page, "#matrix-cell").get_attribute("textContent")
    count = truth.matrix[1][1]
    assert f"{count} texts of class “{truth.classes[1]}” are in cluster “{made.summary.clusters[1].name}”" in spoken
    assert f"{100 * count / sum(truth.matrix[1]):.1f} % of the class" in spoken
    assert ", ".join(find(page, "#panel-tip").text.split("\n")) == spoken
    cells.send_keys(Keys.ENTER)
    assert find(page, "#texts-dialog h2").text == made.summary.clusters[1].name
    close_dialog(page)


def test_confusion_matrix_is_zoomed_and_its_names_stay_in_place(page: Any) -> None:
    find(page, "#tab-truth").click()
    page.execute_script(
        "const zoom = document.getElementById('matrix-zoom'); zoom.value = 40; zoom.dispatchEvent(new Event('input'))"
    )
    assert find(page, "#matrix-cells").size["width"] == 40 * N_CLUSTERS
    sticky = "return getComputedStyle(document.querySelector(arguments[0])).position"
    assert {page.execute_script(sticky, name) for name in (".row-names", ".column-names")} == {"sticky"}


def test_large_confusion_matrix_opens_quickly(browser: Any, finished_run: Path, tmp_path: Path) -> None:
    run = make_run(CorrectedRun.read(finished_run), 150, 3000, 150)
    browser.get(write_made_page(tmp_path / "large.html", run).as_uri())
    seconds = browser.execute_script(
        "const start = performance.now(); document.getElementById('tab-truth').click();"
        "document.body.offsetHeight; return (performance.now() - start) / 1000"
    )
    assert seconds < 5, "a table of as many cells takes longer, on a busy machine as well"


def test_classes_are_sorted_by_recall_and_precision(page: Any, made: CorrectedRun) -> None:
    find(page, "#tab-truth").click()
    matrix = np.array(made.summary.truth.matrix)  # type: ignore[union-attr]
    recall = matrix.diagonal() / matrix.sum(1)
    find(page, "[data-key=sort-recall]").click()
    shown = [float(text.split()[0]) for text in texts(page, "#class-table td:nth-child(4)")]
    assert shown == pytest.approx(sorted(100 * recall, reverse=True), abs=0.06)


def test_printed_page_is_a_report_without_controls(page: Any, made: CorrectedRun, parts: dict[str, Any]) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page.execute_async_script("setTimeout(arguments[0], 200)")  # the page is told that it is printed
        printed = find(page, "#print").text
        assert len(all_of(page, "#print tbody tr")) == N_CLUSTERS
        entry = made.summary.clusters[0]
        for words in (entry.name, str(entry.size), ", ".join(entry.keywords), entry.typical[0], entry.typical[1]):
            assert words in printed
        for words in ("Over time", parts["over_time"]["clusters"][0]["sentence"], parts["groups"][0]["findings"][0]):
            assert words in printed
        assert not any(find(page, part).is_displayed() for part in ("nav", "main", "#search", "#export-do"))
        assert find(page, "#title").is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")


@pytest.mark.parametrize("tab", ["time", "groups", "tree", "truth", "made"])
def test_tab_needs_no_horizontal_scrolling_on_a_phone(
    tab: str, open_browser: Callable[..., Any], file: Path, phone: Any
) -> None:
    phone.get(file.as_uri())
    find(phone, f"#tab-{tab}").click()
    assert phone.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert phone.get_log("browser") == []


@pytest.fixture(scope="module")
def phone(open_browser: Callable[..., Any]) -> Any:
    return open_browser(PHONE)


CONTRASTS = """
const luminance = (rgb) => rgb.slice(0, 3).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const parse = (text) => { const v = text.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]).concat(1);
const backOf = (element) => {
  const back = parse(getComputedStyle(element).backgroundColor);
  return back[3] === 1 || !element.parentElement ? back : over(back, backOf(element.parentElement));
};
const found = [];
for (const element of document.querySelectorAll(`#panel-${arguments[0]} *`)) {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!text || !element.getClientRects().length || element.closest("button:disabled")) continue;
  const style = getComputedStyle(element), isSvg = element instanceof SVGElement;
  const ink = over(parse(isSvg ? style.fill : style.color), backOf(element)), back = backOf(element);
  const [a, b] = [luminance(ink), luminance(back)].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${element.tagName} ${element.textContent.slice(0, 40)}`);
}
return found;
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_enough_contrast(page: Any, theme: str) -> None:
    page.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    for tab in ("time", "groups", "tree", "truth", "made"):
        find(page, f"#tab-{tab}").click()
        assert page.execute_script(CONTRASTS, tab) == []


def test_interactive_elements_have_names(page: Any) -> None:
    for tab in ("time", "groups", "tree", "truth", "made"):
        find(page, f"#tab-{tab}").click()
        for element in all_of(page, f"#panel-{tab} :is(button, input, select, summary, [role=slider], [role=tree])"):
            assert element.accessible_name.strip(), element.get_attribute("outerHTML")
