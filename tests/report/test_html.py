"""The page as a file: what it allows, what it holds, and that a text stays a text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rstc.results.corrected_run import RunNow
from rstc.report.html.render import page

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \u2028 ]]>"


@pytest.fixture
def run(finished_run: Path) -> RunNow:
    return RunNow.read(finished_run)


def with_texts(run: RunNow, text: str) -> RunNow:
    return RunNow(run.summary, replace(run.points, texts=[text] * len(run.points.texts)))


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(run: RunNow) -> None:
    html = page(run)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    for kind, part in (("script", script), ("style", style)):
        checksum = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{checksum}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_nothing_is_asked_of_the_network(run: RunNow) -> None:
    html = page(run)
    assert set(re.findall(r"https?://[^\s\"'<]*", html)) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"<(link|img|iframe|object)\b|@import|url\(", html)


def test_a_text_of_markup_stays_a_text(run: RunNow) -> None:
    plain, hostile = page(run), page(with_texts(run, HOSTILE))
    assert hostile.count("<script") == plain.count("<script")
    assert "<img" not in hostile
    pieces = re.findall(r'class="texts">(.*?)</script>', hostile, re.DOTALL)
    assert [text for piece in pieces for text in json.loads(piece)] == [HOSTILE] * 120


def test_the_page_without_texts_is_small(run: RunNow) -> None:
    assert len(page(run)) < 200_000


def test_numbers_that_json_does_not_have_do_not_stop_it(run: RunNow) -> None:
    run.summary["losses"] = [[float("nan"), float("inf")]]
    assert '"losses": [[null, null]]' in page(run)


def test_numbers_are_packed(run: RunNow) -> None:
    packed = re.search(r'id="array-cluster">([^<]*)<', page(run))[1]
    assert np.frombuffer(base64.b64decode(packed), "<u4").tolist() == run.points.clusters.tolist()


def test_the_page_shows_corrections_that_were_made(run: RunNow) -> None:
    run.correct({"do": "rename", "cluster": 0, "name": "Where is my parcel?"})
    run.correct({"do": "noise", "rows": [3]})
    html = page(run)
    assert "Where is my parcel?" in html
    packed = re.search(r'id="array-cluster">([^<]*)<', html)[1]
    assert np.frombuffer(base64.b64decode(packed), "<u4")[3] == 2**32 - 1
