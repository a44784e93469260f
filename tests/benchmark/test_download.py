"""Downloads from a local HTTP server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rstc.benchmark import datasets
from rstc.benchmark.datasets import compute_checksum, read_table
from rstc.benchmark.download import download_dataset, parse_published_file
from rstc.errors import InputError

PUBLISHED = 'label,text,_,text1,text2\n3,"late, again",,too late,late\n7,where is it,,where,is it\n'


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serve a folder by HTTP as the public address of the data set `tweet`."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tweet = replace(
            datasets.DATASETS["tweet"],
            url=f"http://127.0.0.1:{server.server_port}/tweet.csv",
            checksum=compute_checksum(parse_published_file(PUBLISHED)),
        )
        monkeypatch.setitem(datasets.DATASETS, "tweet", tweet)
        yield folder
        server.shutdown()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_data_set_is_downloaded_once(served: Path, tmp_path: Path) -> None:
    (served / "tweet.csv").write_text(PUBLISHED)
    assert download_dataset("tweet", tmp_path / "sets")
    assert read_table("tweet", tmp_path / "sets")["text"].tolist() == ["late, again", "where is it"]
    (served / "tweet.csv").unlink()
    assert not download_dataset("tweet", tmp_path / "sets")


def test_file_with_other_rows_raises_and_is_not_kept(served: Path, tmp_path: Path) -> None:
    (served / "tweet.csv").write_text(PUBLISHED.replace("late", "early"))
    with pytest.raises(InputError, match="no longer holds the data set Tweet"):
        download_dataset("tweet", tmp_path / "sets")
    assert not (tmp_path / "sets").exists()


def test_incomplete_file_is_downloaded_again(served: Path, tmp_path: Path) -> None:
    (served / "tweet.csv").write_text(PUBLISHED)
    (tmp_path / "tweet.csv").write_text("label,text\n3,late\n")
    assert download_dataset("tweet", tmp_path)
    assert len(read_table("tweet", tmp_path)) == 2


def test_missing_file_on_the_server_raises(served: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"Tweet cannot be downloaded from http.* \(File not found\); without a network, copy"
    ):
        download_dataset("tweet", tmp_path)


def test_unreachable_server_raises(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreachable = replace(datasets.DATASETS["tweet"], url="http://127.0.0.1:9/tweet.csv")
    monkeypatch.setitem(datasets.DATASETS, "tweet", unreachable)
    with pytest.raises(
        InputError, match="without a network, copy the data sets' files into a folder and name it with --data"
    ):
        download_dataset("tweet", tmp_path)
