"""The heads of the network: the clustering network G_p, alternatives to it, and the projecting network G_z."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NEVER_PREDICTED_LOGIT = -1e4  # logit of an empty cluster, lower than that of any other


class ClusteringNetwork(nn.Sequential):
    """G_p: embeddings (B, D) to logits over the clusters (B, C).

    Parameters
    ----------
    dim : int
        D, the dimension of the embeddings.
    n_clusters : int
        C, the number of clusters.
    dropout : float
        The dropout probability.
    """

    def __init__(self, dim: int, n_clusters: int, dropout: float) -> None:
        super().__init__(
            nn.Dropout(dropout),
            nn.Linear(dim, dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(dim, dim),
            nn.ReLU(),
            nn.Linear(dim, n_clusters),
        )
        self.n_clusters = n_clusters

    @torch.no_grad()
    def reorder(self, order: Tensor) -> None:
        """Renumber the clusters: cluster order[j] becomes cluster j."""
        last = self[-1]
        assert isinstance(last, nn.Linear)
        last.weight.copy_(last.weight[order])
        last.bias.copy_(last.bias[order])


class CentroidHead(nn.Module):
    """The head of k-means clusters: logits (B, C) are negated squared distances to C centroids.

    Parameters
    ----------
    dim : int
        D, the dimension of the embeddings.
    n_clusters : int
        C, the number of clusters.
    unit_length : bool
        Whether embeddings are normalised first.
    """

    centroids: Tensor

    def __init__(self, dim: int, n_clusters: int, unit_length: bool) -> None:
        super().__init__()
        self.n_clusters, self.unit_length = n_clusters, unit_length
        self.register_buffer("centroids", torch.zeros(n_clusters, dim))

    def forward(self, E: Tensor) -> Tensor:
        """Return the logits (B, C) of embeddings (B, D)."""
        points = F.normalize(E, dim=1) if self.unit_length else E
        return -(torch.cdist(points, self.centroids, compute_mode="donot_use_mm_for_euclid_dist") ** 2)

    @torch.no_grad()
    def reorder(self, order: Tensor) -> None:
        """Renumber the clusters: cluster order[j] becomes cluster j."""
        self.centroids.copy_(self.centroids[order])


class GroupedHead(nn.Module):
    """Merged clusters of another head: the logit of a group is the highest logit of its clusters.

    So all texts of a cluster move to its group. If probabilities were summed instead, texts could move from a cluster
    that was not merged to a group of several clusters.

    Parameters
    ----------
    head : ClusteringNetwork or CentroidHead
        The head of the C clusters.
    groups : Tensor (C,)
        The group of each cluster.
    n_clusters : int
        The number of groups; a group without clusters is never predicted.
    """

    groups: Tensor

    def __init__(self, head: ClusteringNetwork | CentroidHead, groups: Tensor, n_clusters: int) -> None:
        super().__init__()
        self.head, self.n_clusters = head, n_clusters
        self.register_buffer("groups", groups)

    def forward(self, E: Tensor) -> Tensor:
        """Return the logits (B, n_clusters) of embeddings (B, D)."""
        logits: Tensor = self.head(E)  # (B, C)
        lowest = logits.new_full((logits.shape[0], self.n_clusters), NEVER_PREDICTED_LOGIT)
        return lowest.scatter_reduce(1, self.groups.expand_as(logits), logits, "amax")

    @torch.no_grad()
    def reorder(self, order: Tensor) -> None:
        """Renumber the groups: group order[j] becomes group j."""
        self.groups.copy_(order.argsort().to(self.groups.device)[self.groups])


ClusterHead = ClusteringNetwork | CentroidHead | GroupedHead


def merge_head(head: ClusterHead, groups: Tensor, n_clusters: int) -> GroupedHead:
    """Return a head whose clusters are groups of another head's clusters.

    Parameters
    ----------
    head : ClusterHead
        The head whose clusters are merged. The groups of a `GroupedHead` are merged without nesting heads.
    groups : Tensor (C,)
        The group of each of its clusters.
    n_clusters : int
        The number of groups.
    """
    if isinstance(head, GroupedHead):
        return GroupedHead(head.head, groups.to(head.groups.device)[head.groups], n_clusters)
    return GroupedHead(head, groups, n_clusters)


class ProjectingNetwork(nn.Module):
    """G_z: embeddings (B, D) to projections Z (B, D2) on the unit sphere, which L_I compares.

    Parameters
    ----------
    dim : int
        D, the dimension of the embeddings.
    projection_dim : int
        D2, the dimension of the projections.
    """

    def __init__(self, dim: int, projection_dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, projection_dim))

    def forward(self, E: Tensor) -> Tensor:
        """Return the projections, each of unit length."""
        return F.normalize(self.layers(E), dim=1)
