"""The number of threads that this process computes with."""

from __future__ import annotations

import pytest

from rstc.runtime.cores import available_cores, default_threads


@pytest.mark.parametrize(("limit", "expected"), [("1", 1), ("100000", None), ("0", None), ("4,2", None), ("", None)])
def test_threads_are_the_cores_or_fewer_if_the_environment_says_so(
    limit: str, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert default_threads() == (expected or available_cores())
