"""The two losses against their formulas, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch.nn import functional as F

from rstc.representation.losses import class_contrastive_loss, nt_xent_loss


def test_class_contrastive_loss_is_the_sum_of_both_views_cross_entropies() -> None:
    P1, P2 = torch.tensor([[0.5, 0.5], [0.2, 0.8]]), torch.tensor([[0.25, 0.75], [0.9, 0.1]])
    Q = torch.tensor([0, 1])
    by_hand = -(math.log(0.5) + math.log(0.8)) / 2 - (math.log(0.25) + math.log(0.1)) / 2
    assert class_contrastive_loss(P1.log(), P2.log(), Q).item() == pytest.approx(by_hand, abs=1e-6)


def test_parts_of_the_class_contrastive_loss_add_up_to_that_of_the_batch() -> None:
    generator = torch.Generator().manual_seed(0)
    logits1, logits2 = (torch.randn(5, 3, generator=generator) for _ in range(2))
    Q = torch.tensor([0, 1, 2, 1, 0])
    parts = [class_contrastive_loss(logits1[rows], logits2[rows], Q[rows], 5) for rows in (slice(2), slice(2, 5))]
    assert sum(parts).item() == pytest.approx(class_contrastive_loss(logits1, logits2, Q).item(), abs=1e-6)
    assert class_contrastive_loss(logits1[:0], logits2[:0], Q[:0], 5).item() == 0, "a process without texts"


@pytest.mark.parametrize("tau", [1.0, 0.2])
def test_nt_xent_equals_the_double_loop_of_equations_5_and_6(tau: float) -> None:
    generator = torch.Generator().manual_seed(0)
    Z1, Z2 = (F.normalize(torch.randn(5, 4, generator=generator), dim=1) for _ in range(2))
    Z, total = torch.cat([Z1, Z2]), 0.0
    for i in range(10):
        j = (i + 5) % 10
        others = sum(math.exp(float(Z[i] @ Z[k]) / tau) for k in range(10) if k != i)
        total -= math.log(math.exp(float(Z[i] @ Z[j]) / tau) / others)
    assert nt_xent_loss(Z1, Z2, tau).item() == pytest.approx(total / 10, abs=1e-5)


def test_nt_xent_is_symmetric_in_the_views() -> None:
    Z1, Z2 = F.normalize(torch.randn(6, 3), dim=1), F.normalize(torch.randn(6, 3), dim=1)
    assert nt_xent_loss(Z1, Z2, 0.5).item() == pytest.approx(nt_xent_loss(Z2, Z1, 0.5).item(), abs=1e-6)


def test_nt_xent_gradient_pulls_partners_together() -> None:
    Z1 = F.normalize(torch.tensor([[1.0, 0.2], [0.1, 1.0]]), dim=1).requires_grad_()
    Z2 = F.normalize(torch.tensor([[1.0, -0.3], [-0.2, 1.0]]), dim=1)
    nt_xent_loss(Z1, Z2, 0.5).backward()
    moved = F.normalize(Z1.detach() - 0.01 * Z1.grad, dim=1)
    assert ((moved * Z2).sum(1) > (Z1.detach() * Z2).sum(1)).all()


numbers = st.one_of(st.sampled_from([0.0, 1e30, -1e30, 1e-45]), st.floats(-1e4, 1e4, width=32))


@settings(max_examples=100, deadline=None)
@given(st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(lambda s: arrays(np.float32, (2, *s), elements=numbers)))
def test_losses_and_gradients_of_any_finite_numbers_are_finite(values: np.ndarray) -> None:
    first, second = (torch.tensor(one, requires_grad=True) for one in values)
    Q = torch.zeros(len(first), dtype=torch.int64)
    L_C = class_contrastive_loss(first, second, Q)
    L_I = nt_xent_loss(F.normalize(first, dim=1), F.normalize(second, dim=1), tau=0.01)
    assert L_C.isfinite()
    assert L_I.isfinite()
    L_C.backward()
    assert first.grad is not None
    assert first.grad.isfinite().all()
