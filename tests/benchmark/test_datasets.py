from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rstc.benchmark.datasets import DATASETS, WHOLE_SETS, checksum_of, load, read, statistics
from rstc.errors import InputError


def test_the_papers_eight_sets_are_known() -> None:
    assert len(WHOLE_SETS) == 8
    assert all(len(DATASETS[name].checksum) == 64 for name in WHOLE_SETS)


def test_statistics_by_hand() -> None:
    found = statistics(["one two", "three", "four five six", "seven", "eight"], ["a", "a", "a", "a", "b"])
    assert (found.C, found.N, found.A, found.R) == (2, 5, 8 / 5, 4)


def test_the_sample_needs_no_file_and_has_two_views_of_every_text(tmp_path: Path) -> None:
    loaded = load("sample", tmp_path)
    assert loaded.n_classes == 10
    assert loaded.views_from == "word deletion"
    assert all(len(view) == len(loaded.texts) and all(view) for view in loaded.views)
    shorter = sum(len(view) < len(text) for view, text in zip(loaded.views[0], loaded.texts, strict=True))
    assert shorter > len(loaded.texts) / 3
    assert load("sample", tmp_path) == loaded


def test_a_missing_file_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no tweet\.csv in .*: run `rstc benchmark download`"):
        load("tweet", tmp_path)


def test_a_file_with_other_rows_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"label": ["1"], "text": ["late again"]}).to_csv(tmp_path / "tweet.csv", index=False)
    with pytest.raises(InputError, match="does not hold the rows of Tweet"):
        read("tweet", tmp_path)


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["late again"]}).to_csv(tmp_path / "tweet.csv", index=False)
    with pytest.raises(InputError, match="lacks the column 'label'"):
        read("tweet", tmp_path)


def test_an_unknown_set_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no set 'twitter'; the sets are agnews"):
        load("twitter", tmp_path)


def test_the_checksum_is_of_the_rows_and_not_of_the_quoting(tmp_path: Path) -> None:
    table = pd.DataFrame({"label": ["1", "2"], "text": ["late, again", "it's 5\" long"]})
    table.to_csv(tmp_path / "plain.csv", index=False)
    table.to_csv(tmp_path / "quoted.csv", index=False, quoting=1, lineterminator="\r\n")
    sums = {checksum_of(pd.read_csv(tmp_path / name, dtype=str)) for name in ("plain.csv", "quoted.csv")}
    assert sums == {checksum_of(table)}
    assert checksum_of(table.iloc[::-1]) not in sums
