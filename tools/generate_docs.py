"""Write what the documentation and the signature of RSTC repeat of the code: settings, commands, JSON, modules.

python tools/generate_docs.py          write it
python tools/generate_docs.py --check  fail if something is not up to date
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from rstc.cli.app import app
from rstc.cli.commands import list_commands, list_documents
from rstc.cli.documents.base import ErrorDocument
from rstc.cli.exit_codes import OUTCOMES
from rstc.cli.json_schema import build_schema, describe_type, list_fields
from rstc.config import SETTINGS, Setting, paper_values

ROOT = Path(__file__).parent.parent
SETTINGS_PAGE = Path("docs/settings.md")
COMMANDS_PAGE = Path("docs/commands.md")
JSON_PAGE = Path("docs/json.md")
JSON_SCHEMA = Path("docs/json-schema.json")
ARCHITECTURE_PAGE = Path("docs/architecture.md")
PARAMETERS = Path("src/rstc/params.py")
OWN_PARAMETERS = ("encoder", "views")  # RSTC takes objects and functions for them as well
LINE_LENGTH = 120


def generate() -> dict[Path, str]:
    """Return the contents of every file that is generated, in whole or between two markers, by path."""
    settings_page, parameters, architecture = read(SETTINGS_PAGE), read(PARAMETERS), read(ARCHITECTURE_PAGE)
    return {
        SETTINGS_PAGE: replace_between(settings_page, "<!-- settings:start -->", "<!-- settings:end -->", tables()),
        PARAMETERS: replace_between(parameters, "# settings:start", "        # settings:end", signature()),
        COMMANDS_PAGE: commands_page(),
        JSON_PAGE: json_page(read(JSON_PAGE)),
        JSON_SCHEMA: json.dumps(build_schema(typer.main.get_command(app)), indent=2) + "\n",
        ARCHITECTURE_PAGE: replace_between(architecture, "<!-- modules:start -->", "<!-- modules:end -->", modules()),
    }


def read(path: Path) -> str:
    """Return a file's text, or none where it does not exist yet."""
    return (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else ""


def replace_between(text: str, start: str, end: str, content: str) -> str:
    """Replace the lines between a line that begins with `start` and the line `end`."""
    pattern = rf"({re.escape(start)}[^\n]*\n).*?(?={re.escape(end)}\n)"
    replaced, count = re.subn(pattern, lambda match: match[1] + content, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{start} and {end} occur {count} times, not once")
    return replaced


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def tables() -> str:
    """Return a table of the settings of each group."""
    header = ["setting", "allowed", "default", "in `paper`", "symbol", "meaning"]
    sections = [
        f"### {group}\n\n{markdown_table(header, map(settings_row, entries))}"
        for group, entries in groupby(SETTINGS.values(), key=lambda entry: entry.group)
    ]
    return "\n" + "\n".join(sections) + "\n"


def settings_row(entry: Setting) -> list[str]:
    """Return what a table says of a setting."""
    in_paper = ", ".join(f"`{value}`" for value in paper_values(entry.name))
    symbol = f"`{entry.symbol}`" if entry.symbol else ""
    return [f"`{entry.name}`", entry.allowed, f"`{entry.default}`", in_paper, symbol, entry.meaning]


def signature() -> str:
    """Return the parameters of RSTC that are settings, as lines of its signature."""
    entries = (entry for entry in SETTINGS.values() if entry.name not in OWN_PARAMETERS)
    return "".join(signature_line(entry.name, annotation(entry.hint)) for entry in entries)


def signature_line(name: str, hint: str) -> str:
    """Return a parameter of RSTC, broken as the formatter would if it is too long for a line."""
    line = f"        {name}: {hint} | None = None,\n"
    return line if len(line) <= LINE_LENGTH else f"        {name}: {hint}\n        | None = None,\n"


def annotation(hint: Any) -> str:
    """Return a type annotation as source code, without None."""
    if get_origin(hint) is Literal:
        choices = ", ".join(f'"{choice}"' for choice in get_args(hint))
        return f"Literal[{choices}]"
    members = [member for member in get_args(hint) if member is not type(None)]
    return " | ".join(map(annotation, members)) if members else hint.__name__


def commands_page() -> str:
    """Return the page of all commands: what each does, its arguments and its options."""
    introduction = (
        "<!-- written by tools/generate_docs.py -->\n# Commands\n\n"
        "What `rstc COMMAND --help` shows. Settings, which `--set NAME=VALUE` changes, have a [page of their own]"
        "(settings.md).\nOptions may also come from a file or from the environment: [In programs](programs.md).\n"
    )
    return "\n".join([introduction, *(command_section(path, command) for path, command in commands())])


def json_page(page: str) -> str:
    """Return the page of JSON documents with its tables of exit codes and of fields."""
    rows = [[f"{one.exit_code}", f"`{one.code}`", one.meaning] for one in OUTCOMES]
    page = replace_between(
        page, "<!-- codes:start -->", "<!-- codes:end -->", markdown_table(["exit code", "code", "meaning"], rows)
    )
    kinds: dict[type, list[str]] = {}
    for path, command in list_commands(typer.main.get_command(app)).items():
        for kind in list_documents(command):
            kinds.setdefault(kind, []).append(f"`rstc {path}`")
    parts: dict[type, None] = {}
    sections = [
        fields_section(kind, ", ".join(paths), parts)
        for kind, paths in ({ErrorDocument: ["any command that fails"]} | kinds).items()
    ]
    done: set[type] = set()
    while missing := [part for part in parts if part not in done]:
        for part in missing:
            sections.append(fields_section(part, "", parts))
            done.add(part)
    return replace_between(
        page, "<!-- documents:start -->", "<!-- documents:end -->", "\n" + "\n".join(sections) + "\n"
    )


def fields_section(kind: type, commands: str, parts: dict[type, None]) -> str:
    """Return the fields of a document or a part of one as a section; the parts that it names are added to `parts`."""
    fields = list_fields(kind)
    for hint, _ in fields.values():
        parts |= dict.fromkeys(list_parts(hint))
    rows = [[f"`{name}`", describe_type(hint), meaning] for name, (hint, meaning) in fields.items()]
    title = " ".join((kind.__doc__ or "").split())
    source = f"{commands}: " if commands else ""
    return f"### {kind.__name__}\n\n{source}{title}\n\n{markdown_table(['field', 'type', 'meaning'], rows)}"


def list_parts(hint: Any) -> list[type]:
    """Return the dataclasses that a type is made of."""
    if is_dataclass(hint):
        return [hint]
    return [part for member in get_args(hint) for part in list_parts(member)]


def commands() -> list[tuple[str, Any]]:
    """Return every command that is not hidden, by what is typed to run it."""
    found: list[tuple[str, Any]] = []

    def collect(path: str, command: Any) -> None:
        found.append((path, command))
        for name, member in getattr(command, "commands", {}).items():
            if not member.hidden:
                collect(f"{path} {name}", member)

    collect("rstc", typer.main.get_command(app))
    return found


def parameters_of(command: Any) -> list[Any]:
    """Return the arguments and options of a command that are not hidden, arguments first."""
    shown = (parameter for parameter in command.params if not getattr(parameter, "hidden", False))
    return sorted(shown, key=lambda parameter: parameter.param_type_name != "argument")


def command_section(path: str, command: Any) -> str:
    """Return what the page says of a command."""
    parameters = parameters_of(command)
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    usage = [path, *map(placeholder, arguments)]
    usage += [f"{option.opts[0]} {value_name(option)}" for option in options if option.required]
    usage += ["[OPTIONS]"] if any(not option.required for option in options) else []
    usage += ["COMMAND"] if hasattr(command, "commands") else []
    parts = [f"## {path}", f"```text\n{' '.join(usage)}\n```", markdown_help(command.help or "")]
    if command.epilog:
        parts.append(markdown_help(command.epilog))
    if parameters:
        rows = [[parameter_name(one), default_of(one), escape(one.help or "")] for one in parameters]
        parts.append(markdown_table(["argument or option", "default", "meaning"], rows).rstrip())
    return "\n\n".join(parts) + "\n"


def modules() -> str:
    """Return a table of all modules with the first sentence of their docstrings."""
    source = ROOT / "src" / "rstc"
    paths = sorted(path for path in source.rglob("*.py") if not path.name.startswith("__"))
    paths.sort(key=lambda path: path.parent.relative_to(source).as_posix())
    rows = [[f"`{path.relative_to(source).as_posix()}`", first_sentence(path)] for path in paths]
    return markdown_table(["module", "what it holds"], rows)


def first_sentence(path: Path) -> str:
    """Return the first paragraph of a module's docstring, on one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def value_name(parameter: Any) -> str:
    """Return what stands for the value of an argument or an option."""
    return str(parameter.metavar or parameter.name.upper())


def placeholder(argument: Any) -> str:
    """Return an argument as in a usage line."""
    name = value_name(argument) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def parameter_name(parameter: Any) -> str:
    """Return how an argument or an option is written."""
    if parameter.param_type_name == "argument":
        return f"`{placeholder(parameter)}`"
    value = "" if parameter.is_flag else f" {value_name(parameter)}"
    names = [f"`{name}{value if name == parameter.opts[0] else ''}`" for name in parameter.opts]
    return ", ".join(names + [f"`{name}`" for name in parameter.secondary_opts])


def default_of(parameter: Any) -> str:
    """Return the default of an argument or an option."""
    default = parameter.default
    if parameter.required:
        return "required"
    if default is None or default is False:
        return ""
    if default is True:
        return f"`{parameter.opts[0]}`"
    return f"`{default.as_posix() if isinstance(default, Path) else default}`"


def markdown_help(text: str) -> str:
    """Return a help text as Markdown, with its indented examples as one block of shell commands."""
    paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]
    blocks = []
    for is_example, members in groupby(paragraphs, key=lambda paragraph: paragraph.startswith("    ")):
        if is_example:
            commands = "\n".join(member.strip() for member in members)
            blocks.append(f"```sh\n{commands}\n```")
        else:
            blocks += [escape(member.strip()) for member in members]
    return "\n\n".join(blocks)


def escape(text: str) -> str:
    """Escape asterisks outside code, which Markdown would take for emphasis."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("*", r"\*") for part in parts)


def main() -> None:
    """Write the files that are not up to date, or with --check name them and fail."""
    stale = {path: text for path, text in generate().items() if read(path) != text}
    if "--check" in sys.argv[1:]:
        sys.exit(f"not up to date: {', '.join(map(str, stale))}; run make docs-generated" if stale else 0)
    for path, text in stale.items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
