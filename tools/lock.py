"""Write constraints.txt, constraints-hashed.txt and build-constraints.txt: exact versions for every supported Python.

The versions of constraints.txt are kept where they still satisfy pyproject.toml; `--upgrade` takes the newest. Each
Python and platform is then resolved from wheels alone, so that nothing has to be compiled.

Usage: python tools/lock.py [--upgrade [NAME ...]] [--check], with the extra `release`. Needs the package index.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
SOURCE_ONLY = ("pyspark",)  # not published as wheels
TOOLS = ("pip", "setuptools", "wheel")  # what installs and builds
BUILD_TOOLS = ("setuptools", "wheel")

# Files of the same versions that the index does not list.
OTHER_HASHES = {
    # torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl, the CPU build that the tests run with
    "torch": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"],
}

VERSIONS_HEADER = (
    "# The exact versions that the results and the tests were made with; tools/lock.py writes this file.\n"
    "# A name with two lines differs by Python version.\n"
)
HASHES_HEADER = (
    "# The versions of constraints.txt with the sha256 of every file of them; tools/lock.py writes this file.\n"
)
BUILD_HEADER = "# What wheels are built with, for pip's --build-constraint; tools/lock.py writes this file.\n"


def compile_lock(upgrade: list[str] | None) -> str:
    """Return the pins with hashes of everything that pyproject.toml names, for all Pythons and platforms.

    Parameters
    ----------
    upgrade : list of str or None
        Names whose newest versions are taken; an empty list: all names; None: no name.

    Returns
    -------
    str
        The lock in pip's format.
    """
    with tempfile.TemporaryDirectory() as folder:
        lock, tools = Path(folder, "lock.txt"), Path(folder, "tools.in")
        shutil.copy(ROOT / "constraints.txt", lock)  # its versions are preferred
        tools.write_text("\n".join(TOOLS))
        options = ["--universal", "--python-version", PYTHONS[0], "--generate-hashes", "--no-annotate", "--no-header"]
        if upgrade is not None:
            options += [f"--upgrade-package={name}" for name in upgrade] or ["--upgrade"]
        _run_uv("pip", "compile", str(ROOT / "pyproject.toml"), str(tools), "--all-extras", *options, "-o", str(lock))
        return lock.read_text()


def add_hashes(lock: str, others: dict[str, list[str]]) -> str:
    r"""Add hashes of files that the index does not list.

    >>> print(add_hashes("torch==2 \\\n    --hash=sha256:aa\nx==1 \\\n    --hash=sha256:bb", {"torch": ["cc"]}))
    torch==2 \
        --hash=sha256:cc \
        --hash=sha256:aa
    x==1 \
        --hash=sha256:bb
    """
    for name, hashes in others.items():
        added = "".join(f"    --hash=sha256:{one} \\\n" for one in hashes)
        lock = re.sub(rf"^({re.escape(name)}==.*\n)", lambda line: line[0] + added, lock, flags=re.MULTILINE)  # noqa: B023
    return lock


def select(lock: str, names: tuple[str, ...]) -> str:
    """Return the entries of these names."""
    entries = re.findall(r"^\S.*(?:\n    .*)*\n?", lock, flags=re.MULTILINE)
    return "".join(entry for entry in entries if entry.partition("==")[0] in names)


def strip_hashes(lock: str) -> str:
    r"""Return the pins alone.

    >>> strip_hashes("x==1 ; os_name == 'nt' \\\n    --hash=sha256:aa\n")
    "x==1 ; os_name == 'nt'\n"
    """
    return re.sub(r"(?: \\)?\n    --hash=\S+", "", lock)


def check_wheels(constraints: Path) -> None:
    """Raise unless each Python and platform has wheels of all base dependencies, and Linux of all extras.

    Parameters
    ----------
    constraints : path
        The exact versions.
    """
    for python in PYTHONS:
        for platform in PLATFORMS:
            extras = ["--all-extras"] if "linux" in platform else []
            sources = [f"--no-binary={name}" for name in SOURCE_ONLY]
            _run_uv(
                *("pip", "compile", str(ROOT / "pyproject.toml"), *extras, "-c", str(constraints), "--no-header"),
                *("--python-version", python, "--python-platform", platform, "--only-binary", ":all:", *sources),
            )
            print(f"Python {python}, {platform}: wheels of {'all extras' if extras else 'the base'}")


def _run_uv(*arguments: str) -> None:
    """Run uv without what this checkout or this user has configured."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", *arguments, "--no-config", "--quiet"],
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"},  # torch has no wheels for older ones
    )
    if done.returncode:
        raise SystemExit(f"uv {' '.join(arguments)}:\n{done.stderr}")


def main() -> None:
    """Write the three files, or compare them with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrade", nargs="*", metavar="NAME", help="take the newest versions, of all or of these")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    arguments = parser.parse_args()
    lock = add_hashes(compile_lock(arguments.upgrade), OTHER_HASHES)
    contents = {
        "constraints.txt": VERSIONS_HEADER + strip_hashes(lock),
        "constraints-hashed.txt": HASHES_HEADER + lock,
        "build-constraints.txt": BUILD_HEADER + select(lock, BUILD_TOOLS),
    }
    with tempfile.TemporaryDirectory() as folder:
        versions = Path(folder, "constraints.txt")
        versions.write_text(contents["constraints.txt"])
        check_wheels(versions)
    changed = [
        name for name, text in contents.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text
    ]
    if arguments.check:
        raise SystemExit(f"not up to date: {', '.join(changed)}" if changed else 0)
    for name in changed:
        (ROOT / name).write_text(contents[name])
    print(f"written: {', '.join(changed) or 'nothing, all up to date'}")


if __name__ == "__main__":
    main()
