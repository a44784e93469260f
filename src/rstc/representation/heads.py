"""What stands on the encoder: the clustering network G_p, centroids or merged clusters in its place, and G_z."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NEVER = -1e4  # the logit of a cluster that is not to be predicted


class ClusteringNetwork(nn.Sequential):
    """G_p: embeddings (B, D) to logits over the clusters (B, C)."""

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
        """Renumber the clusters: what was cluster order[j] becomes cluster j."""
        last = self[-1]
        assert isinstance(last, nn.Linear)
        last.weight.copy_(last.weight[order])
        last.bias.copy_(last.bias[order])


class Centroids(nn.Module):
    """The nearest of C points: logits (B, C) are negated squared distances. Clusters found by k-means use it."""

    centroids: Tensor

    def __init__(self, dim: int, n_clusters: int, unit_length: bool) -> None:
        super().__init__()
        self.n_clusters, self.unit_length = n_clusters, unit_length
        self.register_buffer("centroids", torch.zeros(n_clusters, dim))

    def forward(self, E: Tensor) -> Tensor:
        """Return the logits of embeddings (B, D)."""
        points = F.normalize(E, dim=1) if self.unit_length else E
        return -(torch.cdist(points, self.centroids, compute_mode="donot_use_mm_for_euclid_dist") ** 2)

    @torch.no_grad()
    def reorder(self, order: Tensor) -> None:
        """Renumber the clusters: what was cluster order[j] becomes cluster j."""
        self.centroids.copy_(self.centroids[order])


class Grouped(nn.Module):
    """Clusters of another head, merged: a group is as likely as its likeliest cluster.

    So each cluster goes one way with all its texts; by sums, a text whose cluster stands alone could leave it.

    Args:
        head: what tells of the clusters, C of them.
        groups: which group each of them is in, (C,).
        n_clusters: how many groups there are; one that no cluster is in is never predicted.
    """

    groups: Tensor

    def __init__(self, head: ClusteringNetwork | Centroids, groups: Tensor, n_clusters: int) -> None:
        super().__init__()
        self.head, self.n_clusters = head, n_clusters
        self.register_buffer("groups", groups)

    def forward(self, E: Tensor) -> Tensor:
        """Return the logits of embeddings (B, D): the highest of each group, (B, n_clusters)."""
        logits: Tensor = self.head(E)
        least = logits.new_full((logits.shape[0], self.n_clusters), NEVER)
        return least.scatter_reduce(1, self.groups.expand_as(logits), logits, "amax")

    @torch.no_grad()
    def reorder(self, order: Tensor) -> None:
        """Renumber the groups: what was group order[j] becomes group j."""
        self.groups.copy_(order.argsort().to(self.groups.device)[self.groups])


def merged(head: ClusterHead, groups: Tensor, n_clusters: int) -> Grouped:
    """Return a head whose clusters are groups (C,) of another's; merging twice is merging once."""
    if isinstance(head, Grouped):
        return Grouped(head.head, groups.to(head.groups.device)[head.groups], n_clusters)
    return Grouped(head, groups, n_clusters)


ClusterHead = ClusteringNetwork | Centroids | Grouped


class ProjectingNetwork(nn.Module):
    """G_z: embeddings (B, D) to points on the unit sphere (B, D2), where L_I compares them."""

    def __init__(self, dim: int, projected: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, projected))

    def forward(self, E: Tensor) -> Tensor:
        """Return the projections, each of length one."""
        return F.normalize(self.layers(E), dim=1)
