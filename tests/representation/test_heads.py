"""The networks on top of the encoder."""

from __future__ import annotations

import pytest
import torch

from rstc.representation.heads import Centroids, ClusteringNetwork, ProjectingNetwork


def test_projections_have_length_one() -> None:
    Z = ProjectingNetwork(8, 128)(torch.randn(5, 8))
    assert Z.shape == (5, 128)
    assert Z.norm(dim=1).tolist() == pytest.approx([1.0] * 5, abs=1e-5)


def test_clustering_network_has_the_papers_layers() -> None:
    kinds = [type(layer).__name__ for layer in ClusteringNetwork(8, 3, 0.5)]
    assert kinds == ["Dropout", "Linear", "ReLU", "Dropout", "Linear", "ReLU", "Linear"]


def test_reordering_renumbers_the_clusters() -> None:
    head, E = ClusteringNetwork(8, 3, 0.5).eval(), torch.randn(4, 8)
    before, order = head(E), torch.tensor([2, 0, 1])
    head.reorder(order)
    assert torch.allclose(head(E), before[:, order])


def test_centroids_choose_the_nearest_point() -> None:
    head = Centroids(2, 2, unit_length=False)
    head.centroids.copy_(torch.tensor([[0.0, 0.0], [4.0, 0.0]]))
    logits = head(torch.tensor([[1.0, 0.0], [3.0, 1.0]]))
    assert logits.tolist() == [pytest.approx([-1.0, -9.0]), pytest.approx([-10.0, -2.0])]
    head.reorder(torch.tensor([1, 0]))
    assert head(torch.tensor([[1.0, 0.0]])).argmax().item() == 1


def test_centroids_of_unit_length_ignore_how_long_an_embedding_is() -> None:
    head = Centroids(2, 2, unit_length=True)
    head.centroids.copy_(torch.eye(2))
    E = torch.tensor([[3.0, 1.0]])
    assert torch.allclose(head(E), head(10 * E))
