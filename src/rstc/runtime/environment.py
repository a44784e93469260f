"""The package versions, the source code and the machine that a result was computed with."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
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


def hash_source() -> str:
    """Return the sha256 of the package's Python files: their paths and contents, in the order of the paths."""
    folder, digest = _package_folder(), hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def find_commit() -> str | None:
    """Return the git commit of the package's source, with "+" if its files differ from it; None outside a checkout."""
    try:
        commit = _run_git("rev-parse", "HEAD").strip()
        is_tracked = bool(_run_git("ls-files", ".").strip())  # not a package installed inside another project
        return commit + ("+" if _run_git("status", "--porcelain", ".").strip() else "") if is_tracked else None
    except (OSError, subprocess.SubprocessError):
        return None


def _run_git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=_package_folder(), capture_output=True, text=True, check=True, timeout=30).stdout


def _package_folder() -> Path:
    return Path(__file__).parent.parent


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
