"""Runs as the store keeps them, made up for tests of tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MadeUp = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def made_up() -> MadeUp:
    def make(dataset: str, method: str, seed: int = 0, **more: Any) -> dict[str, Any]:
        scores = {"acc": 50.0, "nmi": 60.0, "ari": 40.0, "clusters": 4}
        facts = {"classes": 4, "views": None, "seconds": 10.0, "changes": {}, "settings": {}, "curve": []}
        return {"dataset": dataset, "method": method, "seed": seed, **scores, **facts, **more}

    return make
