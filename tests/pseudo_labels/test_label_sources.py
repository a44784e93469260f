"""Transports that turn predictions into labels, one update after another."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from rstc.pseudo_labels.label_sources import TransportLabelSource


@pytest.fixture
def log_p() -> Tensor:
    """Eighty texts of the first class and twenty of the second, predicted with confidence."""
    rows = torch.tensor([[2.0, 0.0]] * 80 + [[0.0, 2.0]] * 20)
    return rows.log_softmax(1)


def source(name: str) -> TransportLabelSource:
    return TransportLabelSource(name, 2, 0.1, "newton", np.random.default_rng(0))


def test_uniform_classes_are_uniform_and_estimated_ones_are_not(log_p: Tensor) -> None:
    clusters = log_p.argmax(1).numpy()
    assert source("ot-uniform").solve(log_p, clusters, 0.001).plan.sum(0).tolist() == pytest.approx([0.5, 0.5])
    assert source("saot").solve(log_p, clusters, 0.001).b.tolist() == pytest.approx([0.8, 0.2], abs=0.02)


def test_the_moving_average_keeps_a_tenth_of_the_last_classes(log_p: Tensor) -> None:
    average = source("ot-average")
    before = average.b
    after = average.solve(log_p, log_p.argmax(1).numpy(), 0.0).b.numpy()
    assert after == pytest.approx(0.1 * before + 0.9 * np.array([0.8, 0.2]))


def test_the_released_moving_average_takes_the_counts_by_first_appearance(log_p: Tensor) -> None:
    average = source("ot-average-released")
    before = average.b
    log_p = log_p.flip(0)  # the twenty texts of the second class come first
    after = average.solve(log_p, log_p.argmax(1).numpy(), 0.0).b.numpy()
    assert after == pytest.approx(0.1 * before + 0.9 * np.array([0.2, 0.8]))


def test_near_classes_remember_the_last_ones(log_p: Tensor) -> None:
    near = source("ot-near")
    first, second = (near.solve(log_p, log_p.argmax(1).numpy(), 0.1).b.numpy() for _ in range(2))
    assert abs(second[0] - 0.8) < abs(first[0] - 0.8)


def test_the_second_transport_begins_where_the_first_ended(log_p: Tensor) -> None:
    transports = source("saot")
    clusters = log_p.argmax(1).numpy()
    first, again = (transports.solve(log_p, clusters, 0.1) for _ in range(2))
    assert again.iterations < first.iterations
    assert again.b.tolist() == pytest.approx(first.b.tolist(), abs=1e-6)
