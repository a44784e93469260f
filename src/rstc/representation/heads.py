"""What stands on the encoder: the clustering network G_p, the projecting network G_z, and centroids in G_p's place."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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


class ProjectingNetwork(nn.Module):
    """G_z: embeddings (B, D) to points on the unit sphere (B, D2), where L_I compares them."""

    def __init__(self, dim: int, projected: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, projected))

    def forward(self, E: Tensor) -> Tensor:
        """Return the projections, each of length one."""
        return F.normalize(self.layers(E), dim=1)
