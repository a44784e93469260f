"""The command line `rstc`: each command parses its options, calls one pipeline and prints the result."""

from rstc.cli.entry import main

__all__ = ["main"]
