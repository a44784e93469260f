"""`rstc settings`: every setting that `--set NAME=VALUE` changes."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer


def settings(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Settings to list; all of them by default.")
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="Preset whose values are shown: default or paper.")
    ] = "default",
) -> None:
    """List the settings that `--set NAME=VALUE` changes: value in a preset, allowed values and meaning.

    Examples:

        rstc settings

        rstc settings eps2 noise

        rstc settings --preset paper
    """
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import output
    from rstc.config import SETTINGS, find_setting, make_config

    values = make_config(preset).to_dict()
    entries = [find_setting(name) for name in names] if names else list(SETTINGS.values())
    for group, members in groupby(entries, key=lambda entry: entry.group):
        table = Table("setting", "value", title=group, title_justify="left", expand=True)
        table.add_column("allowed", max_width=24)
        table.add_column("meaning")
        for entry in members:
            table.add_row(*map(Text, (entry.name, str(values[entry.name]), entry.allowed, entry.meaning)))
        output.print(table)
    if not names and preset == "paper":
        output.print("--set imbalance=balanced, light or heavy sets eps2, renewals and contrast_steps; shown: balanced")
