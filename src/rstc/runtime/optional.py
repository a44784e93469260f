"""Packages that come with an extra: imported when they are needed, and named with their extra when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rstc.errors import InputError


def from_extra(module: str, extra: str) -> Any:
    """Return a module of a package that only an extra installs.

    >>> from_extra("no_such_package", "more")
    Traceback (most recent call last):
    rstc.errors.InputError: no_such_package is not installed: pip install 'rstc[more]' (in a checkout: -e '.[more]')
    """
    try:
        return import_module(module)
    except ImportError as problem:
        package = module.partition(".")[0]
        raise InputError(
            f"{package} is not installed: pip install 'rstc[{extra}]' (in a checkout: -e '.[{extra}]')"
        ) from problem
