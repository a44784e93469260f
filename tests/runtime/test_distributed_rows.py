"""Rows that are distributed over processes: their numbers. tests/distributed exchanges rows between real processes."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.distributed_rows import DistributedRows

COUNTS = (3, 0, 5)


def make_rows() -> list[DistributedRows]:
    return [DistributedRows(COUNTS, ProcessGroup(rank, 3)) for rank in range(3)]


def test_processes_share_all_rows_in_the_order_of_their_ranks() -> None:
    assert [rows.local for rows in make_rows()] == [slice(0, 3), slice(3, 3), slice(3, 8)]
    assert {rows.n_rows for rows in make_rows()} == {8}


@pytest.mark.parametrize("step", [1, 2, 3, 7, 20])
def test_every_nth_row_of_all_is_found_by_its_owner(step: int) -> None:
    matrix = np.arange(8)
    parts = [matrix[rows.local][rows.take_every(step)] for rows in make_rows()]
    assert np.concatenate(parts).tolist() == matrix[::step].tolist()


def test_rows_of_a_process_are_counted_from_its_first() -> None:
    assert [rows.to_local(np.array([7, 0, 3])).tolist() for rows in make_rows()] == [[0], [], [4, 0]]


def test_single_process_has_all_rows() -> None:
    rows, values = DistributedRows((4,)), np.array([[1.0], [2.0], [3.0], [4.0]])
    assert rows.fetch(values, np.array([3, 3, 0])).tolist() == [[4], [4], [1]]
    assert rows.find_requested(np.array([[3, 1], [1, 3]])).tolist() == [1, 3]
    assert rows.gather(values) is values
    assert [(first, blocks[0] is values) for first, blocks in rows.iter_blocks(values, None)] == [(0, True)]
