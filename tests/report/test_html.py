"""The page as a file: its security policy, its content, and that a text stays a text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rstc.report.html.render import PACKED_NO_CLUSTER, render_page
from rstc.results.corrected_run import CorrectedRun

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \u2028 ]]>"


@pytest.fixture
def run(finished_run: Path) -> CorrectedRun:
    return CorrectedRun.read(finished_run)


def with_texts(run: CorrectedRun, text: str) -> CorrectedRun:
    return CorrectedRun(run.summary, replace(run.points, texts=[text] * len(run.points.texts)))


def test_policy_allows_only_the_pages_own_script_and_style(run: CorrectedRun) -> None:
    html = render_page(run)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    for kind, part in (("script", script), ("style", style)):
        checksum = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{checksum}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_page_needs_no_network(run: CorrectedRun) -> None:
    html = render_page(run)
    assert set(re.findall(r"https?://[^\s\"'<]*", html)) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"<(link|img|iframe|object)\b|@import|url\(", html)


def test_text_with_markup_stays_a_text(run: CorrectedRun) -> None:
    plain, hostile = render_page(run), render_page(with_texts(run, HOSTILE))
    assert hostile.count("<script") == plain.count("<script")
    assert "<img" not in hostile
    blocks = re.findall(r'class="texts">(.*?)</script>', hostile, re.DOTALL)
    assert [text for block in blocks for text in json.loads(block)] == [HOSTILE] * 120


def test_page_of_few_texts_is_small(run: CorrectedRun) -> None:
    assert len(render_page(run)) < 260_000


def test_nan_and_infinity_become_null(run: CorrectedRun) -> None:
    run.summary = replace(run.summary, losses=[[float("nan"), float("inf")]])
    assert '"losses": [[null, null]]' in render_page(run)


def test_clusters_are_packed(run: CorrectedRun) -> None:
    packed = re.search(r'id="array-cluster">([^<]*)<', render_page(run))[1]
    assert np.frombuffer(base64.b64decode(packed), "<u4").tolist() == run.points.clusters.tolist()


def test_page_shows_corrections(run: CorrectedRun) -> None:
    run.correct({"do": "rename", "cluster": 0, "name": "Where is my parcel?"})
    run.correct({"do": "noise", "rows": [3]})
    html = render_page(run)
    assert "Where is my parcel?" in html
    packed = re.search(r'id="array-cluster">([^<]*)<', html)[1]
    assert np.frombuffer(base64.b64decode(packed), "<u4")[3] == PACKED_NO_CLUSTER
