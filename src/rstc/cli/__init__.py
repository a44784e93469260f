"""The command line `rstc`: each command parses, calls one public function, and shows what came of it."""

from rstc.cli.app import main

__all__ = ["main"]
