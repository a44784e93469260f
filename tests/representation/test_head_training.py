"""Teaching the clustering network labels that were found beside it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from rstc.representation import head_training
from rstc.representation.head_training import fit_head, warm_up_head
from rstc.representation.heads import ClusteringNetwork


@pytest.fixture
def crowds() -> tuple[Tensor, Tensor]:
    """Three crowds in 16 dimensions: of 200, of 100, and one text alone in the midst of the first."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [200, 100, 1])
    E = np.eye(16)[[0, 1, 0]][labels] + 0.2 * rng.normal(size=(301, 16))
    return torch.from_numpy(E.astype(np.float32)), torch.from_numpy(labels)


def head(n_clusters: int = 3, dropout: float = 0.5) -> ClusteringNetwork:
    torch.manual_seed(0)
    return ClusteringNetwork(16, n_clusters, dropout)


def test_by_heart_no_cluster_is_left_out_and_few_labels_are(crowds: tuple[Tensor, Tensor]) -> None:
    E, labels = crowds
    learner = head()
    fit_head(learner, E, labels, np.random.default_rng(0))
    found = learner(E).argmax(1)
    assert set(found.tolist()) == {0, 1, 2}
    assert (found == labels).float().mean() > 0.98


def test_by_heart_draws_nothing_from_torch(crowds: tuple[Tensor, Tensor]) -> None:
    learner = head()
    before = torch.get_rng_state()
    fit_head(learner, *crowds, np.random.default_rng(0))
    assert torch.equal(torch.get_rng_state(), before)  # dropout would have


def test_a_head_start_ends_at_its_goal(crowds: tuple[Tensor, Tensor]) -> None:
    E, labels = crowds[0][:300], crowds[1][:300]
    labels = torch.where(torch.arange(300) % 5 == 0, 1 - labels, labels)  # a fifth of them is noise
    learner = head()
    warm_up_head(learner, E, labels, 0.7, 50, 5e-4, np.random.default_rng(0))
    agreement = (learner.eval()(E).argmax(1) == labels).float().mean()
    assert 0.7 <= agreement < 0.9


def test_no_goal_no_head_start(crowds: tuple[Tensor, Tensor]) -> None:
    learner, untaught = head(), head()
    warm_up_head(learner, *crowds, 0.0, 50, 5e-4, np.random.default_rng(0))
    assert all(torch.equal(a, b) for a, b in zip(learner.parameters(), untaught.parameters(), strict=True))


def test_it_gives_up_on_what_nobody_can_learn() -> None:
    E, labels = torch.ones(40, 16), torch.arange(40) % 4
    learner, looks = head(4), []
    learner.register_forward_hook(lambda *_: looks.append(torch.is_grad_enabled()))
    fit_head(learner, E, labels, np.random.default_rng(0))
    assert sum(looks) < head_training.MAX_STEPS  # of two times that
