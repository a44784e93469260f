"""The commands around the page, in real processes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from functools import partial
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


@pytest.mark.parametrize("ignores_sigint", [False, True])
def test_explore_serves_until_it_is_interrupted(run_folder: Path, ignores_sigint: bool) -> None:
    """A background shell starts its processes with SIGINT ignored; the server must stop all the same."""
    command = [sys.executable, "-m", "rstc", "explore", str(run_folder), "--no-browser"]
    ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN) if ignores_sigint else None
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=ignore) as server:
        try:
            assert server.stdout
            line = server.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/\S+/", line)[0]
            with urllib.request.urlopen(address, timeout=20) as page:
                assert b"tickets.csv" in page.read()
            token = address.rstrip("/").rsplit("/", 1)[1]
            body = json.dumps({"do": "rename", "cluster": 0, "name": "mine"}).encode()
            edit = urllib.request.Request(f"{address}edits", body, {"X-Token": token})
            urllib.request.urlopen(edit, timeout=20).close()
            server.send_signal(signal.SIGINT)
            stdout, stderr = server.communicate(timeout=20)
        finally:
            server.kill()
    assert server.returncode == 0, stderr
    assert "1 corrections in" in stdout
    assert "rstc apply" in stdout
    assert token not in stderr
    assert read_log(run_folder).edits == ({"do": "rename", "cluster": 0, "name": "mine"},)
    assert '"mine"' in (run_folder / "report.html").read_text(encoding="utf-8")


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
