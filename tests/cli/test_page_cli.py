"""The commands around the page, in real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from fork_server import run_rstc
from rstc.cli import main
from rstc.results.edits import EditLog, read_log, write_log


def test_report_adds_the_truth(run_folder: Path) -> None:
    (run_folder / "report.html").unlink()
    done = run_rstc("report", run_folder, "--truth", "topic")
    assert done.returncode == 0, done.stderr
    truth = json.loads((run_folder / "summary.json").read_text(encoding="utf-8"))["truth"]
    assert truth["column"] == "topic"
    assert sum(map(sum, truth["matrix"])) == 120
    assert '"acc"' in (run_folder / "report.html").read_text(encoding="utf-8")


def test_names_by_a_function_beside_the_run(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "my_names.py").write_text("def loud(cluster):\n    return cluster['keywords'][0].upper()\n")
    named = run_rstc("names", run_folder, "--function", "my_names:loud", cwd=tmp_path)
    assert named.returncode == 0, named.stderr
    assert len(re.findall(r"^ +\d  [A-Z]+  \(\d+\)$", named.stdout, re.MULTILINE)) == 4
    assert run_rstc("names", run_folder).stdout == named.stdout


def test_merge_goes_coarser(run_folder: Path) -> None:
    done = run_rstc("merge", run_folder, "--to", 2)
    assert done.returncode == 0, done.stderr
    assert "2 clusters in" in done.stdout
    assert pd.read_csv(run_folder / "clusters.csv")["cluster"].nunique() == 2
    refused = run_rstc("merge", run_folder, "--to", 7)
    assert refused.returncode == 2
    assert "there are 2 clusters" in refused.stderr


def test_corrections_are_applied_and_shown_by_info(run_folder: Path) -> None:
    write_log(run_folder, EditLog(({"do": "merge", "cluster": 1, "into": 0}, {"do": "noise", "rows": [0]})))
    applied = run_rstc("apply", run_folder)
    assert applied.returncode == 0, applied.stderr
    assert "2 corrections applied: 3 clusters, 1 texts are noise" in applied.stdout
    assert set(pd.read_csv(run_folder / "clusters.csv")["cluster"]) == {-1, 0, 2, 3}
    told = run_rstc("info", run_folder).stdout
    assert "corrections   2" in told
    assert sum(int(size) for size in re.findall(r"^│ +\d+ │ +(\d+) │", told, re.MULTILINE)) == 119


class Explorer:
    """`rstc explore` in a process of its own."""

    def __init__(self, run: Path, *options: str, ignored: tuple[int, ...] = (), **environment: str) -> None:
        def ignore() -> None:
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        pipe, variables = subprocess.PIPE, {**os.environ, **environment}
        command = [sys.executable, "-m", "rstc", "explore", str(run), *options]
        self.process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, preexec_fn=ignore, env=variables, start_new_session=True
        )
        assert self.process.stdout
        self.address = re.search(r"http://127\.0\.0\.1:\d+/\S+/", self.process.stdout.readline())[0]
        self.token = self.address.rstrip("/").rsplit("/", 1)[1]

    def rename(self, name: str) -> None:
        body = json.dumps({"do": "rename", "cluster": 0, "name": name}).encode()
        edit = urllib.request.Request(f"{self.address}edits", body, {"X-Token": self.token})
        urllib.request.urlopen(edit, timeout=20).close()

    def stop(self, number: int) -> tuple[str, str]:
        try:
            self.process.send_signal(number)
            return self.process.communicate(timeout=20)
        finally:
            self.process.kill()


@pytest.mark.parametrize("ignored", [(), (signal.SIGINT,), (signal.SIGINT, signal.SIGHUP)], ids=["", "shell", "nohup"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_explore_saves_when_it_is_stopped(run_folder: Path, number: int, ignored: tuple[int, ...]) -> None:
    """A background shell starts its processes with SIGINT ignored; the server must stop all the same."""
    explorer = Explorer(run_folder, "--no-browser", ignored=ignored)
    with urllib.request.urlopen(explorer.address, timeout=20) as page:
        assert b"tickets.csv" in page.read()
    explorer.rename("mine")
    stdout, stderr = explorer.stop(number)
    assert explorer.process.returncode == 0, stderr
    assert "1 corrections in" in stdout
    assert "rstc apply" in stdout
    assert explorer.token not in stderr
    assert read_log(run_folder).edits == ({"do": "rename", "cluster": 0, "name": "mine"},)
    assert '"mine"' in (run_folder / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in run_folder.parent.glob(".*")] == []


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="command lines are read from /proc")
def test_no_command_line_holds_the_token(run_folder: Path, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\nstat -c "%a" "${{1#file://}}" > {opened}.new\ncat "${{1#file://}}" >> {opened}.new\n'
        f'echo "$1" >> {opened}.new\nmv {opened}.new {opened}\nsleep 20\n'
    )
    browser.chmod(0o755)
    explorer = Explorer(run_folder, BROWSER=f"{browser} %s &", TMPDIR=str(tmp_path))
    deadline = time.monotonic() + 20
    while not opened.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            assert explorer.token.encode() not in (process / "cmdline").read_bytes()
    mode, *content = opened.read_text().splitlines()
    assert mode == "600"
    assert any(explorer.address in line for line in content), "the file leads to the page"
    file = Path(content[-1].removeprefix("file://"))
    assert file.is_file()
    explorer.stop(signal.SIGTERM)
    assert not file.parent.exists()


def test_figures_are_listed(run_folder: Path, tmp_path: Path) -> None:
    drawn = run_rstc("figures", run_folder, "--out", tmp_path / "pictures")
    assert drawn.returncode == 0, drawn.stderr
    assert len(drawn.stdout.split()) == 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["figures", "{run}", "--out", "{run}/summary.json"], "cannot be written"),
        (["report", "nowhere"], "there is no run in nowhere"),
        (["explore", "nowhere"], "there is no run in nowhere"),
        (["apply", "nowhere"], "there is no run in nowhere"),
        (["report", "{run}", "--truth", "colour"], "there is no column 'colour'"),
        (["names", "{run}", "--function", "nothing"], "expects MODULE:NAME"),
        (["names", "{run}", "--function", "no_such_module:x"], "cannot be imported"),
        (["names", "{run}", "--function", "a:b", "--command", "c"], "cannot be used together"),
        (["explore", "{run}", "--host", "203.0.113.9"], "the server cannot listen on 203.0.113.9"),
    ],
)
def test_mistakes_end_in_one_sentence(
    arguments: list[str],
    said: str,
    run_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["rstc", *(word.replace("{run}", str(run_folder)) for word in arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in told
    assert told.splitlines()[-1].startswith("rstc: ")
    assert "Traceback" not in told
