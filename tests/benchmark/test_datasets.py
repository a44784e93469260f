from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rstc.benchmark.datasets import DATASETS, PAPER_DATASETS, compute_checksum, compute_statistics, load, read_table
from rstc.errors import InputError


def test_the_paper_has_eight_data_sets() -> None:
    assert len(PAPER_DATASETS) == 8
    assert all(len(DATASETS[name].checksum) == 64 for name in PAPER_DATASETS)


def test_statistics_match_values_computed_by_hand() -> None:
    statistics = compute_statistics(["one two", "three", "four five six", "seven", "eight"], ["a", "a", "a", "a", "b"])
    assert (statistics.C, statistics.N, statistics.A, statistics.R) == (2, 5, 8 / 5, 4)


def test_sample_needs_no_file_and_has_two_views_of_every_text(tmp_path: Path) -> None:
    loaded = load("sample", tmp_path)
    assert loaded.n_classes == 10
    assert loaded.views_from == "word deletion"
    assert all(len(view) == len(loaded.texts) and all(view) for view in loaded.views)
    n_shorter = sum(len(view) < len(text) for view, text in zip(loaded.views[0], loaded.texts, strict=True))
    assert n_shorter > len(loaded.texts) / 3
    assert load("sample", tmp_path) == loaded


def test_missing_file_names_the_download_command(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no tweet\.csv: run `rstc benchmark download`"):
        load("tweet", tmp_path)


def test_file_with_other_rows_raises(tmp_path: Path) -> None:
    pd.DataFrame({"label": ["1"], "text": ["late again"]}).to_csv(tmp_path / "tweet.csv", index=False)
    with pytest.raises(InputError, match="does not hold the rows of Tweet"):
        read_table("tweet", tmp_path)


def test_file_without_labels_raises(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["late again"]}).to_csv(tmp_path / "tweet.csv", index=False)
    with pytest.raises(InputError, match="lacks the column 'label'"):
        read_table("tweet", tmp_path)


def test_unknown_data_set_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown data set 'twitter'; the data sets are agnews"):
        load("twitter", tmp_path)


def test_checksum_does_not_depend_on_quoting_and_line_ends(tmp_path: Path) -> None:
    table = pd.DataFrame({"label": ["1", "2"], "text": ["late, again", "it's 5\" long"]})
    table.to_csv(tmp_path / "plain.csv", index=False)
    table.to_csv(tmp_path / "quoted.csv", index=False, quoting=1, lineterminator="\r\n")
    checksums = {compute_checksum(pd.read_csv(tmp_path / name, dtype=str)) for name in ("plain.csv", "quoted.csv")}
    assert checksums == {compute_checksum(table)}
    assert compute_checksum(table.iloc[::-1]) not in checksums
