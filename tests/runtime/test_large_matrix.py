"""A large matrix lies in a file, and in memory where the disk has no room."""

from __future__ import annotations

import os

import pytest
import torch

from rstc.runtime import large_matrix
from rstc.runtime.large_matrix import LargeMatrix


@pytest.mark.parametrize("limit", [0, 10**6])
def test_values_are_those_that_were_written(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_matrix, "MAX_BYTES_IN_MEMORY", limit)
    matrix = LargeMatrix(5, 3)
    matrix.values[[0, 4]] = torch.arange(6.0).reshape(2, 3)
    matrix.release_pages()
    assert (matrix._mapping is None) == (limit > 0)
    values = matrix.values
    del matrix
    assert values[[0, 4]].tolist() == [[0, 1, 2], [3, 4, 5]], "the mapping outlives the object"


def test_without_room_on_the_disk_it_is_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(large_matrix, "MAX_BYTES_IN_MEMORY", 0)
    monkeypatch.setattr(os, "posix_fallocate", fail)
    matrix = LargeMatrix(2, 2)
    matrix.values[:] = 1
    assert matrix.values.sum() == 4
