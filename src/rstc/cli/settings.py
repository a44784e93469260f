"""`rstc settings`: every setting that `--set NAME=VALUE` changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rstc.cli.commands import list_commands
from rstc.cli.completion import complete_preset, complete_setting_name
from rstc.cli.documents.files import SettingItem, SettingsDocument

if TYPE_CHECKING:
    from rstc.config import Setting


def settings(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Settings to list; all of them by default.", autocompletion=complete_setting_name
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Preset whose values are shown: default or paper.",
            autocompletion=complete_preset,
        ),
    ] = "default",
    toml: Annotated[
        bool, typer.Option("--toml", help="Print a template of a settings file, rstc.toml, with all defaults.")
    ] = False,
) -> SettingsDocument:
    """List the settings that `--set NAME=VALUE` changes: value in a preset, allowed values and meaning.

    Examples:

        rstc settings

        rstc settings eps2 noise

        rstc settings --preset paper

        rstc settings --toml > rstc.toml
    """
    import sys

    from rstc.cli.display import output
    from rstc.config import SETTINGS, find_setting, make_config

    values = make_config(preset).to_dict()
    entries = [find_setting(name) for name in names] if names else list(SETTINGS.values())
    template = None
    if toml:
        from rstc.cli.template import write_template

        template = write_template(list_commands(context.find_root().command), entries, values)
        sys.stdout.write(template)
    else:
        _print_tables(entries, values)
        if not names and preset == "paper":
            output.print(
                "--set imbalance=balanced, light or heavy sets eps2, renewals and contrast_steps; shown: balanced"
            )
    return _describe(preset, entries, values, template)


def _print_tables(entries: Sequence[Setting], values: Mapping[str, Any]) -> None:
    """Print a table of the settings of each group."""
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import output

    for group, members in groupby(entries, key=lambda entry: entry.group):
        table = Table("setting", "value", title=group, title_justify="left", expand=True)
        table.add_column("allowed", max_width=24)
        table.add_column("meaning")
        for entry in members:
            table.add_row(*map(Text, (entry.name, str(values[entry.name]), entry.allowed, entry.meaning)))
        output.print(table)


def _describe(
    preset: str, entries: Sequence[Setting], values: Mapping[str, Any], template: str | None
) -> SettingsDocument:
    """Return the document of settings."""
    items = [
        SettingItem(
            name=entry.name,
            group=entry.group,
            value=values[entry.name],
            default=entry.default,
            allowed=entry.allowed,
            meaning=entry.meaning,
        )
        for entry in entries
    ]
    return SettingsDocument(preset=preset, settings=items, toml=template)
