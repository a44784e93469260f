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
from rstc.benchmark.datasets import compute_checksum, load, read_table
from rstc.benchmark.download import DownloadOutcome, download_dataset, parse_published_file
from rstc.errors import InputError

PUBLISHED = 'label,text,_,text1,text2\n3,"late, again",,too late,late\n7,where is it,,where,is it\n'

SNIPPETS = "3\tlate again\n7\twhere is it\n3\tlate again\n"
VIEWS = "label,text,text1,text2\n7,Where  is it,where,is it\n3,late again,too late,late\n"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serve a folder by HTTP as the public address of `tweet`, and of `searchsnippets` with views of its own file."""
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
        snippets = replace(
            datasets.DATASETS["searchsnippets"],
            url=f"http://127.0.0.1:{server.server_port}/snippets",
            views_url=f"http://127.0.0.1:{server.server_port}/views.csv",
            checksum=compute_checksum(parse_published_file(SNIPPETS)),
        )
        monkeypatch.setitem(datasets.DATASETS, "searchsnippets", snippets)
        yield folder
        server.shutdown()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_data_set_is_downloaded_once(served: Path, tmp_path: Path) -> None:
    (served / "tweet.csv").write_text(PUBLISHED)
    assert download_dataset("tweet", tmp_path / "sets").downloaded
    assert read_table("tweet", tmp_path / "sets")["text"].tolist() == ["late, again", "where is it"]
    (served / "tweet.csv").unlink()
    assert not download_dataset("tweet", tmp_path / "sets").downloaded


def test_file_with_other_rows_raises_and_is_not_kept(served: Path, tmp_path: Path) -> None:
    (served / "tweet.csv").write_text(PUBLISHED.replace("late", "early"))
    with pytest.raises(InputError, match="no longer holds the data set Tweet"):
        download_dataset("tweet", tmp_path / "sets")
    assert not (tmp_path / "sets").exists()


def test_incomplete_file_is_downloaded_again(served: Path, tmp_path: Path) -> None:
    (served / "tweet.csv").write_text(PUBLISHED)
    (tmp_path / "tweet.csv").write_text("label,text\n3,late\n")
    assert download_dataset("tweet", tmp_path).downloaded
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


def test_views_are_joined_by_text(served: Path, tmp_path: Path) -> None:
    (served / "snippets").write_text(SNIPPETS)
    (served / "views.csv").write_text(VIEWS)
    assert download_dataset("searchsnippets", tmp_path) == DownloadOutcome(downloaded=True)
    loaded = load("searchsnippets", tmp_path)
    assert loaded.views_from == "given"
    assert loaded.texts == ["late again", "where is it", "late again"]
    assert loaded.views == (["too late", "where", "too late"], ["late", "is it", "late"])
    assert download_dataset("searchsnippets", tmp_path) == DownloadOutcome(downloaded=False)


def test_texts_are_kept_without_views_that_cannot_be_had_and_get_them_later(served: Path, tmp_path: Path) -> None:
    (served / "snippets").write_text(SNIPPETS)
    outcome = download_dataset("searchsnippets", tmp_path)
    assert outcome.downloaded
    assert "the views of SearchSnippets cannot be downloaded" in outcome.views_problem
    assert load("searchsnippets", tmp_path).views_from == "word deletion"
    (served / "snippets").unlink()
    assert not download_dataset("searchsnippets", tmp_path).downloaded
    (served / "views.csv").write_text(VIEWS)
    assert download_dataset("searchsnippets", tmp_path) == DownloadOutcome(downloaded=True)
    assert load("searchsnippets", tmp_path).views_from == "given"


@pytest.mark.parametrize(
    ("views", "problem"),
    [
        (VIEWS.replace("late again", "other text"), "has no views of 2 of the 3 texts"),
        ("label,text\n3,late again\n", "lacks the column 'text1'"),
    ],
)
def test_views_of_other_texts_are_refused(views: str, problem: str, served: Path, tmp_path: Path) -> None:
    (served / "snippets").write_text(SNIPPETS)
    (served / "views.csv").write_text(views)
    assert problem in download_dataset("searchsnippets", tmp_path).views_problem
    assert load("searchsnippets", tmp_path).views_from == "word deletion"
