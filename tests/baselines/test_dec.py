"""Deep embedded clustering, on values computed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from rstc.baselines.dec import cluster_loss, soft_assignment, target_distribution


def test_soft_assignment_is_the_student_t_kernel() -> None:
    E = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    centres = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    # Squared distances 0, 1 and 25, 18: kernels 1, 1/2 and 1/26, 1/19.
    expected = [[2 / 3, 1 / 3], [19 / 45, 26 / 45]]
    assert soft_assignment(E, centres).tolist() == [pytest.approx(row, abs=1e-6) for row in expected]


def test_alpha_is_the_degrees_of_freedom_of_the_kernel() -> None:
    # (1 + 3/3)^(-2) = 1/4 against 1.
    q = soft_assignment(torch.tensor([[0.0]]), torch.tensor([[0.0], [math.sqrt(3)]]), alpha=3.0)
    assert q[0].tolist() == pytest.approx([0.8, 0.2], abs=1e-6)


def test_a_point_on_its_centre_has_a_finite_gradient() -> None:
    E = torch.full((1, 3), 0.1, requires_grad=True)
    soft_assignment(E, torch.tensor([[0.1, 0.1, 0.1], [1.0, 0.0, 0.0]]))[0, 0].backward()
    assert E.grad is not None
    assert torch.isfinite(E.grad).all()


def test_target_is_normalised_by_the_size_of_the_cluster() -> None:
    q = torch.tensor([[0.6, 0.4], [0.9, 0.1]])  # f = 1.5, 0.5
    # Row one: 0.36/1.5 = 0.24 against 0.16/0.5 = 0.32; row two: 0.54 against 0.02.
    expected = [[0.24 / 0.56, 0.32 / 0.56], [0.54 / 0.56, 0.02 / 0.56]]
    assert target_distribution(q).tolist() == [pytest.approx(row, abs=1e-6) for row in expected]


def test_loss_is_the_mean_kl_divergence_of_the_rows() -> None:
    q = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    p = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    assert cluster_loss(q, p).item() == pytest.approx(math.log(2) / 2)


def test_gradient_descent_moves_a_point_towards_its_centre() -> None:
    E, centres = torch.tensor([[1.0], [9.0]], requires_grad=True), torch.tensor([[0.0], [10.0]])
    q = soft_assignment(E, centres)
    cluster_loss(q, target_distribution(q.detach())).backward()
    assert E.grad is not None
    assert E.grad[0].item() > 0 > E.grad[1].item()
