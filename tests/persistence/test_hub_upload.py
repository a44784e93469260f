"""Upload of models to a stand-in of the hub on this machine, and loading them from it by the hub's own client."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from local_hub import LocalHub, run_local_hub
from rstc import RSTC, InputError

FORMER = {"strangers.safetensors": b"old", "encoder/old.json": b"{}"}
TEXTS = ["parcel late courier", "password login reset", "refund money bank"]


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


class Pushed(NamedTuple):
    """What the hub held after the pushes of a process, and what the process printed."""

    hub: LocalHub
    printed: list[str]


@pytest.fixture(scope="module")
def pushed(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pushed]:
    """Push in a process that knows this hub alone; the hub's client reads the address when it is imported."""
    page = (Path(__file__).parents[2] / "docs" / "install.md").read_text(encoding="utf-8")
    block = re.search(r'```python title="Hub"\n(.*?)```', page, re.DOTALL)
    assert block is not None
    code = f"""
{block[1]}
print(RSTC.load("hub:somebody/tickets").predict({TEXTS!r}).tolist())
from rstc import InputError
model = RSTC.load("run/model")
print(model.push_to_hub("somebody/new", license="mit", language="de"))
try:
    model.push_to_hub("somebody/forbidden")
except InputError as refused:
    print(refused)
"""
    folder = tmp_path_factory.mktemp("hub")
    shutil.copytree(finished_run, folder / "run")
    with run_local_hub() as hub:
        hub.files["somebody/tickets"] = {".gitattributes": b"", **FORMER}
        own = {"HF_ENDPOINT": hub.address, "HF_TOKEN": "a-token-for-the-tests"}
        own["HF_HOME"] = str(folder / "hub-home")
        own["HF_HUB_DISABLE_XET"] = "1"  # this hub takes large files by the protocol of Git LFS alone
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")} | own
        arguments: dict[str, Any] = {"capture_output": True, "text": True, "cwd": folder, "env": environment}
        done = subprocess.run([sys.executable, "-c", code], timeout=200, **arguments)
        assert done.returncode == 0, done.stderr
        yield Pushed(hub, done.stdout.splitlines())


def test_pushed_model_is_loaded_by_its_name(pushed: Pushed, model: RSTC) -> None:
    assert pushed.printed[0] == str(model.predict(TEXTS).tolist())
    assert pushed.hub.tokens == {"Bearer a-token-for-the-tests", None}  # uploads of content need no token


def test_repository_is_created_private_and_the_commit_is_returned(pushed: Pushed) -> None:
    assert [(one["name"], one["visibility"]) for one in pushed.hub.created] == [
        ("new", "private"),
        ("forbidden", "private"),
    ]
    assert pushed.printed[1].startswith(f"{pushed.hub.address}/somebody/new/commit/")


def test_former_model_is_replaced_in_one_commit(pushed: Pushed, finished_run: Path) -> None:
    folder = finished_run / "model"
    expected = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(pushed.hub.files["somebody/tickets"]) == expected | {".gitattributes"}
    assert [repo for repo, _ in pushed.hub.commits] == ["somebody/tickets", "somebody/new"]
    deleted = {line["value"]["path"] for line in pushed.hub.commits[0][1] if line["key"] == "deletedFile"}
    assert deleted == set(FORMER)


def test_given_license_and_language_are_in_the_card(pushed: Pushed) -> None:
    card = pushed.hub.files["somebody/new"]["README.md"].decode()
    assert "\nlicense: mit\n" in card
    assert "\nlanguage:\n- 'de'\n" in card


def test_neither_texts_nor_paths_of_this_machine_are_pushed(
    pushed: Pushed, finished_run: Path, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    content = b"\n".join(pushed.hub.files["somebody/tickets"].values()).lower()
    assert not [text for text in texts_and_topics[0] if text.encode() in content]
    description = pushed.hub.files["somebody/tickets"]["model.json"].decode()
    assert str(finished_run.parent.parent) not in description
    assert '"encoder": "model"' in description


def test_refused_push_is_one_sentence(pushed: Pushed) -> None:
    assert pushed.printed[2].startswith("somebody/forbidden was not uploaded to the hub (")
    assert "403" in pushed.printed[2]


def test_invalid_arguments_are_refused_before_anything_is_sent(model: RSTC, socket_disabled: None) -> None:
    for name in ("tickets", "a/b/c", "../x/y", "somebody/"):
        with pytest.raises(InputError, match="is not the name of a model on the hub, OWNER/MODEL"):
            model.push_to_hub(name)
    with pytest.raises(InputError, match="language='English' is not an ISO 639 code"):
        model.push_to_hub("somebody/tickets", language="English")
    with pytest.raises(InputError, match="is not written like a license"):
        model.push_to_hub("somebody/tickets", license="mit\nevil: yes")


def test_without_a_connection_the_push_says_so(model: RSTC, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rstc.runtime.hub.is_hub_reachable", lambda: False)
    with pytest.raises(InputError, match="the hub cannot be reached, so somebody/tickets was not uploaded"):
        model.push_to_hub("somebody/tickets")
