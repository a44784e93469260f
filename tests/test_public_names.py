"""The public names of rstc, the deprecated ones, and the cost of importing it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rstc


def test_every_public_name_can_be_imported() -> None:
    for name in rstc.__all__:
        assert getattr(rstc, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = rstc.KMeans


def test_importing_rstc_loads_no_heavy_library() -> None:
    code = "import sys, rstc; print([m for m in ('torch', 'sklearn', 'pandas', 'transformers') if m in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert completed.stdout.strip() == "[]", completed.stderr


def test_former_module_of_the_mteb_encoder_is_deprecated() -> None:
    sys.modules.pop("rstc.for_mteb", None)
    with pytest.warns(DeprecationWarning, match=r"rstc\.for_mteb was moved to rstc\.integrations\.mteb"):
        from rstc.for_mteb import RSTCEncoder
    from rstc.integrations import mteb

    assert RSTCEncoder is mteb.RSTCEncoder
