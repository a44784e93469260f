"""Word vectors learned from the texts to be clustered, and sentence embeddings built from them.

The baselines of Xu et al. (2017) and Hadifar et al. (2019) use word2vec, trained on a large corpus of the same domain.
Only the texts themselves are available here, and no further dependency is wanted. Levy and Goldberg (2014, "Neural
word embedding as implicit matrix factorization") showed that skip-gram with k negative samples implicitly factorises
the matrix of pointwise mutual information minus log k. Here that matrix is computed explicitly, its negative entries
are set to zero (shifted PPMI), and it is factorised by a truncated SVD.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from rstc.errors import InputError

WORD = re.compile(r"\w+")
CONTEXT_SMOOTHING = 0.75  # word2vec draws its negative samples from the counts to this power, in favour of rare words


@dataclass(frozen=True)
class IndexedTexts:
    """Texts as sequences of word indices.

    Attributes
    ----------
    vocabulary : list of str
        The words; a word's index is its position here.
    indices : list of N arrays
        The word indices of each text, in order; empty for a text without a word of the vocabulary.
    """

    vocabulary: list[str]
    indices: list[NDArray[np.int64]]

    def count_words(self) -> sparse.csr_matrix:
        """Count the words of each text, (N, V)."""
        bounds = np.cumsum([0, *map(len, self.indices)])
        flat = np.concatenate(self.indices)
        shape = (len(self.indices), len(self.vocabulary))
        counts = sparse.csr_matrix((np.ones(len(flat)), flat, bounds), shape=shape)
        counts.sum_duplicates()
        return counts


def tokenize(text: str) -> list[str]:
    """Split a text into its words, in lower case.

    Examples
    --------
    >>> tokenize("Is C a good 1st language?")
    ['is', 'c', 'a', 'good', '1st', 'language']
    """
    return WORD.findall(text.lower())


def index_words(texts: Sequence[str]) -> IndexedTexts:
    """Map texts to word indices; the vocabulary is the words that occur at least twice, or all if there are none.

    Examples
    --------
    >>> indexed = index_words(["late late van", "late"])
    >>> indexed.vocabulary, [indices.tolist() for indices in indexed.indices]
    (['late'], [[0, 0], [0]])
    """
    tokens = [tokenize(text) for text in texts]
    counts = Counter(word for words in tokens for word in words)
    if not counts:
        raise InputError(f"none of the {len(texts)} texts holds a word")
    vocabulary = sorted(word for word, count in counts.items() if count > 1) or sorted(counts)
    index = {word: i for i, word in enumerate(vocabulary)}
    indices = [np.array([index[word] for word in words if word in index], dtype=np.int64) for words in tokens]
    return IndexedTexts(vocabulary, indices)


def count_cooccurrences(texts: IndexedTexts, window: int) -> sparse.csr_matrix:
    """Count how often two words are at most `window` words apart in the same text, (V, V), symmetric.

    Examples
    --------
    >>> count_cooccurrences(index_words(["a b c", "a b c"]), window=1).toarray().astype(int).tolist()
    [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    """
    flat = np.concatenate(texts.indices)
    text_ids = np.repeat(np.arange(len(texts.indices)), [len(indices) for indices in texts.indices])
    V = len(texts.vocabulary)
    counts = sparse.csr_matrix((V, V))
    for distance in range(1, window + 1):
        same_text = text_ids[:-distance] == text_ids[distance:]
        pairs = flat[:-distance][same_text], flat[distance:][same_text]
        counts += sparse.coo_matrix((np.ones(same_text.sum()), pairs), shape=(V, V)).tocsr()
    return (counts + counts.T).tocsr()


def shifted_ppmi(counts: sparse.csr_matrix, negatives: float = 1.0) -> sparse.csr_matrix:
    """Compute max(0, log(p(w, c) / (p(w) p(c))) - log k) of co-occurrences (V, V), with smoothed p(c).

    Parameters
    ----------
    counts : csr_matrix of shape (V, V)
        Co-occurrence counts.
    negatives : float
        k, the number of negative samples of skip-gram.

    Returns
    -------
    csr_matrix of shape (V, V)

    Examples
    --------
    >>> shifted_ppmi(sparse.csr_matrix(np.eye(2))).toarray().round(3)  # log(0.5 / (0.5 * 0.5)) = log 2
    array([[0.693, 0.   ],
           [0.   , 0.693]])
    """
    pairs = counts.tocoo()
    p_word = np.asarray(counts.sum(1)).ravel() / max(counts.sum(), 1)
    p_context = np.asarray(counts.sum(0)).ravel() ** CONTEXT_SMOOTHING
    p_context /= max(p_context.sum(), 1)
    pmi = np.log(pairs.data / max(counts.sum(), 1) / (p_word[pairs.row] * p_context[pairs.col]))
    ppmi = sparse.csr_matrix((np.maximum(pmi - np.log(negatives), 0), (pairs.row, pairs.col)), shape=counts.shape)
    ppmi.eliminate_zeros()
    return ppmi


def fit_word_vectors(texts: IndexedTexts, dim: int, window: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Learn a vector for each word: U sqrt(S) of the truncated SVD of the PPMI matrix.

    There is no shift (k = 1): in a few thousand short texts most pairs of words are unseen, and a shift would drop most
    of the others.

    Parameters
    ----------
    texts : IndexedTexts
        The texts to learn from.
    dim : int
        Number of dimensions; fewer if the vocabulary is smaller.
    window : int
        Maximum distance of two words that count as co-occurring.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (V, D)
    """
    ppmi = shifted_ppmi(count_cooccurrences(texts, window))
    U, S, _ = randomized_svd(ppmi, min(dim, len(texts.vocabulary)), random_state=int(rng.integers(2**31)))
    return np.asarray(U * np.sqrt(S), dtype=np.float32)


def sif_embeddings(texts: IndexedTexts, vectors: NDArray[np.float32], a: float = 1e-3) -> NDArray[np.float32]:
    """Compute sentence embeddings (N, D) by smooth inverse frequency (SIF).

    The mean of a / (a + p(w)) times the word vector over the words of a text, minus its projection on the first
    principal component of all texts. A text without a word of the vocabulary has a zero embedding.

    References
    ----------
    Arora, Liang and Ma (2017), "A simple but tough-to-beat baseline for sentence embeddings".
    """
    counts = texts.count_words()
    p = np.asarray(counts.sum(0)).ravel() / counts.sum()
    lengths = np.maximum(np.asarray(counts.sum(1)), 1)
    X = counts @ (vectors * (a / (a + p))[:, None]) / lengths  # (N, D)
    component = np.linalg.eigh(X.T @ X)[1][:, -1]  # not centred, as in the original
    return np.asarray(X - np.outer(X @ component, component), dtype=np.float32)


def scale_to_unit_rms(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide a matrix by the root mean square of its entries, so that a network gets inputs of unit size.

    Examples
    --------
    >>> scale_to_unit_rms(np.array([[3.0, 3.0]], dtype=np.float32))
    array([[1., 1.]], dtype=float32)
    """
    rms = float(np.sqrt(np.mean(np.square(X))))
    return X / np.float32(rms or 1.0)
