"""Cross-fitted rounds: labels from predictions that have not seen them, again and again, the encoder fixed.

A network that was trained on a text's label repeats it, so a transport on its predictions changes nothing: the loop
confirms itself. Here each text is judged by models that were fitted on the labels of other texts only:

1. The texts are dealt into folds. For each fold, two simple models learn from the labels of the other folds: one from
   the embeddings (Gaussian classes of common covariance, that is linear discriminant analysis), one from the words
   (naive Bayes). Neither knows how large the classes are; that is for the transport to find.
2. Their log-probabilities are added, and each text's probabilities are averaged with those of its neighbours.
3. SAOT turns these into soft labels, which the next round learns from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax

from rstc.pseudo_labels.neighbours import summed
from rstc.pseudo_labels.transport.saot import Transport, saot

FOLDS = 3
LEAST_SHRINKAGE = 0.1  # of the covariance towards a sphere; more where there are few texts for its dimensions
SMOOTHING = 0.1  # added to the weight of each word in each class
# Both models overstate what they know, as they take what they see for independent evidence. So their logits are scaled
# down: those of the embedding, and those of the words, which see a text's few words.
EMBEDDING_WEIGHT = 0.2
WORDS_WEIGHT = 0.5
NEIGHBOURS_SHARE = 0.7  # of the neighbours in a text's probabilities

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Witnesses:
    """What is known of the texts, besides labels.

    Attributes:
        E: embeddings of length one, (N, D).
        X: words of length one, (N, V), or None.
        near: the nearest texts of each, (N, k), or None.
    """

    E: Floats
    X: csr_matrix | None
    near: NDArray[np.int64] | None


@dataclass(frozen=True)
class CrossFit:
    """What the rounds end with.

    Attributes:
        labels: the class of each text, (N,); every class has a text.
        transport: the last round's; N times its plan are the soft labels.
        agreement: the share of texts whose last judgement, before the transport, is their label.
        right: the share of known texts that were judged rightly by models that had not seen them; None without any.
    """

    labels: NDArray[np.int64]
    transport: Transport[NDArray[np.float64]]
    agreement: float
    right: float | None = None


def crossfit(
    known: Witnesses,
    labels: NDArray[np.int64],
    n_clusters: int,
    eps1: float,
    eps2: float,
    rounds: int,
    rng: np.random.Generator,
    sure: NDArray[np.int64] | None = None,
) -> CrossFit:
    """Improve labels (N,) by rounds of judgement by strangers and transport.

    Args:
        known: the embeddings, words and neighbours of the texts.
        labels: what to begin with.
        n_clusters: C.
        eps1: weight of the plan's entropy.
        eps2: weight of the penalty on the class sizes.
        rounds: how many, at least one.
        rng: deals the folds, anew in each round.
        sure: the classes of texts that are known, -1 of the others, (N,); None: nothing is known.
    """
    N = len(labels)
    given = np.flatnonzero(sure != -1) if sure is not None else np.zeros(0, dtype=np.int64)
    told = np.eye(n_clusters, dtype=np.float32)[sure[given]] if sure is not None else None
    Q = np.eye(n_clusters, dtype=np.float32)[labels]  # (N, C)
    potentials, right = None, None
    for _ in range(rounds):
        fold = rng.permutation(N) % min(FOLDS, N)
        P = judged(known, Q, fold)
        if told is not None and sure is not None:
            right = float((P[given].argmax(1) == sure[given]).mean())
            P[given] = told  # nobody has to guess
        found = saot(np.log(np.maximum(P, 1e-12)), eps1, eps2, tol=1e-6, start=potentials)
        potentials = found.potentials
        Q = (found.plan / found.plan.sum(1, keepdims=True)).astype(np.float32)
        if told is not None:
            Q[given] = told
    labels = filled(found.plan)
    if sure is not None:
        labels[given] = sure[given]
    return CrossFit(labels, found, float((P.argmax(1) == labels).mean()), right)


def judged(known: Witnesses, Q: Floats, fold: NDArray[np.int64]) -> Floats:
    """Return P (N, C): what models fitted on the soft labels Q of the other folds say of a text and its neighbours."""
    P = np.empty_like(Q)
    by_embedding = _discriminants(known.E, Q, fold)
    by_words = None if known.X is None else _likelihoods(known.X, Q, fold)
    for f, rows in enumerate(_parts(fold)):
        # Neighbours of other folds are judged anew for this one: by models that have not seen the labels of these rows.
        asked = rows if known.near is None else np.unique(known.near[rows])
        weights, bias = by_embedding[f]
        logits = EMBEDDING_WEIGHT * (known.E[asked] @ weights - bias)
        if known.X is not None and by_words is not None:
            logits += WORDS_WEIGHT * log_softmax(known.X[asked] @ by_words[f], axis=1)
        found = softmax(logits, axis=1)
        P[rows] = found[np.searchsorted(asked, rows)]
        if known.near is not None:
            near = np.searchsorted(asked, known.near[rows])
            P[rows] *= 1 - NEIGHBOURS_SHARE
            P[rows] += NEIGHBOURS_SHARE / near.shape[1] * summed(found, near)
    return P


def filled(plan: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the most likely class of each text (N,), after giving each class that so stays empty its likeliest text.

    >>> filled(np.array([[0.4, 0.1], [0.3, 0.2]])).tolist()
    [0, 1]
    """
    labels = plan.argmax(1)
    sizes = np.bincount(labels, minlength=plan.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        for text in np.argsort(-plan[:, empty], kind="stable"):
            if sizes[labels[text]] > 1:
                sizes[labels[text]] -= 1
                labels[text], sizes[empty] = empty, 1
                break
    return np.asarray(labels, dtype=np.int64)


def _discriminants(E: Floats, Q: Floats, fold: NDArray[np.int64]) -> list[tuple[Floats, Floats]]:
    """Return linear discriminants for each fold, fitted without it: weights (D, C) and bias (C,).

    All that is fitted is made of sums over texts, so leaving a fold out is a subtraction.
    """
    parts = _parts(fold)
    sizes = np.stack([Q[rows].sum(0, dtype=np.float64) for rows in parts])  # (folds, C)
    sums = np.stack([(Q[rows].T @ E[rows]).astype(np.float64) for rows in parts])  # (folds, C, D)
    squares = np.stack([(E[rows].T @ E[rows]).astype(np.float64) for rows in parts])  # (folds, D, D)
    all_sizes, all_sums, all_squares = sizes.sum(0), sums.sum(0), squares.sum(0)
    return [
        discriminant(len(E) - len(rows), all_sizes - sizes[f], all_sums - sums[f], all_squares - squares[f])
        for f, rows in enumerate(parts)
    ]


def discriminant(
    n: int, size: NDArray[np.float64], total: NDArray[np.float64], squares: NDArray[np.float64]
) -> tuple[Floats, Floats]:
    """Return linear discriminants, weights (D, C) and bias (C,), from sums over n texts.

    Args:
        n: how many texts.
        size: how many are in each class, (C,).
        total: the sum of their embeddings in each class, (C, D).
        squares: the sum of their outer products, (D, D).
    """
    # One text more in each class, at the mean of all: the centre of a class of few texts is not to be trusted.
    means = (total + total.sum(0) / max(n, 1)) / (size + 1)[:, None]
    # Around these means, which are not quite those of the classes.
    scatter = squares - total.T @ means - means.T @ total + (means * size[:, None]).T @ means
    covariance = scatter / max(n, 1)
    D = len(covariance)
    shrinkage = max(LEAST_SHRINKAGE, D / (D + n))
    covariance = (1 - shrinkage) * covariance + (shrinkage * np.trace(covariance) / D + 1e-9) * np.eye(D)
    weights = np.linalg.solve(covariance, means.T)  # (D, C)
    bias = (means.T * weights).sum(0) / 2
    return weights.astype(np.float32), bias.astype(np.float32)


def _likelihoods(X: csr_matrix, Q: Floats, fold: NDArray[np.int64]) -> list[Floats]:
    """Return naive Bayes' log-likelihoods of words for each fold, fitted without it: (V, C)."""
    counts = [np.asarray(X[rows].T @ Q[rows]) for rows in _parts(fold)]  # (V, C) each
    total = sum(counts)
    found = []
    for own in counts:
        weights = np.maximum(total - own, 0) + SMOOTHING
        found.append(np.log(weights / weights.sum(0)))
    return found


def _parts(fold: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(fold == f) for f in range(fold.max() + 1)]
