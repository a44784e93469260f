"""Run the steps of the Dockerfile without a Docker engine, then the image's command as its user.

Each stage is a copy-on-write view of this machine's file system, in which this Python stands where the base image has
its own (/usr/local); the steps run in it by chroot, unchanged. What differs from an image: the base, which is this
machine, and torch, which is the build that pip finds here unless --build-arg TORCH_BACKEND says otherwise.

Usage: python tools/check_dockerfile.py [--build-arg NAME=VALUE ...]. Needs Linux and root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


@dataclass
class Stage:
    """A stage: its root folder, and what its steps so far have set."""

    root: Path
    environment: dict[str, str]
    arguments: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def run(self, command: list[str], user: str) -> None:
        """Run a command in this stage, or raise."""
        group = user.split(":")
        drop = ["setpriv", "--reuid", group[0], "--regid", group[-1], "--clear-groups"]
        enter = ["chroot", str(self.root), *drop, "env", "--ignore-environment", f"--chdir={self.folder}"]
        variables = self.arguments | self.environment
        subprocess.run([*enter, *(f"{name}={value}" for name, value in variables.items()), *command], check=True)

    def expand(self, text: str) -> str:
        """Replace $NAME and ${NAME} by the stage's variables."""
        variables = self.arguments | self.environment
        return re.sub(r"\$\{?(\w+)\}?", lambda match: variables.get(match[1], ""), text)


def parse(text: str) -> list[tuple[str, str]]:
    r"""Return the instructions of a Dockerfile with their arguments.

    >>> parse("FROM x AS y\n# why\nRUN a && \\\n  b\n")
    [('FROM', 'x AS y'), ('RUN', 'a &&   b')]
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "")
    return [(name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


def make_context(folder: Path) -> None:
    """Copy the files of the checkout that .dockerignore leaves; it excludes all but what it names."""
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    if lines[0] != "*":
        raise SystemExit(".dockerignore must begin with *")
    ignored = shutil.ignore_patterns(*(line.removeprefix("**/") for line in lines if line.startswith("**/")))
    for name in (line[1:] for line in lines if line.startswith("!")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)


def open_stage(folder: Path, variables: dict[str, str]) -> Stage:
    """Mount a copy-on-write view of this machine, with this Python in /usr/local."""
    upper, work, root = (folder / name for name in ("upper", "work", "root"))
    for one in (upper, work, root):
        one.mkdir(parents=True)
    overlay = f"lowerdir=/,upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", overlay, str(root)], check=True)
    for source, target in ((sys.base_prefix, "usr/local"), ("/dev", "dev"), ("/proc", "proc")):
        subprocess.run(["mount", "--bind", source, str(root / target)], check=True)
    return Stage(root, {"PATH": BASE_PATH, "LD_LIBRARY_PATH": "/usr/local/lib"} | variables)


def copy(stage: Stage, sources: list[str], target: str, origin: Path) -> None:
    """Copy files of the context or of another stage, as COPY does."""
    place = stage.root / str(Path(stage.folder, target)).lstrip("/")
    into = target.endswith("/") or len(sources) > 1
    for source in sources:
        path = origin / source.lstrip("/")
        goal = place / path.name if into else place
        goal.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():  # its content
            shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(path, goal)


def build(folder: Path, given: dict[str, str]) -> Stage:
    """Run all stages of the Dockerfile in a folder; return the last one."""
    context = folder / "context"
    make_context(context)
    passed = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}  # this machine's index
    stages: dict[str, Stage] = {}
    stage = None
    for name, rest in parse((ROOT / "Dockerfile").read_text()):
        print(f"{name} {rest}", flush=True)
        if name == "FROM":
            label = rest.split(" AS ")[1] if " AS " in rest else str(len(stages))
            stage = stages[label] = open_stage(folder / label, passed)
        elif name == "ARG" and stage is not None:
            argument, _, default = rest.partition("=")
            stage.arguments[argument] = given.get(argument, default)
        elif stage is None:
            continue  # ARG before the first stage chooses the base image
        elif name == "ENV":
            for pair in shlex.split(rest):
                variable, _, value = pair.partition("=")
                stage.environment[variable] = stage.expand(value)
        elif name == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "COPY":
            *sources, target = rest.split()
            origin = context
            if sources[0].startswith("--from="):
                origin = stages[sources.pop(0).removeprefix("--from=")].root
            copy(stage, sources, target, origin)
        elif name == "RUN":
            stage.run(["sh", "-c", rest], stage.user)
        elif name == "USER":
            stage.user = rest
        elif name in ("ENTRYPOINT", "CMD"):
            setattr(stage, "entrypoint" if name == "ENTRYPOINT" else "command", json.loads(rest))
        else:
            raise SystemExit(f"{name} is not an instruction that this script knows")
    if stage is None:
        raise SystemExit("the Dockerfile has no stage")
    return stage


def main() -> None:
    """Build in a mount namespace of its own, and use the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-arg", action="append", default=["TORCH_BACKEND="], metavar="NAME=VALUE")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside is None:  # again, where mounts end with the process
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, *sys.argv[1:], "--inside", folder]
            raise SystemExit(subprocess.run(["unshare", "--mount", *command]).returncode)
    folder = Path(arguments.inside)
    # The layers lie in memory: an overlay cannot lie on another one.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    stage = build(folder, dict(one.split("=", 1) for one in arguments.build_arg))
    if stage.user.split(":")[0] in ("0", "root"):
        raise SystemExit("the image's user is root")
    stage.run([*stage.entrypoint, *stage.command], stage.user)
    stage.run([*stage.entrypoint, "demo", "--out", "/data/demo"], stage.user)
    if not (stage.root / "data/demo/report.html").is_file():
        raise SystemExit("rstc demo wrote no report")
    size = subprocess.run(["du", "-sm", str(stage.root / "opt/rstc")], capture_output=True, text=True, check=True)
    print(f"The Dockerfile's steps work; /opt/rstc has {size.stdout.split()[0]} MB")


if __name__ == "__main__":
    main()
