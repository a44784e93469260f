"""Times of nested stages."""

from __future__ import annotations

import pytest

from rstc.runtime import progress as module
from rstc.runtime.progress import Progress, open_listener


def test_time_of_a_nested_stage_does_not_count_for_the_outer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module.time, "perf_counter", lambda: now)
    progress = Progress()
    with progress.stage("train"):
        now = 2.0
        with progress.stage("renew"):
            now = 5.0
            assert progress.elapsed() == {"train": 2.0, "renew": 3.0}
            now = 6.0
        now = 7.5
    assert progress.seconds == {"train": 3.5, "renew": 4.0}


def test_advance_outside_of_a_stage_is_not_reported() -> None:
    events: list[tuple[str, int, int]] = []
    Progress(lambda *event: events.append(event)).advance(1, 2)
    assert events == []


def test_progress_bar_names_the_stage_and_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    with open_listener(True) as listen:
        assert listen is not None
        listen("encode", 3, 10)
        listen("encode", 10, 10)
        listen("train", 1, 2)
    shown = capsys.readouterr().err
    assert "encoding the texts" in shown
    assert "training" in shown


def test_listeners_are_passed_on_and_nothing_is_shown_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    def own(stage: str, done: int, total: int) -> None: ...

    with open_listener(own) as listen:
        assert listen is own
    for nothing in (None, False):
        with open_listener(nothing) as listen:
            assert listen is None
    assert capsys.readouterr().err == ""
