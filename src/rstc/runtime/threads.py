"""Threads: independent pieces of work in a pool, each on one core, and linear algebra on a single thread.

Many small products are faster side by side than one after the other on all cores, which have to synchronise at every
operation. Beside other processes the difference is large: threads of a product that wait for a core keep the others
waiting. A single thread also adds up in the same order on every machine.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()  # the number of threads of torch and BLAS is global, so only one `parallel_map` may change it
Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _find_thread_pools() -> ThreadpoolController:
    """Find the thread pools of this process, once: to list its libraries takes longer than a small computation."""
    import scipy.linalg  # noqa: F401  # has a BLAS of its own, which is not found before it is loaded
    import sklearn.cluster  # noqa: F401  # loads OpenMP

    return ThreadpoolController()


@contextmanager
def limit_library_threads(library: str) -> Iterator[None]:
    """Let a library compute on one thread inside the block.

    Parameters
    ----------
    library : {"blas", "openmp"}
        BLAS: the linear algebra of numpy and scipy. OpenMP: scikit-learn, in the calling thread only.
    """
    with _find_thread_pools().limit(limits=1, user_api=library):
        yield


def draw_generators(rng: np.random.Generator, n: int) -> list[np.random.Generator]:
    """Draw n generators, one for each piece of work, so that no result depends on the order in which threads run.

    Unlike `rng.spawn`, which counts its children beside the state, it gives the same generators wherever the state of
    `rng` is the same: in a resumed run, and in all processes of a distributed one.
    """
    return [np.random.default_rng(seed) for seed in rng.integers(2**63, size=n)]


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply a function to each item in a pool of threads, each of which computes on one core.

    A call inside another one, or while another thread runs one, is a plain loop.

    Parameters
    ----------
    function : callable
        Called with each item.
    items : sequence
        The arguments.

    Returns
    -------
    list
        The results in the order of the items.
    """
    if not _lock.acquire(blocking=False):
        return [function(item) for item in items]
    n_threads = torch.get_num_threads()
    try:
        # Functions that suppress warnings change the global filters, in threads in any order: all are restored here.
        with warnings.catch_warnings(), limit_library_threads("blas"):
            if n_threads == 1:
                return [function(item) for item in items]
            # A single item, too, is computed on one thread: on two, its sums would be rounded differently.
            with ThreadPoolExecutor(n_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                return list(pool.map(function, items))
    finally:
        torch.set_num_threads(n_threads)
        _lock.release()
