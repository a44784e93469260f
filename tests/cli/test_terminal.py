"""What comes from files, models and answers never controls the terminal: real commands with hostile content."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.table import Table

from fork_server import run_rstc
from rstc.cli.terminal import CleanConsole, CleanFormatter
from rstc.results.edits import EditLog, write_log

# Colours, screen, title, clipboard, link, bell, C1 controls, reordering, tags, markup and emoji codes.
HOSTILE = (
    "\x1b[31m\x1b[2J\x1b]0;t\x07\x1b]52;c;cm0=\x07\x1b]8;;http://x\x1b\\\x9b5m\u202eevil\u2066\U000e0041[red]b[/red]"
)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def assert_harmless(shown: str) -> None:
    found = UNSAFE.search(shown.replace("\r\n", "\n"))
    assert not found, shown[max(found.start() - 80, 0) : found.end() + 80]


@pytest.fixture(scope="module")
def hostile_run(
    texts_and_topics: tuple[list[str], list[str]], tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run on a file whose name, columns, texts and groups are hostile, with a hostile name given to a cluster."""
    folder = tmp_path_factory.mktemp("hostile") / f"dir{HOSTILE.replace('/', '')}"
    folder.mkdir()
    texts, topics = texts_and_topics
    file = folder / f"tickets{HOSTILE.replace('/', '')}.jsonl"
    rows = {f"text{HOSTILE}": [f"{text} {HOSTILE}" for text in texts], f"by{HOSTILE}": [t + HOSTILE for t in topics]}
    pd.DataFrame(rows).to_json(file, orient="records", lines=True)
    options = [f"--set={name}" for name in (f"encoder={tiny_encoder}", "training=always", "max_steps=4", "repeats=2")]
    text_column = f"--text-column=text{HOSTILE}"
    done = run_rstc("-v", "cluster", file, "-k", 4, text_column, *options, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    assert_harmless(done.stdout + done.stderr)
    names = [{"do": "rename", "cluster": cluster, "name": f"n{cluster} {HOSTILE}"} for cluster in range(4)]
    write_log(folder / "run", EditLog(tuple(names)))
    return folder / "run"


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "{run}"],
        ["info", "{run}", "--all"],
        ["names", "{run}"],
        ["names", "{run}", "--command", f"cat {HOSTILE}", "--dry-run"],
        ["names", "{run}", "--function", HOSTILE],
        ["compare", "{run}", "--by", f"by{HOSTILE}"],
        ["compare", "{run}", "--time", f"by{HOSTILE}"],
        ["compare", "{run}", "--by", HOSTILE],
        ["report", "{run}", "--truth", f"by{HOSTILE}"],
        ["report", "{run}", "--truth", HOSTILE],
        ["merge", "{run}", "--to", "3"],
        ["apply", "{run}"],
        ["detail", "{run}", HOSTILE],
        ["update", "{run}", f"missing {HOSTILE}.csv"],
        ["cluster", f"missing {HOSTILE}.csv", "--out", "x"],
        ["predict", "{run}", f"missing {HOSTILE}.csv", "--out", "x.csv"],
        ["evaluate", "{run}/clusters.jsonl", "--truth", f"by{HOSTILE}"],
        ["info", f"no run {HOSTILE}"],
        [HOSTILE],
        [f"--{HOSTILE}"],
        ["info", "{run}", HOSTILE],
        ["merge", "{run}", "--to", HOSTILE],
        ["settings", HOSTILE],
    ],
    ids=lambda arguments: " ".join(a if a.isascii() and a.isprintable() else "…" for a in arguments),
)
def test_no_command_prints_what_controls_a_terminal(arguments: list[str], hostile_run: Path) -> None:
    done = run_rstc(*(word.replace("{run}", str(hostile_run)) for word in arguments))
    assert done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert_harmless(done.stdout + done.stderr)


def test_an_altered_model_cannot_control_the_terminal_by_its_error(hostile_run: Path, tmp_path: Path) -> None:
    for name in ("format_version", "checksum", "config"):
        content = json.loads((hostile_run / "model" / "model.json").read_text(encoding="utf-8"))
        (tmp_path / "model.json").write_text(json.dumps(content | {name: {HOSTILE: HOSTILE}}))
        done = run_rstc("info", tmp_path)
        assert done.returncode == 2
        assert_harmless(done.stdout + done.stderr)


def test_tables_bars_and_markup_are_shown_as_they_are() -> None:
    console = CleanConsole(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    table = Table(title=f"title {HOSTILE}")
    table.add_column(f"column {HOSTILE}")
    table.add_row(f"cell {HOSTILE} :smile:")
    console.print(table)
    console.print(f"line {HOSTILE}")
    shown = console.file.getvalue()
    assert_harmless(shown)
    assert shown.count("[red]b[/red]") == 4
    assert ":smile:" in shown


def test_logs_and_their_exceptions_are_clean() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        record = logging.LogRecord("rstc", 30, __file__, 1, "%s", (HOSTILE,), sys.exc_info())
    assert_harmless(CleanFormatter("%(message)s").format(record))


def test_an_unexpected_exception_is_printed_clean() -> None:
    script = f"import rstc.cli.app as a\na.app = lambda: [][{HOSTILE!r}]\na.run()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    script = f"import rstc.cli.app as a\ndef f(): raise ValueError({HOSTILE!r})\na.app = f\na.run()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ValueError" in done.stderr
    assert_harmless(done.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_rows_on_a_terminal_are_clean_and_rows_in_a_pipe_are_unchanged(hostile_run: Path) -> None:
    import os
    import pty

    file = next(hostile_run.parent.glob("*.jsonl"))
    command: list[Any] = [sys.executable, "-m", "rstc", "predict", hostile_run, file, "--out", "-"]
    command.append(f"--text-column=text{HOSTILE}")
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\u202eevil" in piped.stdout
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL)
    os.close(follower)
    shown = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:
            break
        if not block:
            break
        shown += block
    os.close(leader)
    assert process.wait() == 0
    assert_harmless(shown.decode())
