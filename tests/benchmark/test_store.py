from __future__ import annotations

from pathlib import Path

import pytest

from rstc.benchmark.store import Job, Store
from rstc.errors import InputError

JOB = Job("tweet", "rstc-paper", 2, {"eps2": 0.1, "trainable_layers": "all"})


def test_a_run_comes_back_as_it_was_put_in(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert not store.has(JOB)
    assert store.get(JOB) is None
    store.add(JOB, {"dataset": "tweet", "acc": 71.5})
    assert store.has(JOB)
    assert store.get(JOB) == {"dataset": "tweet", "acc": 71.5}
    assert store.runs() == [{"dataset": "tweet", "acc": 71.5}]


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
