"""Run the command line with `python -m rstc`."""

from rstc.cli import main

main()
