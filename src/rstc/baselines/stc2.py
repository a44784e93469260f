"""STC2-LPI (Xu et al. 2017): a convolutional network learns binary codes of the texts; k-means of its features."""

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

from rstc.baselines.validation import validate_texts
from rstc.baselines.word_vectors import fit_word_vectors, index_words, scale_to_unit_rms
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.runtime.device import fork_rng

LSI_DIM = 200  # LPI is solved in the space of this many singular vectors
MAX_WORDS = 100  # per text; one long text would pad its whole batch
BLOCK_ROWS = 1000  # texts whose features are computed at once


class STC2(ClusterMixin, BaseEstimator):
    """Self-taught convolutional networks for short text clustering, with locality preserving indexing (LPI).

    LPI finds directions of TF-IDF space along which neighbouring texts are close. Cut at the median of each direction,
    they give every text a binary code. A convolutional network over word vectors is trained to predict the codes.
    k-means of its last hidden features, scaled to length one, gives the clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=10
        Number of k-means runs, of which the one with the lowest inertia is kept.
    word_dim : int, default=48
        Dimensions of the word vectors.
    window : int, default=5
        Maximum distance of two words that count as co-occurring.
    neighbours : int, default=15
        Nearest neighbours of each text in the graph of LPI.
    code_bits : int, default=20
        Length q of the binary codes.
    channels : int, default=96
        Output channels of each convolution.
    k_max : int, default=5
        How many of the largest values of each channel are kept by the pooling.
    dropout : float, default=0.5
        Share of the hidden features that is dropped in training.
    epochs : int, default=10
        Epochs of the network.
    batch_size : int, default=200
        Texts per step.
    lr : float, default=1e-3
        Learning rate of Adam.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text.
    embedding_ : ndarray of shape (N, channels * k_max)
        Hidden features of each text, which k-means clusters: of length one, or zero for a text without a word of the
        vocabulary.
    n_iter_ : int
        Number of optimizer steps.

    Notes
    -----
    Differences from the original: the word vectors are learned from the texts themselves (see
    `rstc.baselines.word_vectors`) instead of by word2vec on a larger corpus. The network has two convolutions of width
    3 over all dimensions and one k-max pooling over the text, where the original convolves each dimension by itself,
    folds neighbouring ones together and pools after each convolution to a length that depends on the text's; both have
    480 hidden features. The k largest values are sorted by value, not by their position in the text. Dropout, Adam and
    the number of epochs are our choice.

    References
    ----------
    Xu, Xu, Wang, Zheng, Tian and Zhao (2017), "Self-taught convolutional neural networks for short text clustering".
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
        """Cluster texts.

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        """
        rng = np.random.default_rng(self.random_state)
        texts = index_words(validate_texts(X, self.n_clusters))
        vectors = scale_to_unit_rms(fit_word_vectors(texts, self.word_dim, self.window, rng))  # (V, D)
        tfidf = TfidfTransformer().fit_transform(texts.count_words())  # (N, V)
        codes = binary_codes(lpi(tfidf, neighbour_graph(tfidf, self.neighbours), self.code_bits, rng))
        sequences = [torch.from_numpy(indices[:MAX_WORDS] + 1) for indices in texts.indices]  # 0 is the padding
        # Dropout and weight initialisation draw from torch's global generator, whose state is restored afterwards.
        with fork_rng(torch.device("cpu"), int(rng.integers(2**63))):
            network = _TextNetwork(vectors, self.channels, self.k_max, codes.shape[1], self.dropout)
            steps = self._train(network, sequences, torch.from_numpy(codes), rng)
        E = _compute_features(network, sequences).numpy()
        self.labels_ = fit_kmeans(E, self.n_clusters, rng, self.kmeans_starts).labels
        self.embedding_ = E
        self.n_iter_ = steps
        return self

    def _train(
        self, network: _TextNetwork, sequences: Sequence[Tensor], codes: Tensor, rng: np.random.Generator
    ) -> int:
        """Train the network to predict each bit of the codes; return the number of steps."""
        optimizer = torch.optim.Adam(network.parameters(), self.lr, fused=True)
        steps = 0
        network.train()
        for _ in range(self.epochs):
            for rows in torch.from_numpy(rng.permutation(len(sequences))).split(self.batch_size):
                logits = network(_pad([sequences[i] for i in rows.tolist()]))
                loss = F.binary_cross_entropy_with_logits(logits, codes[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                steps += 1
        return steps


def neighbour_graph(X: sparse.csr_matrix, k: int) -> sparse.csr_matrix:
    """Build the symmetric graph of the k nearest neighbours with heat kernel weights, W (N, N).

    w_ij = exp(-|x_i - x_j|^2 / 2) if one of the two rows (of length one) is among the k nearest of the other. Rows
    without a common word are not linked.

    Examples
    --------
    >>> W = neighbour_graph(sparse.csr_matrix(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])), k=2)
    >>> W.toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    N = X.shape[0]
    k = min(k, N - 1)
    distances, nearest = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(X).kneighbors()
    weights = np.where(distances < 1 - 1e-9, np.exp(-distances), 0).ravel()  # |x - x'|^2 / 2 = 1 - cosine
    W = sparse.csr_matrix((weights, (np.repeat(np.arange(N), k), nearest.ravel())), shape=(N, N))
    W = W.maximum(W.T).tocsr()
    W.eliminate_zeros()
    return W


def lpi(X: sparse.csr_matrix, W: sparse.csr_matrix, q: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Compute the locality preserving indexing (LPI) of texts: the linear maps that differ least between neighbours.

    The maps are the eigenvectors a of the q largest eigenvalues of Y' W Y a = lambda Y' D Y a, where Y are the texts
    in the space of the leading singular vectors and D the degrees of the graph.

    Parameters
    ----------
    X : csr_matrix of shape (N, V)
        TF-IDF of the texts.
    W : csr_matrix of shape (N, N)
        Weights of the neighbour graph.
    q : int
        Number of dimensions; fewer if there are fewer words or texts.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (N, q)
    """
    dim = min(LSI_DIM, *X.shape)
    U, S, _ = randomized_svd(X, dim, random_state=int(rng.integers(2**31)))
    degrees = np.asarray(W.sum(1)).ravel()
    Y = U * S
    # The constant map differs least of all and says nothing: it is removed by centring.
    Y = Y - (degrees @ Y) / max(degrees.sum(), 1e-12)
    scatter = Y.T @ (degrees[:, None] * Y)
    scatter += (1e-6 * np.trace(scatter) / dim + 1e-12) * np.eye(dim)  # it may be singular
    q = min(q, dim)
    _, A = linalg.eigh(Y.T @ (W @ Y), scatter, subset_by_index=(dim - q, dim - 1))
    return np.asarray(Y @ A[:, ::-1])


def binary_codes(Y: NDArray[np.float64]) -> NDArray[np.float32]:
    """Binarise each dimension (column) at its median: 1 above it, else 0.

    Examples
    --------
    >>> binary_codes(np.array([[1.0], [5.0], [2.0], [9.0]])).ravel().tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    medians = np.median(Y, axis=0)
    return np.asarray(medians < Y, dtype=np.float32)


class _TextNetwork(nn.Module):
    """A convolutional network from word indices (B, L), padded by 0, to the logits of the codes (B, q).

    The convolutions have no bias, so that padding gives zeros, the minimum of ReLU: the amount of padding does not
    change the features.
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
        """Compute the hidden features, (B, channels * k_max)."""
        words = self.vectors(F.pad(ids, (0, self.k_max))).transpose(1, 2)  # (B, D, L), at least k_max long
        activations = F.relu(self.second(F.relu(self.first(words))))
        return activations.topk(self.k_max, dim=2).values.flatten(1)

    def forward(self, ids: Tensor) -> Tensor:
        """Compute the logits of the codes, (B, q)."""
        logits: Tensor = self.codes(self.dropout(self.features(ids)))
        return logits


def _pad(sequences: Sequence[Tensor]) -> Tensor:
    """Stack sequences of different lengths, padded by zeros, (B, L)."""
    return nn.utils.rnn.pad_sequence(list(sequences), batch_first=True)


@torch.no_grad()
def _compute_features(network: _TextNetwork, sequences: Sequence[Tensor]) -> Tensor:
    """Compute the hidden features of all texts, scaled to length one."""
    network.eval()
    blocks = [sequences[i : i + BLOCK_ROWS] for i in range(0, len(sequences), BLOCK_ROWS)]
    return F.normalize(torch.cat([network.features(_pad(block)) for block in blocks]), dim=1)
