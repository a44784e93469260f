"""When things happen in a run."""

from __future__ import annotations

import numpy as np
import torch

from rstc.config import Config, make_config
from rstc.training.schedule import StopTest, contrast_steps, last_step, renewal_steps


def test_renewals_are_dense_first_and_sparse_later() -> None:
    steps = sorted(renewal_steps(3000, make_config("paper", {"imbalance": "heavy"})))
    gaps = np.diff(steps)
    assert steps[0] >= 640
    assert (np.diff(gaps) >= -1).all()
    assert steps[-1] < 3000


def test_small_sets_end_after_their_epochs() -> None:
    config = Config(batch_size=10, max_steps=1000, max_epochs=3)
    assert [last_step(n, config) for n in (5, 10, 100, 10_000)] == [3, 3, 30, 1000]
    assert last_step(5, Config(max_steps=1000, max_epochs=0)) == 1000


def test_there_is_no_contrast_alone_without_contrast() -> None:
    assert contrast_steps(make_config("paper", {"imbalance": "heavy", "lambda_i": 0.0})) == 0


def test_the_stop_test_waits_its_interval_and_compares_with_the_last_test() -> None:
    test = StopTest(interval=50)
    assert test.share_changed(10, torch.tensor([0, 0, 1, 1])) is None
    assert test.share_changed(40, torch.tensor([1, 1, 1, 1])) is None, "too soon"
    assert test.share_changed(60, torch.tensor([0, 0, 1, 0])) == 0.25
    assert test.share_changed(110, torch.tensor([0, 0, 1, 0])) == 0.0
