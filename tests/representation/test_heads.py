"""The heads on top of the encoder."""

from __future__ import annotations

import pytest
import torch

from rstc.representation.heads import CentroidHead, ClusteringNetwork, ProjectingNetwork, merge_head


def test_projections_have_unit_length() -> None:
    Z = ProjectingNetwork(8, 128)(torch.randn(5, 8))
    assert Z.shape == (5, 128)
    assert Z.norm(dim=1).tolist() == pytest.approx([1.0] * 5, abs=1e-5)


def test_clustering_network_has_the_layers_of_the_paper() -> None:
    types = [type(layer).__name__ for layer in ClusteringNetwork(8, 3, 0.5)]
    assert types == ["Dropout", "Linear", "ReLU", "Dropout", "Linear", "ReLU", "Linear"]


def test_reorder_renumbers_the_clusters() -> None:
    head, E = ClusteringNetwork(8, 3, 0.5).eval(), torch.randn(4, 8)
    before, order = head(E), torch.tensor([2, 0, 1])
    head.reorder(order)
    assert torch.allclose(head(E), before[:, order])


def test_centroid_head_predicts_the_nearest_centroid() -> None:
    head = CentroidHead(2, 2, unit_length=False)
    head.centroids.copy_(torch.tensor([[0.0, 0.0], [4.0, 0.0]]))
    logits = head(torch.tensor([[1.0, 0.0], [3.0, 1.0]]))
    assert logits.tolist() == [pytest.approx([-1.0, -9.0]), pytest.approx([-10.0, -2.0])]
    head.reorder(torch.tensor([1, 0]))
    assert head(torch.tensor([[1.0, 0.0]])).argmax().item() == 1


def test_centroid_head_of_unit_length_ignores_the_norm_of_embeddings() -> None:
    head = CentroidHead(2, 2, unit_length=True)
    head.centroids.copy_(torch.eye(2))
    E = torch.tensor([[3.0, 1.0]])
    assert torch.allclose(head(E), head(10 * E))


def test_merged_head_predicts_the_group_of_the_likeliest_cluster() -> None:
    head, E = ClusteringNetwork(8, 4, 0.5).eval(), torch.randn(50, 8)
    groups = torch.tensor([0, 2, 0, 3])  # no cluster is in group 1
    merged = merge_head(head, groups, 4)
    assert torch.equal(merged(E).argmax(1), groups[head(E).argmax(1)])


def test_merging_a_merged_head_merges_its_groups() -> None:
    head, E = ClusteringNetwork(8, 4, 0.5).eval(), torch.randn(50, 8)
    once = merge_head(merge_head(head, torch.tensor([0, 1, 1, 2]), 3), torch.tensor([0, 0, 1]), 2)
    assert once.head is head
    assert torch.equal(once(E), merge_head(head, torch.tensor([0, 0, 0, 1]), 2)(E))
