"""SBERT: k-means on the embeddings of a pretrained sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import normalize

from rstc.baselines.validation import validate_texts
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.runtime.device import choose_device, choose_precision


class SBERT(ClusterMixin, BaseEstimator):
    """k-means on the embeddings of a sentence encoder that is not trained: the row "SBERT(k-means)" of the paper.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=10
        Number of k-means runs, of which the one with the lowest inertia is kept.
    encoder : str or None, default=None
        A Sentence-Transformers model, as a folder or a hub name; None is the bundled all-MiniLM-L6-v2.
    max_tokens : int, default=32
        Texts are truncated to this many tokens.
    unit_length : bool, default=True
        Whether the embeddings are scaled to length one before k-means.
    device : str, default="auto"
        "cpu", "cuda", "cuda:1" or "mps"; "auto" is a GPU if there is one.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text.
    embedding_ : ndarray of shape (N, D)
        Embedding of each text, before any scaling.

    Notes
    -----
    Differences from the paper's row: its encoder is distilbert-base-nli-stsb-mean-tokens, and its embeddings are not
    scaled to length one.

    References
    ----------
    Reimers and Gurevych (2019), "Sentence-BERT: Sentence embeddings using Siamese BERT-networks".
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
        """Cluster texts.

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        embeddings : ndarray of shape (N, D), optional
            Precomputed embeddings of the texts; the texts are encoded if not given.
        """
        texts = validate_texts(X, self.n_clusters)
        if embeddings is None:
            encoder = self.load_encoder()
            embeddings = encoder.embed(encoder.tokenize(texts)).numpy()
        points = normalize(embeddings) if self.unit_length else embeddings
        rng = np.random.default_rng(self.random_state)
        self.labels_ = fit_kmeans(points, self.n_clusters, rng, self.kmeans_starts).labels
        self.embedding_ = embeddings
        return self

    def load_encoder(self) -> Encoder:
        """Load the sentence encoder on the chosen device."""
        device = choose_device(self.device)
        return load_encoder(self.encoder, "mean", self.max_tokens, device, choose_precision("auto", device))
