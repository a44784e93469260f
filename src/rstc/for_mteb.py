"""Deprecated: the former place of `rstc.integrations.mteb`."""

from __future__ import annotations

import warnings

from rstc.integrations.mteb import RSTCEncoder

warnings.warn("rstc.for_mteb was moved to rstc.integrations.mteb", DeprecationWarning, stacklevel=2)

__all__ = ["RSTCEncoder"]
