"""Fetching, from a real server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rstc.benchmark import datasets
from rstc.benchmark.datasets import checksum_of, read
from rstc.benchmark.download import fetch, parse
from rstc.errors import InputError

PUBLISHED = 'label,text,_,text1,text2\n3,"late, again",,too late,late\n7,where is it,,where,is it\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A public home of the set `tweet`: the folder that a server on this machine shows."""
    folder = tmp_path / "home"
    folder.mkdir()
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tweet = replace(
            datasets.DATASETS["tweet"],
            address=f"http://127.0.0.1:{server.server_port}/tweet.csv",
            checksum=checksum_of(parse(PUBLISHED)),
        )
        monkeypatch.setitem(datasets.DATASETS, "tweet", tweet)
        yield folder
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_a_set_is_fetched_once(home: Path, tmp_path: Path) -> None:
    (home / "tweet.csv").write_text(PUBLISHED)
    assert fetch("tweet", tmp_path / "sets")
    assert read("tweet", tmp_path / "sets")["text"].tolist() == ["late, again", "where is it"]
    (home / "tweet.csv").unlink()
    assert not fetch("tweet", tmp_path / "sets")


def test_what_is_not_the_set_is_refused_and_not_kept(home: Path, tmp_path: Path) -> None:
    (home / "tweet.csv").write_text(PUBLISHED.replace("late", "early"))
    with pytest.raises(InputError, match="is no longer the set Tweet"):
        fetch("tweet", tmp_path / "sets")
    assert not (tmp_path / "sets").exists()


def test_a_broken_file_is_fetched_again(home: Path, tmp_path: Path) -> None:
    (home / "tweet.csv").write_text(PUBLISHED)
    (tmp_path / "tweet.csv").write_text("label,text\n3,late\n")
    assert fetch("tweet", tmp_path)
    assert len(read("tweet", tmp_path)) == 2


def test_a_home_that_is_gone_is_said_in_one_sentence(home: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"Tweet cannot be fetched from http.* \(File not found\); without a network, copy"
    ):
        fetch("tweet", tmp_path)


def test_no_network_is_said_in_one_sentence(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = replace(datasets.DATASETS["tweet"], address="http://127.0.0.1:9/tweet.csv")
    monkeypatch.setitem(datasets.DATASETS, "tweet", nowhere)
    with pytest.raises(
        InputError, match="without a network, copy the sets' files into a folder and name it with --data"
    ):
        fetch("tweet", tmp_path)
