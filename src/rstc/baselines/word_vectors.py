"""Word vectors learned from the texts to be clustered alone, and sentence vectors made of them.

The baselines of Xu et al. (2017) and Hadifar et al. (2019) use word2vec, trained on a large corpus of the same domain.
We have no such corpus, only the texts, and want no further dependency. Levy and Goldberg (2014, "Neural word embedding
as implicit matrix factorization") showed that skip-gram with k negative samples factorises, without writing it down,
the matrix of pointwise mutual information less log k; here that matrix is written down, its negative entries set to
zero, and factorised by a truncated SVD.
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
SMOOTHING = 0.75  # word2vec draws its negative samples from the counts to this power, to the good of rare words


@dataclass(frozen=True)
class WordIds:
    """Texts as numbers of words.

    Attributes:
        words: the vocabulary; a word's number is its place here.
        ids: the numbers of the words of each text, in order; N arrays, empty where a text has no known word.
    """

    words: list[str]
    ids: list[NDArray[np.int64]]

    def counts(self) -> sparse.csr_matrix:
        """Return how often each text has each word, (N, V)."""
        ends = np.cumsum([0, *map(len, self.ids)])
        flat = np.concatenate(self.ids)
        counts = sparse.csr_matrix((np.ones(len(flat)), flat, ends), shape=(len(self.ids), len(self.words)))
        counts.sum_duplicates()
        return counts


def tokenize(text: str) -> list[str]:
    """Return the words of a text, in lower case.

    >>> tokenize("Is C a good 1st language?")
    ['is', 'c', 'a', 'good', '1st', 'language']
    """
    return WORD.findall(text.lower())


def word_ids(texts: Sequence[str]) -> WordIds:
    """Number the words seen at least twice in all texts, or all words if there are none such; others are left out.

    >>> found = word_ids(["late late van", "late"])
    >>> found.words, [ids.tolist() for ids in found.ids]
    (['late'], [[0, 0], [0]])
    """
    tokens = [tokenize(text) for text in texts]
    seen = Counter(word for words in tokens for word in words)
    if not seen:
        raise InputError(f"none of the {len(texts)} texts holds a word")
    words = sorted(word for word, count in seen.items() if count > 1) or sorted(seen)
    number = {word: i for i, word in enumerate(words)}
    ids = [np.array([number[word] for word in found if word in number], dtype=np.int64) for found in tokens]
    return WordIds(words, ids)


def cooccurrences(texts: WordIds, window: int) -> sparse.csr_matrix:
    """Return how often each word has each other at most `window` words away in the same text, (V, V), symmetric.

    >>> cooccurrences(word_ids(["a b c", "a b c"]), window=1).toarray().astype(int).tolist()
    [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    """
    flat = np.concatenate(texts.ids)
    text = np.repeat(np.arange(len(texts.ids)), [len(ids) for ids in texts.ids])
    V = len(texts.words)
    counts = sparse.csr_matrix((V, V))
    for away in range(1, window + 1):
        together = text[:-away] == text[away:]
        pairs = flat[:-away][together], flat[away:][together]
        counts += sparse.coo_matrix((np.ones(together.sum()), pairs), shape=(V, V)).tocsr()
    return (counts + counts.T).tocsr()


def shifted_ppmi(counts: sparse.csr_matrix, negatives: float = 1.0) -> sparse.csr_matrix:
    """Return max(0, log(p(w, c) / (p(w) p(c))) - log k) of co-occurrences (V, V), sparse, with p(c) smoothed.

    >>> shifted_ppmi(sparse.csr_matrix(np.eye(2))).toarray().round(3)  # log(0.5 / (0.5 * 0.5)) = log 2
    array([[0.693, 0.   ],
           [0.   , 0.693]])
    """
    pairs = counts.tocoo()
    p_word = np.asarray(counts.sum(1)).ravel() / max(counts.sum(), 1)
    p_context = np.asarray(counts.sum(0)).ravel() ** SMOOTHING
    p_context /= max(p_context.sum(), 1)
    pmi = np.log(pairs.data / max(counts.sum(), 1) / (p_word[pairs.row] * p_context[pairs.col]))
    ppmi = sparse.csr_matrix((np.maximum(pmi - np.log(negatives), 0), (pairs.row, pairs.col)), shape=counts.shape)
    ppmi.eliminate_zeros()
    return ppmi


def word_vectors(texts: WordIds, dim: int, window: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Learn a vector for each word, (V, D): U sqrt(S) of the PPMI matrix; D is less than `dim` with fewer words.

    No shift (k = 1): some thousand short texts leave most pairs of words unseen, and a shift would drop most others.
    """
    ppmi = shifted_ppmi(cooccurrences(texts, window))
    U, S, _ = randomized_svd(ppmi, min(dim, len(texts.words)), random_state=int(rng.integers(2**31)))
    return np.asarray(U * np.sqrt(S), dtype=np.float32)


def sif_vectors(texts: WordIds, vectors: NDArray[np.float32], a: float = 1e-3) -> NDArray[np.float32]:
    """Return sentence vectors (N, D) by smooth inverse frequency; zeros for a text without a known word.

    Arora et al. (2017, "A simple but tough-to-beat baseline for sentence embeddings"): the mean over a text's words of
    a / (a + p(w)) times the word's vector, then without its part along the first principal component of all texts.
    """
    counts = texts.counts()
    p = np.asarray(counts.sum(0)).ravel() / counts.sum()
    lengths = np.maximum(np.asarray(counts.sum(1)), 1)
    X = counts @ (vectors * (a / (a + p))[:, None]) / lengths  # (N, D)
    component = np.linalg.eigh(X.T @ X)[1][:, -1]  # not centred, as in the original
    return np.asarray(X - np.outer(X @ component, component), dtype=np.float32)


def scaled(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return X scaled as a whole so that its entries have a mean square of one, as a network likes its input.

    >>> scaled(np.array([[3.0, 3.0]], dtype=np.float32))
    array([[1., 1.]], dtype=float32)
    """
    size = float(np.sqrt(np.mean(np.square(X))))
    return X / np.float32(size or 1.0)
