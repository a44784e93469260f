"""The versions that a result was made with."""

from __future__ import annotations

import platform
from importlib import metadata

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


def versions() -> dict[str, str]:
    """Return the versions of Python, of rstc and of what it computes with."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}
