"""SBERT with k-means: clusters of a sentence encoder's embeddings as they come, before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import normalize

from rstc.baselines.validation import checked_texts
from rstc.runtime.device import choose_device, choose_precision
from rstc.pseudo_labels.kmeans import kmeans_labels
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder


class SBERT(ClusterMixin, BaseEstimator):
    """k-means on the embeddings of a sentence encoder that is not trained.

    After Reimers and Gurevych 2019 (Sentence-BERT); the row "SBERT(k-means)" of the paper. It departs from that row in
    the encoder, theirs being distilbert-base-nli-stsb-mean-tokens and ours the embedded all-MiniLM-L6-v2 unless one is
    named, and in embeddings at length one, as our encoder was made for.

    Args:
        n_clusters: how many clusters to find.
        random_state: a seed.
        kmeans_starts: runs of k-means, of which the best is kept.
        encoder: a Sentence-Transformers model as a folder or a hub name; None: the embedded MiniLM.
        max_tokens: texts are cut to this many tokens.
        unit_length: whether k-means sees the embeddings at length one.
        device: cpu, cuda, cuda:1, mps; auto: a GPU where there is one.

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
        device: str = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.encoder = encoder
        self.max_tokens = max_tokens
        self.unit_length = unit_length
        self.device = device

    def fit(self, X: Sequence[str], y: object = None, embeddings: NDArray[np.float32] | None = None) -> SBERT:
        """Cluster texts; embeddings (N, D) of them that are there already are taken as they are."""
        texts = checked_texts(X, self.n_clusters)
        if embeddings is None:
            encoder = self.load_encoder()
            embeddings = encoder.embed(encoder.tokenize(texts)).numpy()
        points = normalize(embeddings) if self.unit_length else embeddings
        rng = np.random.default_rng(self.random_state)
        self.labels_ = kmeans_labels(points, self.n_clusters, rng, self.kmeans_starts).labels
        self.embedding_ = embeddings
        return self

    def load_encoder(self) -> Encoder:
        """Return the encoder that makes the embeddings."""
        device = choose_device(self.device)
        return load_encoder(self.encoder, "mean", self.max_tokens, device, choose_precision("auto", device))
