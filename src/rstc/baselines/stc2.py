"""STC2-LPI (Xu et al. 2017): a convolutional network learns binary codes of the texts, k-means its hidden features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import randomized_svd
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.baselines.validation import checked_texts
from rstc.baselines.word_vectors import scaled, word_ids, word_vectors
from rstc.runtime.device import seeded
from rstc.pseudo_labels.kmeans import kmeans_labels

LSI_DIM = 200  # LPI is solved in the space of this many singular vectors
MOST_WORDS = 100  # read of a text; a short text has fewer, and one long one would pad its whole batch
ROWS_A_PIECE = 1000  # of texts that are only looked at


class STC2(ClusterMixin, BaseEstimator):
    """Self-taught convolutional networks for short text clustering, with locality preserving indexing (LPI).

    LPI finds directions of TF-IDF space along which neighbouring texts lie together; cut at the median of each, they
    give every text a binary code. A convolutional network over word vectors learns to predict the codes, and k-means
    of its last hidden features, scaled to length one, makes the clusters.

    Source: Xu, Xu, Wang, Zheng, Tian and Zhao (2017), "Self-taught convolutional neural networks for short text
    clustering".
    Departures: the word vectors are factorised from the texts themselves (see `word_vectors`) rather than trained by
    word2vec on a larger corpus. The network has two wide convolutions of width 3 over all
    dimensions and one k-max pooling over the text, where the original convolves each dimension by itself, folds
    neighbouring ones together and pools after each convolution to a length that depends on the text's; the 480
    hidden features are as many as there. The k largest values stand in falling order, not in that of the text.
    Dropout, Adam and the number of epochs are our choice.

    Args:
        n_clusters: how many clusters to find.
        random_state: a seed; None draws a new one each time.
        kmeans_starts: runs of k-means, of which the best counts.
        word_dim: dimensions of the word vectors.
        window: how many words away a word still counts as the context of another.
        neighbours: nearest texts that each text is linked with for LPI.
        code_bits: q, the length of the binary codes.
        channels: outputs of each convolution.
        k_max: how many of the largest values of each channel are kept.
        dropout: share of the hidden features that is dropped in training.
        epochs: rounds through the texts.
        batch_size: texts a step.
        lr: Adam's rate.

    Attributes:
        labels_: the cluster of each text, (N,).
        embedding_: the hidden features that k-means saw, (N, channels * k_max), each of length one, or zero for a
            text without a known word.
        n_iter_: training steps taken.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 10,
        word_dim: int = 48,
        window: int = 5,
        neighbours: int = 15,
        code_bits: int = 20,
        channels: int = 96,
        k_max: int = 5,
        dropout: float = 0.5,
        epochs: int = 10,
        batch_size: int = 200,
        lr: float = 1e-3,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.word_dim = word_dim
        self.window = window
        self.neighbours = neighbours
        self.code_bits = code_bits
        self.channels = channels
        self.k_max = k_max
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr

    def fit(self, X: Sequence[str], y: object = None) -> STC2:
        """Cluster texts; y is ignored, as true labels have no place in clustering."""
        rng = np.random.default_rng(self.random_state)
        texts = word_ids(checked_texts(X, self.n_clusters))
        vectors = scaled(word_vectors(texts, self.word_dim, self.window, rng))
        tfidf = TfidfTransformer().fit_transform(texts.counts())
        codes = binary_codes(lpi(tfidf, neighbour_graph(tfidf, self.neighbours), self.code_bits, rng))
        sequences = [torch.from_numpy(ids[:MOST_WORDS] + 1) for ids in texts.ids]  # 0 is the padding
        # Dropout and initialisation draw from torch's global generator and take no other: it is set inside this
        # fork and given back as it was.
        with seeded(torch.device("cpu"), int(rng.integers(2**63))):
            network = _TextNetwork(vectors, self.channels, self.k_max, codes.shape[1], self.dropout)
            steps = self._learn(network, sequences, torch.from_numpy(codes), rng)
        E = _features(network, sequences).numpy()
        self.labels_ = kmeans_labels(E, self.n_clusters, rng, self.kmeans_starts).labels
        self.embedding_ = E
        self.n_iter_ = steps
        return self

    def _learn(
        self, network: _TextNetwork, sequences: Sequence[Tensor], codes: Tensor, rng: np.random.Generator
    ) -> int:
        """Train the network to predict the codes, each bit by itself; return the number of steps."""
        optimizer = torch.optim.Adam(network.parameters(), self.lr, fused=True)
        steps = 0
        network.train()
        for _ in range(self.epochs):
            for rows in torch.from_numpy(rng.permutation(len(sequences))).split(self.batch_size):
                logits = network(_padded([sequences[i] for i in rows.tolist()]))
                loss = F.binary_cross_entropy_with_logits(logits, codes[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                steps += 1
        return steps


def neighbour_graph(X: sparse.csr_matrix, k: int) -> sparse.csr_matrix:
    """Link each row (of length one) with its k nearest; return the heat kernel weights W (N, N), symmetric.

    w_ij = exp(-|x_i - x_j|^2 / 2) if one of the two is among the nearest of the other. Rows with nothing in common
    are no neighbours.

    >>> W = neighbour_graph(sparse.csr_matrix(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])), k=2)
    >>> W.toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    N = X.shape[0]
    k = min(k, N - 1)
    away, nearest = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(X).kneighbors()
    weights = np.where(away < 1 - 1e-9, np.exp(-away), 0).ravel()  # |x - x'|^2 = 2 (1 - cosine) = 2 away
    W = sparse.csr_matrix((weights, (np.repeat(np.arange(N), k), nearest.ravel())), shape=(N, N))
    W = W.maximum(W.T).tocsr()
    W.eliminate_zeros()
    return W


def lpi(X: sparse.csr_matrix, W: sparse.csr_matrix, q: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return locality preserving indexing of X (N, V) by the graph W: (N, q), fewer with fewer words or texts.

    The q largest solutions of Y' W Y a = lambda Y' D Y a, where Y are the texts in the space of the leading singular
    vectors and D the degrees: of all linear maps Y a, those that differ least between neighbours.
    """
    dim = min(LSI_DIM, *X.shape)
    U, S, _ = randomized_svd(X, dim, random_state=int(rng.integers(2**31)))
    degrees = np.asarray(W.sum(1)).ravel()
    Y = U * S
    # The map that differs least of all is the constant, which tells nothing: it is taken out.
    Y = Y - (degrees @ Y) / max(degrees.sum(), 1e-12)
    scatter = Y.T @ (degrees[:, None] * Y)
    scatter += (1e-6 * np.trace(scatter) / dim + 1e-12) * np.eye(dim)  # where texts are alike it has no inverse
    q = min(q, dim)
    _, A = linalg.eigh(Y.T @ (W @ Y), scatter, subset_by_index=(dim - q, dim - 1))
    return np.asarray(Y @ A[:, ::-1])


def binary_codes(Y: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return 1 where a value is above the median of its dimension, else 0.

    >>> binary_codes(np.array([[1.0], [5.0], [2.0], [9.0]])).ravel().tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    medians = np.median(Y, axis=0)
    return np.asarray(medians < Y, dtype=np.float32)


class _TextNetwork(nn.Module):
    """Word numbers (B, L), padded by 0, to logits of the codes (B, q).

    The convolutions have no bias, so that padding gives zeros, and ReLU lets nothing be less: how far a batch is
    padded changes nothing.
    """

    def __init__(self, vectors: NDArray[np.float32], channels: int, k_max: int, code_bits: int, dropout: float) -> None:
        super().__init__()
        padding = np.zeros((1, vectors.shape[1]), dtype=np.float32)
        weights = torch.from_numpy(np.concatenate([padding, vectors]))
        self.vectors = nn.Embedding.from_pretrained(weights, freeze=False, padding_idx=0)
        self.first = nn.Conv1d(vectors.shape[1], channels, 3, padding=2, bias=False)
        self.second = nn.Conv1d(channels, channels, 3, padding=2, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.codes = nn.Linear(channels * k_max, code_bits)
        self.k_max = k_max

    def features(self, ids: Tensor) -> Tensor:
        """Return the hidden features, (B, channels * k_max)."""
        words = self.vectors(F.pad(ids, (0, self.k_max))).transpose(1, 2)  # (B, D, L), at least k_max long
        found = F.relu(self.second(F.relu(self.first(words))))
        return found.topk(self.k_max, dim=2).values.flatten(1)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the codes."""
        logits: Tensor = self.codes(self.dropout(self.features(ids)))
        return logits


def _padded(sequences: Sequence[Tensor]) -> Tensor:
    return nn.utils.rnn.pad_sequence(list(sequences), batch_first=True)


@torch.no_grad()
def _features(network: _TextNetwork, sequences: Sequence[Tensor]) -> Tensor:
    """Return the hidden features of all texts, each of length one."""
    network.eval()
    pieces = [sequences[i : i + ROWS_A_PIECE] for i in range(0, len(sequences), ROWS_A_PIECE)]
    return F.normalize(torch.cat([network.features(_padded(piece)) for piece in pieces]), dim=1)
