"""A run that was stopped or killed goes on, and ends as if nothing had happened."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc import RSTC, InputError
from rstc.training.checkpoint_file import SUFFIX, Checkpoints, Snapshot
from rstc.errors import CheckpointWarning, RetryWarning
from rstc.results.run_folder import check_target
from rstc.runtime.signals import Stopped

KILLS = int(os.environ.get("RSTC_KILLS", "8"))  # `make kills`: 20

WAYS: dict[str, dict[str, Any]] = {
    "default": {"renewals": 4},
    "saot": {"labels": "saot", "renewals": 4, "views": "deletion@0.2,swap@0.5", "trainable_layers": "all"},
    "moving average": {"labels": "ot-average", "renewals": 4, "contrast_steps": 3},
    "instance contrast": {"class_contrast": False},
    "frozen": {"trainable_layers": 0},
    "near words": {"views": "synonyms@0.5,cutoff@0.2", "renewals": 4},
}


class StopAt(Checkpoints):
    """Is asked to stop, or killed, after so many steps."""

    def __init__(self, folder: Path, step: int, by: int) -> None:
        super().__init__(folder)
        self.step, self.by = step, by

    def listener(self, stage: str, done: int, total: int) -> None:
        if stage == "train" and done == self.step:
            signal.raise_signal(self.by)


def fitted(quick: dict[str, Any], texts: list[str], way: dict[str, Any], **more: Any) -> RSTC:
    return RSTC(4, random_state=0, **(quick | way)).fit(texts, **more)


def same(one: RSTC, other: RSTC) -> bool:
    pairs = ((getattr(one, name), getattr(other, name)) for name in ("labels_", "probabilities_", "embedding_"))
    return (
        all(np.array_equal(a, b) for a, b in pairs)
        and one.history_ == other.history_
        and one.losses_ == other.losses_
        and np.array_equal(one.class_distribution_, other.class_distribution_)
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_stopped_run_ends_as_one_that_was_not(
    way: str, quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    whole = fitted(quick, texts, WAYS[way])
    for step in (2, 7, 12) if WAYS[way].get("trainable_layers") != 0 else ():
        asked = StopAt(tmp_path / "checkpoints", step, signal.SIGINT)
        with pytest.raises(Stopped):
            fitted(quick, texts, WAYS[way], checkpoints=asked, progress=asked.listener)
    resumed = fitted(quick, texts, WAYS[way], checkpoints=tmp_path / "checkpoints")
    assert same(resumed, whole)
    kept = Checkpoints(tmp_path / "checkpoints")
    again = fitted(quick, texts, WAYS[way], checkpoints=kept)
    assert kept.resumed_at == len(whole.losses_) or WAYS[way].get("class_contrast") is False
    assert same(again, whole), "from its end"


def test_given_views_and_a_number_that_is_counted_go_on_too(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    views = (texts[::-1], [text.upper() for text in texts])

    def run(**more: Any) -> RSTC:
        return RSTC((2, 6), random_state=0, renewals=4, max_fit_texts=100, **quick).fit(texts, views=views, **more)

    whole = run()
    asked = StopAt(tmp_path / "checkpoints", 7, signal.SIGTERM)
    with pytest.raises(Stopped):
        run(checkpoints=asked, progress=asked.listener)
    resumed = run(checkpoints=tmp_path / "checkpoints")
    assert same(resumed, whole)
    assert resumed.count_ == whole.count_


def test_a_killed_process_is_taken_up_again(tickets: Path, quick: dict[str, Any], tmp_path: Path) -> None:
    few = tickets.with_name("few.csv")  # of which each run takes a second
    few.write_text("".join(tickets.read_text().splitlines(keepends=True)[:49]))
    quicker = quick | {"renewals": 4, "max_steps": 6, "batch_size": 16, "kmeans_starts": 1}
    settings = [f"--set={name}={value}" for name, value in quicker.items()]
    command = ["cluster", str(few), "-k", "4", "--text-column", "text", *settings]
    asked = {"command": command, "folder": str(tmp_path / "killed"), "kills": KILLS}
    (tmp_path / "killed" / "whole").mkdir(parents=True)
    ran = subprocess.run(
        [sys.executable, Path(__file__).parent / "killing.py", json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=500,
    )
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(told) == KILLS, ran.stderr
    assert sum(one["code"] == -signal.SIGKILL for one in told) >= KILLS - 2, "one or two may be quicker than we"
    assert any(one["begun"] for one in told)
    whole = (tmp_path / "killed/whole/run/clusters.csv").read_bytes()
    for number, one in enumerate(told):
        assert one["again"] in (0, None), (one, ran.stderr)
        out = tmp_path / "killed" / str(number) / "run"
        assert (out / "clusters.csv").read_bytes() == whole, one
        assert not (out / "checkpoints").exists()
        assert one["left"] == [], "nothing lies about"


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def numbered(step: int) -> Snapshot:
    return Snapshot({"step": step}, {"weights": np.arange(5.0) + step})


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "new" / "folder")
    assert checkpoints.open({"texts": 1}) is None
    for step in range(5):
        checkpoints.save(numbered(step))
    assert [path.name for path in kept(checkpoints.folder)] == ["000004.checkpoint", "000005.checkpoint"]
    again = Checkpoints(checkpoints.folder)
    found = again.open({"texts": 1})
    assert found is not None
    assert (found.facts, found.arrays["weights"].tolist()) == ({"step": 4}, [4, 5, 6, 7, 8])
    assert again.resumed_at == 4
    again.save(numbered(5))
    assert kept(checkpoints.folder)[-1].name == "000006.checkpoint"


def spoil_by_cutting(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def spoil_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("spoil", [spoil_by_cutting, spoil_a_bit, lambda path: path.write_bytes(b"")])
def test_where_the_disk_spoiled_one_the_one_before_serves(spoil: Any, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.open({})
    for step in (1, 2):
        checkpoints.save(numbered(step))
    spoil(kept(tmp_path)[-1])
    with pytest.warns(CheckpointWarning, match=r"000002\.checkpoint is damaged"):
        found = Checkpoints(tmp_path).open({})
    assert found is not None
    assert found.facts["step"] == 1
    spoil(kept(tmp_path)[0])
    with pytest.warns(CheckpointWarning):
        assert Checkpoints(tmp_path).open({}) is None, "with none left it begins anew"
    assert kept(tmp_path) == []


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource")
    whole = fitted(quick, texts_and_topics[0], {})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.warns(CheckpointWarning, match="could not be saved; it goes on"):
            model = fitted(quick, texts_and_topics[0], {}, checkpoints=tmp_path / "checkpoints")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert same(model, whole)
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_another_run_is_not_gone_on_with(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    folder = tmp_path / "run" / "checkpoints"
    asked = StopAt(folder, 5, signal.SIGINT)
    with pytest.raises(Stopped):
        fitted(quick, texts, {}, checkpoints=asked, progress=asked.listener)
    with pytest.raises(InputError, match=r"run holds the beginning of another run \(texts, tau differ\)"):
        fitted(quick, texts[1:], {"tau": 0.7}, checkpoints=Checkpoints(folder))
    anew = Checkpoints(folder, replace=True)
    fitted(quick, texts, {"tau": 0.7}, checkpoints=anew)
    assert anew.resumed_at is None
    scratch = Checkpoints(folder, resume=False)
    fitted(quick, texts, {"tau": 0.7}, checkpoints=scratch)
    assert scratch.resumed_at is None


def test_where_no_checkpoint_can_be_kept_is_told_before_the_work(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        fitted(quick, texts_and_topics[0], {}, checkpoints=tmp_path / "file" / "checkpoints")


def test_a_folder_that_holds_something_else_is_left_alone(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds more than checkpoints \(thesis\.txt\)"):
        fitted(quick, texts_and_topics[0], {}, checkpoints=tmp_path)
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "checkpoints" / "model.bin").write_text("mine")
    with pytest.raises(InputError, match="holds more than checkpoints"):
        check_target(tmp_path / "run", overwrite=True)
    assert (tmp_path / "thesis.txt").exists()
    assert (tmp_path / "run" / "checkpoints" / "model.bin").exists()


def test_without_a_seed_nothing_can_be_gone_on_with(quick: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="checkpoints need a random_state"):
        RSTC(2, **quick).fit(["late parcel", "reset password"] * 5, checkpoints=tmp_path / "kept")


def test_other_functions_make_another_run(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    def quiet(texts: list[str]) -> list[str]:
        return [text.lower() for text in texts]

    def loud(texts: list[str]) -> list[str]:
        return [text.upper() for text in texts]

    kept = tmp_path / "kept"
    fitted(quick, texts_and_topics[0], {"views": quiet}, checkpoints=kept)
    again = Checkpoints(kept)
    fitted(quick, texts_and_topics[0], {"views": quiet}, checkpoints=again)
    assert again.resumed_at is not None
    with pytest.raises(InputError, match="makers differ"):
        fitted(quick, texts_and_topics[0], {"views": loud}, checkpoints=Checkpoints(kept))


def spoiled(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many steps after the fourth have a loss that is not finite."""
    from rstc.representation.objective import Contrasts

    honest, calls = Contrasts.forward, itertools.count()

    def forward(self: Contrasts, *arguments: Any) -> Any:
        losses = honest(self, *arguments)
        return losses._replace(L_I=losses.L_I * np.inf) if 4 <= next(calls) < 4 + times else losses

    monkeypatch.setattr(Contrasts, "forward", forward)


def test_a_loss_that_is_not_finite_is_taken_back_once(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled(1, monkeypatch)
    with pytest.warns(
        RetryWarning, match="at step 4; training went back to step 0 and goes on with learning rates 0.1"
    ):
        model = fitted(quick, texts_and_topics[0], {})
    assert model.n_iter_ == len(model.losses_) == 12
    assert np.isfinite(model.losses_).all()
    assert np.isfinite(model.embedding_).all()


def test_a_loss_that_stays_so_is_an_error(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled(2, monkeypatch)
    with pytest.warns(RetryWarning), pytest.raises(InputError, match="lower encoder_lr and head_lr"):
        fitted(quick, texts_and_topics[0], {})


def test_steps_that_blow_up_are_taken_back_too(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    with pytest.warns(RetryWarning), pytest.raises(InputError, match="finite number"):
        fitted(quick, texts_and_topics[0], {"encoder_lr": 1e30})
