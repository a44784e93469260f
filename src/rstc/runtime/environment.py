"""The package versions and the machine that a result was computed with."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "rstc",
    "torch",
    "transformers",
    "sentence-transformers",
    "scikit-learn",
    "scipy",
    "numpy",
    "pandas",
)


def package_versions() -> dict[str, str]:
    """Return the versions of Python, of rstc and of the packages that it computes with."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}


def describe_machine() -> str:
    """Return the processor, its number of cores and torch's number of threads."""
    import torch

    return f"{platform.machine()} {_cpu_name()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads"


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _cpu_name() -> str:
    """Return the model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
