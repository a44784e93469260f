"""Options and settings from the environment and from a settings file, `rstc.toml`.

A file that is found in the working directory may have come with a stranger's folder. So what could run code, send texts
or remove something is not read from any file, and paths in a file that was found lead nowhere but into its folder.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rstc.cli.commands import ENVIRONMENT, Given, list_commands, list_options
from rstc.config import find_setting
from rstc.errors import InputError, first_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS_FILE = "rstc.toml"
SETTINGS_TABLE = "settings"
COMMAND_WITH_SETTINGS = "cluster"
PREFIX = "RSTC_"
SEPARATOR = ";"  # between the values of an option that may be repeated, in the environment
MAX_BYTES = 2**20

# Options that are given on the command line only: they ask for one thing to be done once, or remove something.
ONCE = frozenset({"overwrite", "clear", "accept", "decline", "again", "dry-run", "toml", "config"})
# Options that a file must not give: they run code, send texts elsewhere, or let other machines in.
NOT_IN_FILES = {
    "names": frozenset({"command", "function", "url", "model", "key-variable", "send-key-unencrypted"}),
    "explore": frozenset({"host"}),
    "serve": frozenset({"host", "mcp"}),
}
# Options and settings that name what is written or loaded, by which a file that was found must not leave its folder.
PATH_OPTIONS = frozenset({"out", "data", "store", "checkpoints", "encoder", "root", "token-file"})
PATH_SETTINGS = frozenset({"encoder", "cache_folder"})
VIEW_OPTIONS = frozenset({"method", "views"})  # which name an encoder after a colon

Values = dict[str, Any]


def read_given(root: Any, config: Path | None, environment: Mapping[str, str]) -> tuple[Given, list[str]]:
    """Read what the environment and a settings file give to the commands.

    Parameters
    ----------
    root : group of the parser
        The application.
    config : Path, optional
        A settings file that the user names; by default `rstc.toml` in the working directory, if there is one.
    environment : mapping
        The environment variables.

    Returns
    -------
    given : Given
    notes : list of str
        What the user should know about them.

    Raises
    ------
    InputError
        If the file or a variable cannot be used.
    """
    commands = list_commands(root)
    given, notes = Given(), []
    path = config or Path(SETTINGS_FILE)
    if config is not None or path.is_file():
        _read_file(path, commands, given, is_found=config is None)
        if config is None and (given.sources):
            notes.append(f"options are read from {path}")
    notes += _read_environment(environment, commands, given)
    return given, notes


def nest_options(options: Mapping[str, Values]) -> dict[str, Any]:
    """Return values of options as the parser takes them: those of "benchmark run" in a mapping of a mapping."""
    nested: dict[str, Any] = {}
    for command, values in options.items():
        level = nested
        for name in command.split():
            level = level.setdefault(name, {})
        level |= values
    return nested


def name_variable(command: str, option: str) -> str:
    """Return the environment variable of an option.

    >>> name_variable("benchmark run", "time-limit")
    'RSTC_BENCHMARK_RUN_TIME_LIMIT'
    """
    return PREFIX + f"{command} {option}".upper().replace(" ", "_").replace("-", "_")


def list_file_options(command: str, parsed: Any) -> dict[str, Any]:
    """Return the options of a command that a settings file may give, by their names."""
    if command == SETTINGS_TABLE:  # `rstc settings` has none: its table would be that of the settings
        return {}
    refused = ONCE | NOT_IN_FILES.get(command, frozenset())
    if command == COMMAND_WITH_SETTINGS:
        refused |= {"set"}  # which the table of settings is for
    return {name: option for name, option in list_options(parsed).items() if name not in refused}


def _read_file(path: Path, commands: Mapping[str, Any], given: Given, is_found: bool) -> None:
    """Read a settings file into `given`."""
    content = _parse_file(path)
    tables = {name for command in commands for name in (command, command.split()[0])} | {SETTINGS_TABLE}
    for name, table in content.items():
        if name not in tables:
            raise InputError(f"{path} has {_describe_unknown(name, tables, 'table')}")
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name} must be a table, written [{name}]")
        if name == SETTINGS_TABLE:
            _read_settings(path, table, given, is_found)
        elif name in commands:
            _read_options(path, name, commands[name], table, given, is_found)
        else:
            for member, values in table.items():
                command = f"{name} {member}"
                if command not in commands or not isinstance(values, dict):
                    known = [one.partition(" ")[2] for one in commands if one.startswith(f"{name} ")]
                    raise InputError(f"{path}: [{name}] has {_describe_unknown(member, known, 'table')}")
                _read_options(path, command, commands[command], values, given, is_found)


def _parse_file(path: Path) -> Values:
    """Return the content of a settings file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InputError(f"{path} is larger than {MAX_BYTES:,} bytes")
        return tomllib.loads(content.decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # TOML or its encoding
        raise InputError(f"{path} is not TOML: {first_line(error)}") from error


def _read_options(path: Path, command: str, parsed: Any, table: Values, given: Given, is_found: bool) -> None:
    """Read the table of a command."""
    known, allowed = list_options(parsed), list_file_options(command, parsed)
    for key, value in table.items():
        name = key.replace("_", "-")
        if name in known and name not in allowed:
            where = f"the table [{SETTINGS_TABLE}]" if name == "set" else "the command line only"
            raise InputError(f"{path}: [{command}] {key} is not read from a file; it is for {where}")
        if name not in allowed:
            raise InputError(f"{path}: [{command}] has {_describe_unknown(key, allowed, 'option')}")
        option = allowed[name]
        _check_value(path, f"[{command}] {key}", value, option)
        if is_found:
            for one in value if isinstance(value, list) else [value]:
                _check_inside(path, f"[{command}] {key}", one, name in PATH_OPTIONS, name in VIEW_OPTIONS)
        given.options.setdefault(command, {})[option.name] = value
        given.sources[command, option.name] = str(path)


def _read_settings(path: Path, table: Values, given: Given, is_found: bool) -> None:
    """Read the table of settings."""
    for name, value in table.items():
        if name != "imbalance":
            try:
                find_setting(name).validate(value)
            except InputError as error:
                raise InputError(f"{path}: [{SETTINGS_TABLE}] {error}") from error
        if is_found:
            _check_inside(path, f"[{SETTINGS_TABLE}] {name}", value, name in PATH_SETTINGS, name in VIEW_OPTIONS)
        given.settings[name] = value
        given.sources["", name] = str(path)


def _check_value(path: Path, key: str, value: Any, option: Any) -> None:
    """Raise an error if a value cannot be that of an option."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{path}: {key} must be true or false, got {value!r}")
        return
    values = value if isinstance(value, list) and option.multiple else [value]
    if option.multiple and not isinstance(value, list):
        raise InputError(f"{path}: {key} must be a list, such as [{value!r}]")
    for one in values:
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            raise InputError(f"{path}: {key} must be a text or a number, got {one!r}")


def _check_inside(path: Path, key: str, value: Any, is_path: bool, is_view: bool) -> None:
    """Raise an error if a file that was found names what is not in its folder."""
    if not isinstance(value, str):
        return
    folder = path.parent.resolve()
    leaves = is_path and not (folder / value).resolve().is_relative_to(folder)
    downloads = (is_path and value.startswith("hub:")) or (is_path and "://" in value) or (is_view and ":" in value)
    if leaves or downloads:
        raise InputError(
            f"{path}: {key}={value!r} is not in this folder; a settings file that names it is used with "
            f"--config {path} only"
        )


def _read_environment(environment: Mapping[str, str], commands: Mapping[str, Any], given: Given) -> list[str]:
    """Read the variables of options into `given`; return notes on those that no option has."""
    present = {name: value for name, value in environment.items() if name.startswith(PREFIX) and value}
    if not present:
        return []
    variables = {
        name_variable(command, name): (command, option)
        for command, parsed in commands.items()
        for name, option in list_options(parsed).items()
        if name not in ONCE
    }
    for name in variables.keys() & present.keys():
        command, option = variables[name]
        given.options.setdefault(command, {})[option.name] = _parse_variable(name, present[name], option)
        given.sources[command, option.name] = ENVIRONMENT
    prefixes = tuple(name_variable(command, "") for command in commands)
    unknown = [name for name in present if name not in variables and name.startswith(prefixes)]
    return [
        f"{name} is not the variable of an option; did you mean {match[0]}?"
        for name in sorted(unknown)
        if (match := get_close_matches(name, variables, n=1, cutoff=0.8))
    ]


def _parse_variable(name: str, text: str, option: Any) -> Any:
    """Return the value of an option that a variable holds."""
    if option.is_flag:
        value = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower())
        if value is None:
            raise InputError(f"{name}={text!r} must be true or false")
        return value
    return text.split(SEPARATOR) if option.multiple else text


def _describe_unknown(name: str, known: Any, kind: str) -> str:
    """Describe a name that does not exist, with the most similar one.

    >>> _describe_unknown("clustr", ["cluster", "names"], "table")
    "no table 'clustr'; did you mean 'cluster'?"
    """
    matches = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {matches[0]!r}?" if matches else f"there are {', '.join(sorted(known))}"
    return f"no {kind} {name!r}; {hint}"
