"""A run that was stopped is resumed, and ends as if it had not been interrupted."""

from __future__ import annotations

import hashlib
import itertools
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from rstc import RSTC, InputError
from rstc.errors import CheckpointWarning, RetryWarning
from rstc.io.checkpoint_names import list_checkpoints
from rstc.results.run_folder import check_target
from rstc.runtime.signals import StopRequested
from rstc.training.checkpoint_file import StateDict, flatten_state, unflatten_state
from rstc.training.checkpointing import CheckpointFolder

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {"renewals": 4},
    "saot": {
        "labels": "saot",
        "renewals": 4,
        "views": "deletion@0.2,swap@0.5",
        "trainable_layers": "all",
        "words": 1.0,
        "static": 0.0,
    },
    "moving average": {"labels": "ot-average-released", "renewals": 4, "contrast_steps": 3},
    "instance contrast": {"class_contrast": False},
    "frozen": {"trainable_layers": 0},
    "near words": {"views": "synonyms@0.5,cutoff@0.2", "renewals": 4},
}


class StopAt(CheckpointFolder):
    """A checkpoint folder whose run receives a signal at a step."""

    def __init__(self, folder: Path, step: int, signal_number: int) -> None:
        super().__init__(folder)
        self.step, self.signal_number = step, signal_number

    def listener(self, stage: str, done: int, total: int) -> None:
        if stage == "train" and done == self.step:
            signal.raise_signal(self.signal_number)


def fit(quick: dict[str, Any], texts: list[str], settings: dict[str, Any], **more: Any) -> RSTC:
    return RSTC(4, random_state=0, **(quick | settings)).fit(texts, **more)


def is_same(first: RSTC, second: RSTC) -> bool:
    names = ("labels_", "probabilities_", "embedding_", "class_distribution_")
    return (
        all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
        and first.history_ == second.history_
        and first.losses_ == second.losses_
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_resumed_run_has_the_result_of_an_uninterrupted_one(
    variant: str, quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    expected = fit(quick, texts, VARIANTS[variant])
    for step in (2, 7, 12) if VARIANTS[variant].get("trainable_layers") != 0 else ():
        stopped = StopAt(tmp_path / "checkpoints", step, signal.SIGINT)
        with pytest.raises(StopRequested):
            fit(quick, texts, VARIANTS[variant], checkpoints=stopped, progress=stopped.listener)
    resumed = fit(quick, texts, VARIANTS[variant], checkpoints=tmp_path / "checkpoints")
    assert is_same(resumed, expected)
    checkpoints = CheckpointFolder(tmp_path / "checkpoints")
    again = fit(quick, texts, VARIANTS[variant], checkpoints=checkpoints)
    assert checkpoints.resumed_at == len(expected.losses_) or VARIANTS[variant].get("class_contrast") is False
    assert is_same(again, expected), "resumed from the last checkpoint of a finished run"


def test_run_with_given_views_and_estimated_n_clusters_is_resumed(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    views = (texts[::-1], [text.upper() for text in texts])

    def run(**more: Any) -> RSTC:
        return RSTC((2, 6), random_state=0, renewals=4, max_fit_texts=100, **quick).fit(texts, views=views, **more)

    expected = run()
    stopped = StopAt(tmp_path / "checkpoints", 7, signal.SIGTERM)
    with pytest.raises(StopRequested):
        run(checkpoints=stopped, progress=stopped.listener)
    resumed = run(checkpoints=tmp_path / "checkpoints")
    assert is_same(resumed, expected)
    assert resumed.n_clusters_search_ == expected.n_clusters_search_


def make_state(step: int) -> StateDict:
    return {"step": step, "optimizer": {"weights": np.arange(5.0) + step}}


def test_state_survives_flattening() -> None:
    state = {
        "step": 3,
        "labels": torch.tensor([1, 0]),
        "adam": {"0": {"step": torch.tensor(2.0), "exp_avg": torch.ones(2, 3)}},
        "rng": [np.random.MT19937(0).state, np.random.PCG64(0).state],
        "empty": {"list": [], "none": None, "array": np.zeros((0, 2))},
    }
    tree, arrays = flatten_state(state)
    restored = unflatten_state(json.loads(json.dumps(tree)), arrays)
    assert restored["labels"].tolist() == [1, 0]
    assert restored["adam"]["0"]["step"].shape == ()
    assert torch.equal(restored["adam"]["0"]["exp_avg"], torch.ones(2, 3))
    assert restored["rng"][1] == state["rng"][1]
    assert np.array_equal(restored["rng"][0]["state"]["key"], state["rng"][0]["state"]["key"])
    assert restored["empty"]["list"] == []
    assert restored["empty"]["none"] is None
    assert restored["empty"]["array"].shape == (0, 2)


def test_last_two_checkpoints_are_kept(tmp_path: Path) -> None:
    checkpoints = CheckpointFolder(tmp_path / "new" / "folder")
    assert checkpoints.open({"texts": 1}) is None
    for step in range(5):
        checkpoints.save(make_state(step))
    assert [path.name for path in list_checkpoints(checkpoints.folder)] == ["000004.checkpoint", "000005.checkpoint"]
    again = CheckpointFolder(checkpoints.folder)
    state = again.open({"texts": 1})
    assert state is not None
    assert (state["step"], state["optimizer"]["weights"].tolist()) == (4, [4, 5, 6, 7, 8])
    assert again.resumed_at == 4
    again.save(make_state(5))
    assert list_checkpoints(checkpoints.folder)[-1].name == "000006.checkpoint"


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, lambda path: path.write_bytes(b"")])
def test_checkpoint_before_a_damaged_one_is_used(damage: Any, tmp_path: Path) -> None:
    checkpoints = CheckpointFolder(tmp_path)
    checkpoints.open({})
    for step in (1, 2):
        checkpoints.save(make_state(step))
    damage(list_checkpoints(tmp_path)[-1])
    with pytest.warns(CheckpointWarning, match=r"000002\.checkpoint is damaged"):
        state = CheckpointFolder(tmp_path).open({})
    assert state is not None
    assert state["step"] == 1
    damage(list_checkpoints(tmp_path)[0])
    with pytest.warns(CheckpointWarning):
        assert CheckpointFolder(tmp_path).open({}) is None, "without any it starts from scratch"
    assert list_checkpoints(tmp_path) == []


def test_run_continues_without_checkpoint_on_a_full_disk(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource")
    expected = fit(quick, texts_and_topics[0], {})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.warns(CheckpointWarning, match="could not be saved; the run continues"):
            model = fit(quick, texts_and_topics[0], {}, checkpoints=tmp_path / "checkpoints")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert is_same(model, expected)
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_checkpoints_of_another_run_are_refused(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    folder = tmp_path / "run" / "checkpoints"
    stopped = StopAt(folder, 5, signal.SIGINT)
    with pytest.raises(StopRequested):
        fit(quick, texts, {}, checkpoints=stopped, progress=stopped.listener)
    with pytest.raises(InputError, match=r"run holds checkpoints of another run \(texts, tau differ\)"):
        fit(quick, texts[1:], {"tau": 0.7}, checkpoints=CheckpointFolder(folder))
    replaced = CheckpointFolder(folder, replace=True)
    fit(quick, texts, {"tau": 0.7}, checkpoints=replaced)
    assert replaced.resumed_at is None
    scratch = CheckpointFolder(folder, resume=False)
    fit(quick, texts, {"tau": 0.7}, checkpoints=scratch)
    assert scratch.resumed_at is None


def test_checkpoints_of_an_earlier_format_are_refused_or_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints"
    folder.mkdir(parents=True)
    run = {"texts": 1, "rstc": "0.1.0"}
    facts = json.dumps({"run": run, "facts": {"step": 3}})
    content = save({"weights": np.arange(5.0)}, {"facts": facts})
    (folder / "000001.checkpoint").write_bytes(hashlib.sha256(content).digest() + content)
    with pytest.raises(InputError, match=r"holds checkpoints of another run \(checkpoint format differ\)"):
        CheckpointFolder(folder).open(run)
    assert CheckpointFolder(folder, replace=True).open(run) is None
    assert list_checkpoints(folder) == []


def test_folder_that_cannot_be_written_is_refused_before_training(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        fit(quick, texts_and_topics[0], {}, checkpoints=tmp_path / "file" / "checkpoints")


def test_folder_that_holds_other_files_is_refused(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds more than checkpoints \(thesis\.txt\)"):
        fit(quick, texts_and_topics[0], {}, checkpoints=tmp_path)
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "checkpoints" / "model.bin").write_text("mine")
    with pytest.raises(InputError, match="holds more than checkpoints"):
        check_target(tmp_path / "run", overwrite=True)
    assert (tmp_path / "thesis.txt").exists()
    assert (tmp_path / "run" / "checkpoints" / "model.bin").exists()


def test_checkpoints_need_a_random_state(quick: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="checkpoints need a random_state"):
        RSTC(2, **quick).fit(["late parcel", "reset password"] * 5, checkpoints=tmp_path / "checkpoints")


def test_other_augmenting_functions_make_another_run(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    def quiet(texts: list[str]) -> list[str]:
        return [text.lower() for text in texts]

    def loud(texts: list[str]) -> list[str]:
        return [text.upper() for text in texts]

    folder = tmp_path / "checkpoints"
    fit(quick, texts_and_topics[0], {"views": quiet}, checkpoints=folder)
    again = CheckpointFolder(folder)
    fit(quick, texts_and_topics[0], {"views": quiet}, checkpoints=again)
    assert again.resumed_at is not None
    with pytest.raises(InputError, match="augmenters differ"):
        fit(quick, texts_and_topics[0], {"views": loud}, checkpoints=CheckpointFolder(folder))


def make_losses_infinite(n_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the losses of some steps after the fourth infinite."""
    from rstc.representation.objective import ContrastiveObjective

    original, calls = ContrastiveObjective.forward, itertools.count()

    def forward(self: ContrastiveObjective, *arguments: Any) -> Any:
        losses = original(self, *arguments)
        return losses._replace(L_I=losses.L_I * np.inf) if 4 <= next(calls) < 4 + n_steps else losses

    monkeypatch.setattr(ContrastiveObjective, "forward", forward)


def test_run_returns_once_from_a_loss_that_is_not_finite(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_losses_infinite(1, monkeypatch)
    with pytest.warns(
        RetryWarning, match="at step 4; training returned to step 0 and continues with learning rates 0.1"
    ):
        model = fit(quick, texts_and_topics[0], {})
    assert model.n_iter_ == len(model.losses_) == 12
    assert np.isfinite(model.losses_).all()
    assert np.isfinite(model.embedding_).all()


def test_second_loss_that_is_not_finite_is_an_error(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_losses_infinite(2, monkeypatch)
    with pytest.warns(RetryWarning), pytest.raises(InputError, match="lower encoder_lr and head_lr"):
        fit(quick, texts_and_topics[0], {})


def test_diverging_learning_rate_is_an_error_after_a_retry(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    with pytest.warns(RetryWarning), pytest.raises(InputError, match="finite number"):
        fit(quick, texts_and_topics[0], {"encoder_lr": 1e30})
