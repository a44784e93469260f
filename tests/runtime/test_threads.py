"""Work in threads: order, numbers of threads, and warnings."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from rstc.runtime.threads import draw_generators, limit_library_threads, parallel_map


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_parallel_map_keeps_the_order_and_restores_torch_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen = set()

        def work(item: int) -> int:
            seen.add((threading.get_ident() == threading.main_thread().ident, torch.get_num_threads()))
            return item * item

        assert parallel_map(work, range(50)) == [item * item for item in range(50)]
        assert seen == {(False, 1)}
        assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError):
            parallel_map(lambda item: 1 // item, [1, 0, 2])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_nested_parallel_map_is_a_loop() -> None:
    def outer(item: int) -> list[int]:
        return parallel_map(lambda inner: item * inner, [1, 2, 3])

    assert parallel_map(outer, [1, 10]) == [[1, 2, 3], [10, 20, 30]]


def test_parallel_map_limits_blas_to_one_thread_and_restores_it() -> None:
    before, threads = blas_threads(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert parallel_map(lambda _: blas_threads(), range(4)) == [{1}] * 4
    finally:
        torch.set_num_threads(threads)
    assert blas_threads() == before


def test_limit_ends_with_the_block() -> None:
    before = blas_threads()
    with limit_library_threads("blas"):
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_warning_filters_are_as_before_whatever_the_threads_do() -> None:
    barrier, threads, before = threading.Barrier(2, timeout=10), torch.get_num_threads(), list(warnings.filters)

    def suppress(leaves_first: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            barrier.wait()
            if not leaves_first:
                barrier.wait()
        if leaves_first:
            barrier.wait()

    torch.set_num_threads(2)
    try:
        parallel_map(suppress, [True, False])
    finally:
        torch.set_num_threads(threads)
    assert warnings.filters == before


def test_generators_follow_from_the_state_alone() -> None:
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    second.spawn(3)
    assert [rng.random() for rng in draw_generators(first, 2)] == [rng.random() for rng in draw_generators(second, 2)]
