"""Environment variables for the threads of the libraries that compute, to be set before these are imported."""

from __future__ import annotations

import os

from rstc.runtime.cores import available_cores


def set_thread_environment() -> None:
    """Set how OpenMP's threads wait and how many there are, unless the user has set it.

    After each operation the threads of OpenMP wait for the next one. By default they do so in a loop that keeps their
    core busy, for milliseconds. If another process needs the cores, a thread that works is not scheduled while one that
    waits uses up its time, and training becomes several times slower. `OMP_WAIT_POLICY=PASSIVE` makes waiting threads
    sleep. GNU's OpenMP (torch on Linux) and LLVM's and Intel's (torch elsewhere) read it, once, when they are loaded.

    The libraries count the cores of the machine; in a container with fewer cores, their threads would wait for each
    other. `OMP_NUM_THREADS` limits them to the cores that this process may use.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    cores = available_cores()
    if cores < (os.cpu_count() or 1):
        os.environ.setdefault("OMP_NUM_THREADS", str(cores))
