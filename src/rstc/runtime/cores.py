"""How many cores this process may use, whatever the machine has."""

from __future__ import annotations

import os
from pathlib import Path

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def granted_cores() -> int:
    """Return how many cores this process may use at a time: in a container, fewer than there are."""
    granted = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CPU_QUOTA.read_text().split()
        return min(granted, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no container, or one without a limit
        return granted
