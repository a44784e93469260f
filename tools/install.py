"""Install rstc and extras for the Python that runs this file: exact versions, every downloaded file checked by sha256.

Usage: python tools/install.py [EXTRA ...] [--package FILE] [--dependencies-only] [--lowest]

Without `--package`, the checkout is installed in editable form. Two environment variables choose another build of the
same version of torch: TORCH_BACKEND in the words of uv (cpu, cu130, ...), TORCH_INDEX by the address of an index. These
builds differ by their index and are not checked by a hash; everything else is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
HASHED = ["--require-hashes", "--constraint", str(ROOT / "constraints-hashed.txt")]


def list_requirements(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Return the requirements of a project's table in pyproject.toml, with those of its extras.

    >>> list_requirements({"dependencies": ["numpy>=1"], "optional-dependencies": {"excel": ["openpyxl"]}}, ["excel"])
    ['numpy>=1', 'openpyxl']
    """
    known = project["optional-dependencies"]
    for extra in extras:
        if extra not in known:
            raise SystemExit(f"extra {extra!r} is not one of {', '.join(sorted(known))}")
    return [*project["dependencies"], *(one for extra in extras for one in known[extra])]


def lower(requirement: str) -> str:
    """Return a requirement that admits only the lowest version it admitted.

    >>> lower("ray[data]>=2.55; python_version >= '3.14'"), lower("sentence-transformers>=6.2,<7"), lower("mteb")
    ("ray[data]==2.55; python_version >= '3.14'", 'sentence-transformers==6.2', 'mteb')
    """
    what, semicolon, marker = requirement.partition(";")
    return re.sub(r">=([^,]+)(,.*)?$", r"==\1", what.strip()) + semicolon + marker


def find_entry(name: str) -> str:
    """Return the exact version and the hashes of a package that all Pythons have in the same version."""
    lock = (ROOT / "constraints-hashed.txt").read_text(encoding="utf-8")
    start = lock.index(f"\n{name}==") + 1
    return re.match(r".*(?:\n    .*)*", lock[start:])[0]  # type: ignore[index]


def compute_sha256(file: Path) -> str:
    """Return the sha256 of a file of any size, in hexadecimal digits."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def find_installed_version(name: str) -> str | None:
    """Return the version of an installed package without what names a build (+cpu); None if it is not installed."""
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def install_torch(folder: Path) -> None:
    """Install torch by its exact version from where pip finds it, after checking the file.

    pip prefers files whose hash it knows before it has them, and would never take a CPU build from a local folder.
    """
    pin, *hashes = find_entry("torch").replace("\\", "").split()
    if find_installed_version("torch") == pin.partition("==")[2]:
        return
    if index := os.environ.get("TORCH_INDEX"):
        run_pip("install", "--no-deps", "--index-url", index, pin)
        return
    if backend := os.environ.get("TORCH_BACKEND"):  # uv knows where the builds are
        run_pip("install", *HASHED, "uv")
        options = ["--python", sys.executable, "--no-deps", "--torch-backend", backend]
        subprocess.run([sys.executable, "-m", "uv", "pip", "install", "--quiet", *options, pin], check=True)
        run_pip("uninstall", "--yes", "uv")
        return
    run_pip("download", "--no-deps", "--dest", str(folder), pin)
    file = next(folder.glob("torch-*"))
    checksum = compute_sha256(file)
    if f"--hash=sha256:{checksum}" not in hashes:
        raise SystemExit(
            f"{file.name}: sha256 {checksum} is not in constraints-hashed.txt (TORCH_BACKEND chooses others)"
        )
    run_pip("install", "--no-deps", str(file))


def run_pip(command: str, *arguments: str) -> None:
    """Run a command of pip, or exit with its exit code."""
    done = subprocess.run([sys.executable, "-m", "pip", command, "--quiet", *arguments])
    if done.returncode:
        raise SystemExit(done.returncode)


def main() -> None:
    """Install pip's own version, torch, the other dependencies, and rstc."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    parser.add_argument("--package", type=Path, help="a wheel or a source distribution in place of the checkout")
    parser.add_argument("--lowest", action="store_true", help="the lowest versions allowed (of torch: the exact one)")
    parser.add_argument("--dependencies-only", action="store_true", help="do not install rstc itself")
    arguments = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list_requirements(project, arguments.extras)
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "requirements.txt")
        listed.write_text(find_entry("pip"), encoding="utf-8")
        run_pip(
            "install", "--require-hashes", "--requirement", str(listed)
        )  # older ones ignore the hashes of constraints
        install_torch(Path(folder))
        if arguments.lowest:
            requirements = [lower(one) for one in requirements if not one.startswith("torch>")]
        listed.write_text("\n".join(requirements), encoding="utf-8")
        run_pip("install", *([] if arguments.lowest else HASHED), "--requirement", str(listed))
    if not arguments.dependencies_only:
        what = [str(arguments.package)] if arguments.package else ["--editable", str(ROOT)]
        run_pip("install", "--no-deps", "--build-constraint", str(ROOT / "build-constraints.txt"), *what)


if __name__ == "__main__":
    main()
