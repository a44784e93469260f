from __future__ import annotations

from pathlib import Path

import pytest

from rstc.benchmark.store import Job, Store
from rstc.errors import InputError

JOB = Job("tweet", "rstc-paper", 2, {"eps2": 0.1, "trainable_layers": "all"})
RUN = {"dataset": "tweet", "method": "rstc-paper", "seed": 2, "changes": {}, "settings": {"encoder": "é"}, "acc": 71.5}


def test_a_run_comes_back_as_it_was_put_in(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert not store.has(JOB)
    assert store.get(JOB) is None
    store.add(JOB, RUN)
    assert store.has(JOB)
    assert store.get(JOB) == RUN
    assert store.runs() == [RUN]


def test_the_path_tells_set_method_changes_and_seed() -> None:
    assert JOB.path == Path("tweet/rstc-paper+eps2=0.1+trainable_layers=all/2.json")


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(TypeError):
        store.add(JOB, {"dataset": object()})
    assert not store.has(JOB)
    assert not list(tmp_path.rglob("*.json*"))


def test_a_file_that_is_no_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / JOB.path
    path.parent.mkdir(parents=True)
    path.write_text("{half")
    with pytest.raises(InputError, match=r"2\.json is no run of the benchmark .* delete it"):
        Store(tmp_path).runs()


def test_any_value_of_a_setting_can_be_part_of_the_name(tmp_path: Path) -> None:
    store, job = Store(tmp_path), Job("tweet", "sbert", 0, {"encoder": "org/a model+b"})
    store.add(job, RUN)
    assert store.runs() == [RUN]
    assert job.path.parent.name == "sbert+encoder=org%2Fa%20model%2Bb"


def test_json_that_is_no_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / JOB.path
    path.parent.mkdir(parents=True)
    path.write_text('{"dataset": "tweet"}')
    with pytest.raises(InputError, match="is no run of the benchmark"):
        Store(tmp_path).runs()
