"""What is said about the package in several places agrees: version, Pythons, dependencies, workflows, the image."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
CONDA_NAMES = {"torch": "pytorch"}

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")


def read_project() -> dict[str, Any]:
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read_workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))


def test_one_version_everywhere() -> None:
    version = read_project()["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert version in headings[:2], "the newest version, below what is unreleased"
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == version


def test_the_command_has_the_name_of_the_package() -> None:
    project = read_project()
    assert project["scripts"] == {project["name"]: "rstc.cli:main"}, "`uvx rstc` runs the command of that name"


def test_the_conda_recipe_has_the_same_dependencies() -> None:
    project = read_project()
    required = [Requirement(one) for one in project["dependencies"]]
    ours = {CONDA_NAMES.get(one.name, one.name): str(one.specifier) for one in required if one.marker is None}
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    theirs = dict(line.partition(" ")[::2] for line in recipe["requirements"]["run"])
    assert theirs.pop("python") == project["requires-python"]
    assert {name: set(versions.split(",")) for name, versions in theirs.items()} == {
        name: set(versions.split(",")) for name, versions in ours.items()
    }
    assert recipe["build"]["python"]["entry_points"] == ["rstc = rstc.cli:main"]


def test_every_python_of_the_classifiers_is_locked_and_tested() -> None:
    classifiers = read_project()["classifiers"]
    pythons = [one.rsplit(" ", 1)[1] for one in classifiers if re.search(r"Python :: 3\.\d+$", one)]
    assert pythons[0] == read_project()["requires-python"].removeprefix(">=")
    locked = re.search(r"^PYTHONS = \((.*)\)", (ROOT / "tools/lock.py").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert locked is not None
    assert re.findall(r"[\d.]+", locked[1]) == pythons
    jobs = read_workflow("ci.yml")["jobs"]
    for job in ("test", "other-systems"):
        assert jobs[job]["strategy"]["matrix"]["python"] == pythons


def test_workflows_name_versions_of_actions_and_ask_for_little() -> None:
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        workflow = read_workflow(path.name)
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert job["timeout-minutes"] <= 60, name
            for step in job["steps"]:
                assert ("uses" in step) != ("run" in step), step
                if "uses" in step:
                    assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]), step


def test_a_release_is_published_without_a_password_after_its_files_were_tested() -> None:
    jobs = read_workflow("release.yml")["jobs"]
    assert (jobs["test"]["needs"], jobs["publish"]["needs"]) == ("build", "test")
    assert jobs["publish"]["permissions"] == {"attestations": "write", "id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert not any("checkout" in step.get("uses", "") for step in jobs["publish"]["steps"]), "only the tested files"


def test_workflows_call_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for target in re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_image_runs_as_a_user_and_takes_only_what_it_copies() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER (?!0|root)", dockerfile, flags=re.MULTILINE)
    copied = set()
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, flags=re.MULTILINE):
        copied |= set(line.split())
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied == {line[1:] for line in allowed if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)
