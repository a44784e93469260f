"""The number of cores that this process may use, and of threads to compute with."""

from __future__ import annotations

import os
from pathlib import Path

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores() -> int:
    """Return the number of cores that this process may use, by its CPU affinity and its container's quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CPU_QUOTA.read_text().split()
        return min(affinity, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no container, or one without a limit
        return affinity


def default_threads() -> int:
    """Return the number of threads to compute with: one per available core, at most OMP_NUM_THREADS.

    Ray and Spark set this variable for their workers, of which several share a machine.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available_cores(), int(limit)) if limit.isdecimal() and int(limit) > 0 else available_cores()
