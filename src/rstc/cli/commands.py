"""How commands are registered: what all of them have in common, and what a command knows of its options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Annotated, Any, TypeVar, get_args

import typer

from rstc.cli.documents.base import Document
from rstc.cli.json_output import JSON_OPTION, record_command

COMMAND_LINE = "command line"
ENVIRONMENT = "environment"

Json = Annotated[
    bool,
    typer.Option(
        JSON_OPTION, help="Write the result as one JSON document to standard output, and all else to standard error."
    ),
]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Given:
    """Values of options and settings that the environment and a settings file give.

    Attributes
    ----------
    options : dict
        From the name of a command to the values of its options, by the names of their parameters.
    settings : dict
        Values of settings, by name: what `--set` would give.
    sources : dict
        Where each comes from, by the name of the command and that of the parameter; of settings by "" and their name.
    """

    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    sources: dict[tuple[str, str], str] = field(default_factory=dict)


def add_command(app: typer.Typer, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
    """Return a decorator that registers a command with the options that all commands have.

    Parameters
    ----------
    app : Typer
        The application or the group.
    name : str, optional
        The command; by default the name of the function.
    **options
        What `Typer.command` takes besides.
    """

    def register(function: Function) -> Function:
        # Not typing.get_type_hints: Python 3.10 wraps the annotation of a default of None in an Optional.
        signature = inspect.signature(function, eval_str=True)
        parameters = list(signature.parameters.values())
        documents = [kind for kind in _list_members(signature.return_annotation) if issubclass(kind, Document)]
        hints = {parameter.name: parameter.annotation for parameter in parameters}
        context_name = next((name for name, hint in hints.items() if hint is typer.Context), None)
        context = inspect.Parameter("context_", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        json = inspect.Parameter("json_", inspect.Parameter.KEYWORD_ONLY, annotation=Json, default=False)
        added = [json] if context_name else [json, context]

        def run(**values: Any) -> Any:
            values.pop("json_")  # the parser only checks and documents it: see `is_json_requested`
            record_command(find_path(values[context_name] if context_name else values.pop("context_")))
            return function(**values)

        update_wrapper(run, function)
        del run.__wrapped__  # type: ignore[attr-defined]
        run.documents = documents  # type: ignore[attr-defined]
        run.__annotations__ = hints | {parameter.name: parameter.annotation for parameter in added}
        run.__signature__ = inspect.Signature([*parameters, *added])  # type: ignore[attr-defined]
        app.command(name, **options)(run)
        return function

    return register


def list_documents(command: Any) -> list[type[Document]]:
    """Return the kinds of documents that a command of the parser returns."""
    return list(getattr(command.callback, "documents", ()))


def _list_members(hint: Any) -> list[type]:
    """Return the members of a union, or a type that is none as its only member."""
    return [member for member in get_args(hint) or (hint,) if isinstance(member, type)]


def find_path(context: Any) -> str:
    """Return the command of a parser's context without the name of the program, such as "benchmark run"."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(names)


def get_given(context: typer.Context) -> Given:
    """Return what the environment and a settings file give."""
    given = context.find_root().obj
    return given if isinstance(given, Given) else Given()


def find_sources(context: typer.Context) -> dict[str, str]:
    """Return where the values of a command's options come from, by parameter, for those that were given."""
    path, given = find_path(context), get_given(context)
    sources = {}
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            sources[name] = COMMAND_LINE
        elif (path, name) in given.sources and source is not None and source.name == "DEFAULT_MAP":
            sources[name] = given.sources[path, name]
    return sources


def find_given(context: typer.Context) -> dict[str, tuple[Any, str]]:
    """Return the options and settings that were given, such as "--seed" or "noise", each with its value and source."""
    sources, given = find_sources(context), get_given(context)
    options = {
        f"--{name}": (context.params[option.name], sources[option.name])
        for name, option in list_options(context.command).items()
        if option.name in sources
    }
    return options | {name: (value, given.sources["", name]) for name, value in given.settings.items()}


def merge_settings(
    context: typer.Context, assignments: Sequence[str] | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of a run: the command line counts before the environment, and this before a settings file.

    At the same place, an option such as `--noise` counts before `--set noise=`.

    Parameters
    ----------
    context : Context
        The context of the command, whose option `--set` has the parameter `settings`.
    assignments : sequence of str
        The values of `--set`.
    options : mapping
        Values of options that are settings of the same name, None where they are not given.
    """
    from rstc.config import parse_setting

    given, sources = get_given(context), find_sources(context)
    changes = {name: value for name, value in options.items() if name not in sources and value is not None}
    changes |= given.settings
    files = set(sources.values()) - {ENVIRONMENT, COMMAND_LINE}
    for place in (*files, ENVIRONMENT, COMMAND_LINE):
        here = {name for name, source in sources.items() if source == place}
        if "settings" in here:
            changes |= dict(parse_setting(assignment) for assignment in assignments or [])
        changes |= {name: value for name, value in options.items() if name in here and value is not None}
    return changes


def list_options(command: Any) -> dict[str, Any]:
    """Return the options of a command by their long names without dashes; arguments and help are none.

    Parameters
    ----------
    command : command of the parser
        As `typer.main.get_command` returns it.
    """
    options = {}
    for parameter in command.params:
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
            long = next(name for name in parameter.opts if name.startswith("--"))
            if long not in ("--help", "--version", JSON_OPTION, "--install-completion", "--show-completion"):
                options[long.removeprefix("--")] = parameter
    return options


def list_commands(command: Any, path: str = "") -> dict[str, Any]:
    """Return the commands below a group, by their paths such as "benchmark run"; groups are none."""
    if not hasattr(command, "commands"):
        return {path: command}
    found: dict[str, Any] = {}
    for name, member in command.commands.items():
        found |= list_commands(member, f"{path} {name}".strip())
    return found
