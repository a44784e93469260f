"""SBERT with k-means: clusters of a sentence encoder's embeddings as they come, which is where RSTC begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.initial import kmeans_labels
from rstc.representation.loading import load_encoder


class SBERT(ClusterMixin, BaseEstimator):
    """k-means on the embeddings of a sentence encoder that is not trained.

    After Reimers and Gurevych 2019 (Sentence-BERT), the row "SBERT(k-means)" of the paper, which departs from it in the
    encoder: theirs is distilbert-base-nli-stsb-mean-tokens, ours the embedded all-MiniLM-L6-v2 unless one is named.

    Args:
        n_clusters: how many clusters to find.
        random_state: a seed.
        kmeans_starts: runs of k-means, of which the best is kept.
        encoder: a Sentence-Transformers model as a folder or a hub name; None: the embedded MiniLM.
        max_tokens: texts are cut to this many tokens.
        unit_length: whether k-means sees the embeddings at length one.

    Attributes:
        labels_: the cluster of each text, (N,).
        embedding_: the embeddings of the texts, (N, D).
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 10,
        encoder: str | None = None,
        max_tokens: int = 32,
        unit_length: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.encoder = encoder
        self.max_tokens = max_tokens
        self.unit_length = unit_length

    def fit(self, X: Sequence[str], y: object = None, embeddings: NDArray[np.float32] | None = None) -> SBERT:
        """Cluster texts; embeddings (N, D) of them that are there already are taken as they are."""
        if embeddings is None:
            encoder = load_encoder(self.encoder, "mean", self.max_tokens)
            embeddings = encoder.embed(encoder.tokenize(X)).numpy()
        points = normalize(embeddings) if self.unit_length else embeddings
        rng = np.random.default_rng(self.random_state)
        self.labels_ = kmeans_labels(points, self.n_clusters, rng, self.kmeans_starts).labels
        self.embedding_ = embeddings
        return self
