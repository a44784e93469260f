"""What `import rstc` offers, and that it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rstc


def test_every_public_name_is_there() -> None:
    for name in rstc.__all__:
        assert getattr(rstc, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = rstc.KMeans


def test_importing_rstc_loads_nothing_heavy() -> None:
    code = "import sys, rstc; print([m for m in ('torch', 'sklearn', 'pandas', 'transformers') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
