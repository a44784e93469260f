from __future__ import annotations

from pathlib import Path

import pytest

from rstc.benchmark.store import Job, Store
from rstc.errors import InputError

JOB = Job("tweet", "rstc-paper", 2, {"eps2": 0.1, "trainable_layers": "all"})
RUN = {"dataset": "tweet", "method": "rstc-paper", "seed": 2, "changes": {}, "settings": {"encoder": "é"}, "acc": 71.5}


def test_stored_run_is_read_back_unchanged(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert not store.has(JOB)
    assert store.get(JOB) is None
    store.add(JOB, RUN)
    assert store.has(JOB)
    assert store.get(JOB) == RUN
    assert store.runs() == [RUN]


def test_path_holds_data_set_method_changes_and_seed() -> None:
    assert JOB.path == Path("tweet/rstc-paper+eps2=0.1+trainable_layers=all/2.json")


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(TypeError):
        store.add(JOB, {"dataset": object()})
    assert not store.has(JOB)
    assert not list(tmp_path.rglob("*.json*"))


def test_invalid_json_raises_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / JOB.path
    path.parent.mkdir(parents=True)
    path.write_text("{half")
    with pytest.raises(InputError, match=r"2\.json is not a run of the benchmark .* delete it"):
        Store(tmp_path).runs()


def test_values_of_settings_are_quoted_in_the_path(tmp_path: Path) -> None:
    store, job = Store(tmp_path), Job("tweet", "sbert", 0, {"encoder": "org/a model+b"})
    store.add(job, RUN)
    assert store.runs() == [RUN]
    assert job.path.parent.name == "sbert+encoder=org%2Fa%20model%2Bb"


def test_json_without_the_keys_of_a_run_raises(tmp_path: Path) -> None:
    path = tmp_path / JOB.path
    path.parent.mkdir(parents=True)
    path.write_text('{"dataset": "tweet"}')
    with pytest.raises(InputError, match="is not a run of the benchmark"):
        Store(tmp_path).runs()
