"""What rstc is made of is known, and nothing of it asks the network without being told to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
NO_NETWORK = """
import sys
asked = []
def audit(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        asked.append((event, arguments))
sys.addaudithook(audit)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NO_NETWORK + code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


def test_nothing_is_asked_of_the_network_at_import_or_with_a_local_encoder(tiny_encoder: str) -> None:
    done = run(f"""
import rstc
for name in rstc.__all__:
    getattr(rstc, name)
texts = ["late parcel", "parcel lost", "reset password", "password code"] * 5
model = rstc.RSTC(2, encoder={tiny_encoder!r}, random_state=0, training="always", max_steps=2, batch_size=8).fit(texts)
from rstc.representation.loading import load_encoder
load_encoder(None, "mean", 32)
assert not asked, asked
""")
    assert done.returncode == 0, done.stderr


def test_offline_means_offline() -> None:
    done = run(
        """
from rstc import InputError
from rstc.representation.loading import load_encoder
try:
    load_encoder("somebody/some-model", "mean", 32)
except InputError as refused:
    assert "neither a folder nor a model" in str(refused)
else:
    raise SystemExit("there is no such model")
assert not asked, asked
""",
        HF_HUB_OFFLINE="1",
    )
    assert done.returncode == 0, done.stderr


def read_entries(name: str) -> list[str]:
    """Return the entries of a file of constraints, each with its hashes."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_every_package_we_ask_for_has_one_exact_version_for_each_python() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    pins = [Requirement(line) for line in read_entries("constraints.txt")]
    for python in ("3.10", "3.11", "3.12", "3.13", "3.14"):
        machine = {"python_version": python, "python_full_version": f"{python}.9", "extra": ""}
        exact = {}
        for pin in pins:
            if pin.marker is None or pin.marker.evaluate(machine):
                name = canonicalize_name(pin.name)
                assert name not in exact, f"two versions of {name} for Python {python}"
                exact[name] = str(pin.specifier).removeprefix("==")
        for requirement in map(Requirement, asked):
            if requirement.marker is None or requirement.marker.evaluate(machine):
                version = exact[canonicalize_name(requirement.name)]
                assert requirement.specifier.contains(version), f"{requirement} excludes {version}"


def test_every_version_has_the_hashes_of_its_files() -> None:
    hashed = read_entries("constraints-hashed.txt")
    pins = [re.sub(r"(\s+--hash=\S+)+$", "", entry) for entry in hashed]
    assert pins == read_entries("constraints.txt")
    for entry in hashed:
        assert re.search(r"( --hash=sha256:[0-9a-f]{64})", entry), entry


def test_the_tools_that_build_are_exact_and_within_the_range_of_the_build_system() -> None:
    build = read_entries("build-constraints.txt")
    assert {entry.partition("==")[0] for entry in build} == {"setuptools", "wheel"}
    assert set(build) <= set(read_entries("constraints-hashed.txt"))
    asked = re.search(r'requires = \["(setuptools[^"]+)"\]', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert asked is not None
    version = next(entry.split()[0] for entry in build if entry.startswith("setuptools==")).partition("==")[2]
    assert Requirement(asked[1]).specifier.contains(version)


def test_pip_refuses_a_file_with_another_hash(tmp_path: Path) -> None:
    entry = next(entry for entry in read_entries("constraints-hashed.txt") if entry.startswith("mdurl=="))
    (tmp_path / "constraints.txt").write_text(re.sub(r"sha256:\w+", f"sha256:{'0' * 64}", entry))
    metadata = "Metadata-Version: 2.1\nName: mdurl\nVersion: " + entry.split()[0].partition("==")[2]
    with zipfile.ZipFile(tmp_path / f"mdurl-{entry.split()[0].partition('==')[2]}-py3-none-any.whl", "w") as wheel:
        folder = wheel.filename.split("/")[-1].removesuffix("-py3-none-any.whl") + ".dist-info"
        wheel.writestr(f"{folder}/METADATA", metadata)
        wheel.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{folder}/RECORD", "")
    source = ["--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "target")]
    pip = [sys.executable, "-m", "pip", "install", "--isolated", "--require-hashes", *source]
    done = subprocess.run(
        [*pip, "--constraint", str(tmp_path / "constraints.txt"), "mdurl"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode
    assert "DO NOT MATCH THE HASHES" in done.stderr, done.stderr


def test_torch_from_a_local_folder_is_checked_before_it_is_installed(tmp_path: Path) -> None:
    pin = next(entry.split()[0] for entry in read_entries("constraints.txt") if entry.startswith("torch=="))
    (tmp_path / "torch-9-py3-none-any.whl").write_bytes(b"not torch")
    install = f"""
import sys
sys.path.insert(0, {str(ROOT / "tools")!r})
import install
from pathlib import Path
install.find_installed_version = lambda name: None
install.run_pip = lambda command, *arguments: print(command, *arguments)
install.install_torch(Path({str(tmp_path)!r}))
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_")}
    done = subprocess.run([sys.executable, "-c", install], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode
    assert "is not in constraints-hashed.txt" in done.stderr
    assert done.stdout.split() == ["download", "--no-deps", "--dest", str(tmp_path), pin]


def test_the_doctests_of_the_tools_pass() -> None:
    for tool in ("check_dockerfile", "install", "lock"):
        done = subprocess.run(
            [sys.executable, "-m", "doctest", str(ROOT / f"tools/{tool}.py")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
