"""What the tests of the page do in a browser: open it, find elements, wait, press keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


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
    """Wait until pending frames are drawn."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def picture(browser: Any) -> str:
    settled(browser)
    return str(browser.execute_script("return document.getElementById('map').toDataURL()"))


def place_of(browser: Any, row: int) -> tuple[int, int]:
    """Return the offset of a text's point from the middle of the map."""
    box = find(browser, "#map").rect
    x, y = browser.execute_script("return document.getElementById('map').inspect.placeOf(arguments[0])", row)
    return round(x - box["width"] / 2), round(y - box["height"] / 2)


def actions(browser: Any) -> Any:
    from selenium.webdriver import ActionChains

    return ActionChains(browser)


def press(browser: Any, selector: str, *keys: str) -> None:
    find(browser, selector).send_keys(*keys)
