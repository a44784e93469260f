"""When labels are updated, and when a run ends."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rstc.config import Config, make_config
from rstc.errors import InputError
from rstc.training.schedule import (
    Schedule,
    StoppingCriterion,
    count_contrast_steps,
    count_steps,
    plan_label_updates,
)


def test_label_updates_are_dense_first_and_sparse_later() -> None:
    steps = sorted(plan_label_updates(3000, make_config("paper", {"imbalance": "heavy"})))
    gaps = np.diff(steps)
    assert steps[0] >= 640
    assert (np.diff(gaps) >= -1).all()
    assert steps[-1] < 3000


def test_small_sets_end_after_their_epochs() -> None:
    config = Config(batch_size=10, max_steps=1000, max_epochs=3)
    assert [count_steps(n, 1, config) for n in (5, 10, 100, 10_000)] == [3, 3, 30, 1000]
    assert count_steps(5, 1, Config(max_steps=1000, max_epochs=0)) == 1000


def test_there_are_no_contrast_steps_without_lambda_i() -> None:
    assert count_contrast_steps(make_config("paper", {"imbalance": "heavy", "lambda_i": 0.0})) == 0


def test_labels_are_updated_at_the_last_step() -> None:
    schedule = Schedule.from_config(100, 1, Config(batch_size=10, max_steps=30, max_epochs=0))
    assert schedule.max_steps == 30
    assert 30 in schedule.label_update_steps


def test_contrast_steps_without_trainable_layers_are_refused() -> None:
    with pytest.raises(InputError, match="needs trainable layers, got trainable_layers=0"):
        Schedule.from_config(100, 0, Config(trainable_layers=0, contrast_steps=5))


def test_stopping_criterion_waits_its_interval_and_compares_with_the_last_test() -> None:
    stopping = StoppingCriterion(interval=50, delta=0.1)
    assert stopping.test(10, torch.tensor([0, 0, 1, 1])) is None
    assert stopping.test(40, torch.tensor([1, 1, 1, 1])) is None, "too soon"
    assert stopping.test(60, torch.tensor([0, 0, 1, 0])) == 0.25
    assert stopping.test(110, torch.tensor([0, 0, 1, 0])) == 0.0


def test_stopping_criterion_is_met_below_delta() -> None:
    stopping = StoppingCriterion(interval=50, delta=0.1)
    assert [stopping.is_met(share) for share in (None, 0.25, 0.1, 0.05)] == [False, False, False, True]


def test_stopping_criterion_restores_its_last_test() -> None:
    stopping, restored = StoppingCriterion(interval=50), StoppingCriterion(interval=50)
    stopping.test(10, torch.tensor([0, 0, 1, 1]))
    restored.load_state_dict(stopping.state_dict())
    assert restored.test(60, torch.tensor([0, 0, 1, 0])) == 0.25
