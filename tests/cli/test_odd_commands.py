"""Odd files, options, addresses and environments: a result, or one sentence and exit code 2; never a traceback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click import unstyle
from typer.testing import CliRunner

from rstc.cli.app import app
from rstc.config import SETTINGS
from rstc.errors import InputError, describe_system_error

LONG = "x" * 300
CLUSTER = ["cluster", "tickets.csv", "--text-column", "text", "--out", "out", "--no-cache"]

# The words of each command, and what the message has to hold. Files are those of the fixture `folder`.
REFUSED: dict[str, tuple[list[str], str]] = {
    "an empty file": (["cluster", "empty.csv", "--out", "out"], "is empty"),
    "a byte order mark alone": (["cluster", "mark.csv", "--out", "out"], "is empty"),
    "a header alone": (["cluster", "header.csv", "--out", "out"], "holds no rows"),
    "a file of NUL bytes": (["cluster", "nul.csv", "--out", "out"], "nul.csv"),
    "a file without a header": (["cluster", "headless.csv", "--out", "out"], "give --no-header"),
    "a workbook that is a text": (["cluster", "text.xlsx", "--out", "out"], "cannot be read as xlsx"),
    "a Parquet file that is a text": (["cluster", "text.parquet", "--out", "out"], "cannot be read as parquet"),
    "a folder as a file": (["cluster", "folder.csv", "--out", "out"], "is a folder"),
    "a pipe without a writer": (["cluster", "pipe.csv", "--out", "out"], "not a regular file"),
    "a socket": (["cluster", "socket.csv", "--out", "out"], "not a regular file"),
    "a device": (["cluster", "/dev/zero", "--format", "txt", "--out", "out"], "not a regular file"),
    "the memory of the process": (["cluster", "/proc/self/mem", "--format", "txt", "--out", "out"], "cannot be read"),
    "a very long name": (["cluster", f"{LONG}.csv", "--out", "out"], "File name too long"),
    "a very long output": (["cluster", "tickets.csv", "--text-column", "text", "--out", LONG], "File name too long"),
    "a name of two lines": (["cluster", "no\nsuch.csv", "--out", "out"], "there is no file no such.csv"),
    "a name with escape codes": (["cluster", "\x1b[31mred.csv", "--out", "out"], "red.csv"),
    "a name with a NUL byte": (["cluster", "a\0b.csv", "--out", "out"], "a"),
    "an empty name": (["cluster", "", "--out", "out"], "is empty"),
    "an empty output": (["predict", "run", "tickets.csv", "--out", ""], "is a folder"),
    "an output at an address": ([*CLUSTER[:4], "--out", "s3://bucket/run"], "is an address"),
    "figures at an address": (["figures", "run", "--out", "gs://bucket/figures"], "is an address"),
    "http without a network": (["cluster", "http://127.0.0.1:9/a.csv", "--out", "out"], "cannot be reached"),
    "an unknown protocol": (["cluster", "nosuch://a/b.csv", "--out", "out"], "cannot be reached"),
    "a store that is not installed": (["cluster", "dropbox://a/b.csv", "--out", "out"], "cannot be reached"),
    "an address that is none": (["cluster", "https://", "--format", "csv", "--out", "out"], "https://"),
    "a missing file at an address": (["cluster", "file:///no/such.csv", "--out", "out"], "there is no file"),
    "predict: a pattern that matches nothing": (
        ["predict", "run", "nothing/*.csv", "--out", "many"],
        "there is no file",
    ),
    "predict: a folder without files": (["predict", "run", "folder.csv", "--out", "many"], "there is no file"),
    "predict: an output that is a pipe": (["predict", "run", "tickets.csv", "--out", "pipe.csv"], "not a regular file"),
    "predict: a device as output": (["predict", "run", "tickets.csv", "--out", "/dev/full"], "/dev/full"),
    "predict: an unknown engine": (["predict", "run", "tickets.csv", "--out", "a.csv", "--engine", "spark"], "'spark'"),
    "a format that does not exist": ([*CLUSTER, "--format", "CSV"], "'CSV'"),
    "an encoding that is no text": ([*CLUSTER, "--encoding", "base64"], "base64"),
    "an encoding with a NUL byte": ([*CLUSTER, "--encoding", "utf\0-8"], "utf"),
    "an empty encoding": ([*CLUSTER, "--encoding", ""], "encoding"),
    "a column twice in the views": ([*CLUSTER, "--views", "text,text,text"], "two columns"),
    "a column that is empty": ([*CLUSTER[:2], "--out", "out", "--text-column", ""], "there is no column ''"),
    "a seed that is negative": ([*CLUSTER, "--seed", "-1"], "--seed"),
    "noise that is no number": ([*CLUSTER, "--noise", "nan"], "noise=nan"),
    "a device that does not exist": ([*CLUSTER, "--clusters", "2", "--device", "tpu"], "tpu"),
    "a level that does not exist": ([*CLUSTER, "--detail", "FINE"], "detail='FINE'"),
    "a period that does not exist": ([*CLUSTER, "--time", "day", "--every", "minute"], "every='minute'"),
    "a preset of two lines": ([*CLUSTER, "--preset", "a\nb"], "preset="),
    "an option that does not exist": ([*CLUSTER, "--cluster", "3"], "No such option"),
    "an option without a value": ([*CLUSTER, "--clusters"], "requires an argument"),
    "merge: no number": (["merge", "run", "--to", "two"], "--to"),
    "merge: none": (["merge", "run", "--to", "0"], "--to"),
    "merge: other digits": (["merge", "run", "--to", "²"], "--to"),
    "detail: an unknown level": (["detail", "run", "finest"], "finest"),
    "info: a file": (["info", "tickets.csv"], "tickets.csv"),
    "info: a missing folder": (["info", "nothing"], "nothing"),
    "info: a folder of something else": (["info", "folder.csv"], "folder.csv"),
    "report: a truth that does not exist": (["report", "run", "--truth", "no such"], "no such"),
    "evaluate: a missing column": (["evaluate", "tickets.csv", "--truth", "nothing"], "nothing"),
    "evaluate: no column of clusters": (["evaluate", "tickets.csv", "--truth", "topic"], "cluster"),
    "evaluate: a confidence that is none": (
        ["evaluate", "run/clusters.csv", "--truth", "topic", "--confidence-column", "text"],
        "does not hold confidences",
    ),
    "export: into a file": (["export", "run", "--out", "tickets.csv"], "tickets.csv"),
    "figures: into a file": (["figures", "run", "--out", "tickets.csv"], "tickets.csv"),
    "update: an empty file": (["update", "run", "empty.csv"], "is empty"),
    "update: proposals that do not exist": (["update", "run", "--accept", "99"], "99"),
    "update: proposals that are no numbers": (["update", "run", "--accept", "x"], "x"),
    "compare: a column twice": (["compare", "run", "--by", "nothing", "--by", "nothing"], "nothing"),
    "names: a command that does not exist": (["names", "run", "--command", "no-such-program"], "no-such-program"),
    "names: a command that is empty": (["names", "run", "--command", ""], "the command is empty"),
    "names: an open quote": (["names", "run", "--command", "echo 'a"], "cannot be parsed"),
    "names: a function that does not exist": (["names", "run", "--function", "no.such:name"], "no.such:name"),
    "names: an address that is none": (["names", "run", "--url", "file:///etc", "--model", "m"], "file:///etc"),
    "explore: a run that does not exist": (["explore", "nothing", "--no-browser"], "nothing"),
    "explore: a port that is none": (["explore", "run", "--no-browser", "--port", "70000"], "--port"),
    "explore: an address that is none": (["explore", "run", "--no-browser", "--host", "no such"], "no such"),
    "augment: an unknown method": (["augment", "tickets.csv", "--out", "a.csv", "--method", "x" * 99], "x" * 40),
    "augment: a share that is no number": (
        ["augment", "tickets.csv", "--out", "a.csv", "--method", "swap@nan"],
        "swap",
    ),
    "settings: an unknown one": (["settings", "nothing"], "nothing"),
    "an unknown command": (["clusters"], "No such command"),
    **{
        f"{value!r} clusters": ([*CLUSTER, "--clusters", value], "n_clusters=")
        for value in ("0", "-1", "1", "1e9", "nan", "inf", "", " ", "5-3", "5-", "-", "2-2-2", "0x10", "2.5", "²", "½")
    },
    "a billion clusters": ([*CLUSTER, "--clusters", "1000000000"], "1000000000"),
    "a number of a thousand digits": ([*CLUSTER, "--clusters", "9" * 1000], "n_clusters="),
    "a number of ten thousand digits": ([*CLUSTER, "--clusters", "9" * 10_000], "n_clusters="),
}
ACCEPTED: dict[str, list[str]] = {
    "a mark of UTF-8": ["augment", "utf8.csv", "--out", "a.csv"],
    "UTF-16": ["augment", "utf16.csv", "--out", "a.csv"],
    "UTF-32": ["augment", "utf32.csv", "--out", "a.csv"],
    "a name with spaces and quotes": ["augment", 'it\'s "a" file.csv', "--out", "a.csv"],
    "a name of two lines": ["augment", "two\nlines.csv", "--out", "a.csv"],
    "a name that looks like an option": ["augment", "--out", "a.csv", "--", "-k.csv"],
    "a file address": ["augment", "file://{folder}/tickets.csv", "--text-column", "text", "--out", "a.csv"],
    "no header": ["augment", "headless.csv", "--no-header", "--out", "a.csv", "--text-column", "column 2"],
    "a file of the system": ["augment", "/proc/self/status", "--format", "txt", "--out", "a.csv"],
    "an option twice, of which the last one counts": ["settings", "eps2", "--preset", "nothing", "--preset", "paper"],
}


@pytest.fixture(scope="module")
def folder(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder of odd files, and make it the working directory."""
    folder = tmp_path_factory.mktemp("odd")
    shutil.copytree(finished_run, folder / "run")
    shutil.copy(finished_run.parent / "tickets.csv", folder / "tickets.csv")
    table = "id,text\n1,my parcel is late\n2,where is my refund\n"
    for name, content in {
        "empty.csv": b"",
        "mark.csv": b"\xef\xbb\xbf",
        "header.csv": b"id,text\n",
        "nul.csv": bytes(1000),
        "headless.csv": b"17,my parcel is late\n18,where is my refund\n",
        "text.xlsx": table.encode(),
        "text.parquet": table.encode(),
        "utf8.csv": table.encode("utf-8-sig"),
        "utf16.csv": table.encode("utf-16"),
        "utf32.csv": table.encode("utf-32"),
        'it\'s "a" file.csv': table.encode(),
        "two\nlines.csv": table.encode(),
        "-k.csv": table.encode(),
    }.items():
        (folder / name).write_bytes(content)
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe.csv")
    before = Path.cwd()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.csv")
        yield folder
    os.chdir(before)


def run(command: list[str]) -> tuple[int, str]:
    """Run a command in this process as `rstc.cli.entry` does; return its exit code and what it printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(app, command)
    error = result.exception
    if error is None or isinstance(error, SystemExit):
        return result.exit_code, unstyle(result.output)
    message = str(error) if isinstance(error, InputError) else describe_system_error(error)
    if message is None:
        raise error
    return 2, message.replace("\n", " ")


def run_with_limit(command: list[str], seconds: float = 60) -> tuple[int, str]:
    """Run a command, and fail if it takes too long, as one that waits for a pipe does."""
    results: list[tuple[int, str] | BaseException] = []

    def work() -> None:
        try:
            results.append(run(command))
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, f"{command} takes longer than {seconds} s"
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


@pytest.mark.parametrize("case", REFUSED)
def test_odd_command_ends_with_a_sentence_and_code_2(case: str, folder: Path) -> None:
    command, message = REFUSED[case]
    shutil.rmtree("out", ignore_errors=True)
    code, output = run_with_limit(command)
    assert code == 2, output
    assert message in " ".join(output.replace("│", " ").split()), output
    assert not Path("out").exists()


@pytest.mark.parametrize("case", ACCEPTED)
def test_odd_command_that_makes_sense_works(case: str, folder: Path) -> None:
    code, output = run_with_limit([word.format(folder=folder) for word in ACCEPTED[case]])
    assert code == 0, output


ODD_VALUES = (
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "-1",
    "1e999",
    "9" * 400,
    "9" * 5000,
    "2.5",
    "²",
    "true",
    "None",
    "auto",
    "\0",
)


@pytest.mark.parametrize("name", SETTINGS)
def test_odd_values_of_settings_are_refused_or_valid(name: str) -> None:
    from rstc.config import make_config, parse_setting

    for value in ODD_VALUES:
        with contextlib.suppress(InputError):
            config = make_config("default", dict([parse_setting(f"{name}={value}")]))
            chosen = getattr(config, name)
            assert not isinstance(chosen, float) or np.isfinite(chosen), (value, chosen)


def test_other_digits_are_digits(folder: Path) -> None:
    for value in ("٣", "３"):
        code, output = run_with_limit(
            ["cluster", "tickets.csv", "--text-column", "nothing", "-k", value, "--out", "out"]
        )
        assert (code, "'nothing'" in output) == (2, True), "the number is read, and the column is what is wrong"


def test_addresses_are_shown_without_their_secrets(folder: Path) -> None:
    for address in ("ftp://me:secret@127.0.0.1:9/a.csv", "http://127.0.0.1:9/a.csv?signature=secret"):
        code, output = run_with_limit(["cluster", address, "--format", "csv", "--out", "out"])
        assert code == 2
        assert "127.0.0.1" in output
        assert "secret" not in output


def test_rows_of_a_file_that_ends_in_a_byte_order_mark_stay(folder: Path) -> None:
    assert run_with_limit(["augment", "utf16.csv", "--out", "b.csv"])[0] == 0
    assert pd.read_csv("b.csv")["text"].tolist() == ["my parcel is late", "where is my refund"]
