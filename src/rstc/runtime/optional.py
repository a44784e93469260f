"""Import of optional dependencies, which an extra of rstc installs, and of torch where it was left out."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rstc.errors import TORCH_PACKAGES, MissingExtraError, find_system_error


def import_optional(module: str, extra: str) -> Any:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        The extra of rstc that installs it.

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says how to install it.

    Examples
    --------
    >>> import_optional("no_package", "more")
    Traceback (most recent call last):
    rstc.errors.MissingExtraError: no_package is not installed: pip install 'rstc[more]' (in a checkout: -e '.[more]')
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if not isinstance(error, ModuleNotFoundError) and find_system_error(error):
            raise
        raise MissingExtraError(
            f"{package} is not installed: pip install 'rstc[{extra}]' (in a checkout: -e '.[{extra}]')"
        ) from error


def is_torch_installed() -> bool:
    """Return whether torch and the libraries that open a model with it are installed, without importing them."""
    try:
        return all(find_spec(package) is not None for package in TORCH_PACKAGES)
    except ModuleNotFoundError:
        return False
