"""What rstc is made of is known, and nothing of it asks the network without being told to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_every_package_we_ask_for_has_one_exact_version() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [one for extra in project["optional-dependencies"].values() for one in extra] + project["dependencies"]
    names = {_normal(re.split(r"[\\[<>=!;@ ]", one)[0]) for one in asked}
    exact = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, equals, _ = line.partition("==")
            assert equals, line
            exact[_normal(name)] = line
    missing = names - set(exact) - {"pandas-stubs"}
    assert not missing


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
