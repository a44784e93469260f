"""The template of a settings file, `rstc settings --toml`: every option and setting with its default, as comments."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rstc.cli.settings_file import SETTINGS_FILE, SETTINGS_TABLE, list_file_options

if TYPE_CHECKING:
    from rstc.config import Setting

WIDTH = 100
_INTRODUCTION = f"""\
# Options and settings of rstc. Save this as {SETTINGS_FILE} in the folder where you run rstc, and remove the # before
# what you change. The command line and environment variables such as RSTC_CLUSTER_SEED count before this file.
"""


def write_template(commands: Mapping[str, Any], settings: Sequence[Setting], values: Mapping[str, Any]) -> str:
    """Return the template.

    Parameters
    ----------
    commands : mapping
        The commands of the parser, by path.
    settings : sequence of Setting
        The settings.
    values : mapping
        Their values.
    """
    parts = [_INTRODUCTION]
    for command, parsed in commands.items():
        options = list_file_options(command, parsed)
        if options:
            lines = [f"[{command.replace(' ', '.')}]"]
            for name, option in options.items():
                lines += [*_comment(option.help or ""), _assign(name, _find_default(option), option.metavar)]
            parts.append("\n".join(lines) + "\n")
    lines = [f"[{SETTINGS_TABLE}]"]
    for group, entries in groupby(settings, key=lambda entry: entry.group):
        lines += ["", f"# {group}"]
        for entry in entries:
            lines += [*_comment(f"{entry.meaning} ({entry.allowed})"), _assign(entry.name, values[entry.name], None)]
    return "\n".join([*parts, "\n".join(lines) + "\n"])


def _find_default(option: Any) -> Any:
    """Return the default of an option, None if it has none."""
    default = option.default
    if option.multiple:
        return list(default or [])
    return default.as_posix() if isinstance(default, Path) else default


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _assign(name: str, value: Any, metavar: str | None) -> str:
    """Return an assignment as a comment; what has no value gets a placeholder.

    >>> _assign("noise", None, "SHARE"), _assign("cache", True, None)
    ('# noise = "SHARE"', '# cache = true')
    """
    if value is None:
        value = metavar or ""
    return f"# {name} = {json.dumps(value, ensure_ascii=False)}"
