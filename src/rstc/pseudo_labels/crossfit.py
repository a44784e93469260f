"""Cross-fitting: labels are improved by out-of-fold predictions and SAOT, in a fixed embedding space.

A network that was trained on a text's label reproduces it, so a transport of its predictions changes nothing. Here the
predictions for a text come from models that were fitted to the labels of other texts:

1. Texts are split into folds. For each fold, models are fitted to the soft labels Q of the other folds: shrunk linear
   discriminant analysis (LDA) on each dense feature set, and multinomial naive Bayes on TF-IDF. Priors are uniform,
   because the transport estimates the class sizes.
2. P = softmax(sum of the weighted logits), then averaged with the P of the text's neighbours.
3. SAOT turns P into a plan, and N times the plan is the next round's Q.

Texts may be distributed over processes: the models follow from sums over texts, and predictions of neighbours in other
processes are fetched from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax

from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures, sum_over_neighbours
from rstc.pseudo_labels.transport.saot import Transport, saot
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

N_FOLDS = 3
MIN_SHRINKAGE = 0.1  # of the covariance towards a sphere; higher if there are few texts for its dimensions
WORD_SMOOTHING = 0.1  # added to the count of each word in each class
# The models are overconfident, because they treat dependent features as independent, so their logits are scaled down.
EMBEDDING_WEIGHT = 0.2
OTHER_DENSE_WEIGHT = 0.1  # static vectors and a user's own features
WORD_WEIGHT = 0.5
NEIGHBOUR_WEIGHT = 0.7  # of the neighbours' mean probabilities; that of the text's own is 0.3
MAX_COLUMNS_SHARE = 1 / 32  # of the plan's columns, which are held at a time to find texts for empty classes

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CrossFitResult:
    """Labels after the last round.

    Attributes
    ----------
    labels : (n,) array
        Class of each text of this process; no class is empty.
    transport : Transport
        Transport of the last round; N times its plan is the soft labels.
    agreement : float
        Share of texts whose out-of-fold prediction, before the transport, is their label.
    partial_label_accuracy : float or None
        Share of labelled texts whose out-of-fold prediction is the given label; None without partial labels.
    """

    labels: Ints
    transport: Transport[NDArray[np.float64]]
    agreement: float
    partial_label_accuracy: float | None = None


def crossfit(
    features: TextFeatures,
    neighbours: Ints | None,
    labels: Ints,
    n_clusters: int,
    eps1: float,
    eps2: float,
    rounds: int,
    rng: np.random.Generator,
    partial_labels: Ints | None = None,
) -> CrossFitResult:
    """Improve labels by rounds of out-of-fold prediction and transport.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of n texts of this process; N is the number of texts of all processes.
    neighbours : (n, k) array or None
        Neighbours of each text, itself included, as rows among all texts; None: predictions are not averaged.
    labels : (n,) array
        Labels to begin with.
    n_clusters : int
        C, the number of classes.
    eps1 : float
        Weight of the plan's entropy.
    eps2 : float
        Weight of the penalty on the class sizes.
    rounds : int
        Number of rounds, at least 1.
    rng : numpy.random.Generator
        Splits the texts into new folds in each round; the same in all processes.
    partial_labels : (n,) array or None
        Given class of each text, `UNLABELLED` for texts without a label.

    Returns
    -------
    CrossFitResult
    """
    processes, rows = features.processes, features.rows
    labelled = np.flatnonzero(partial_labels != UNLABELLED) if partial_labels is not None else np.zeros(0, np.int64)
    given_Q = np.eye(n_clusters, dtype=np.float32)[partial_labels[labelled]] if partial_labels is not None else None
    Q = np.eye(n_clusters, dtype=np.float32)[labels]  # (n, C)
    potentials, accuracy = None, None
    for _ in range(rounds):
        folds = rng.permutation(rows.n_rows)[rows.local] % N_FOLDS
        P = predict_out_of_fold(features, neighbours, Q, folds)  # (n, C)
        if given_Q is not None and partial_labels is not None:
            accuracy = float((P[labelled].argmax(1) == partial_labels[labelled]).mean())
            P[labelled] = given_Q
        log_p = np.maximum(P, 1e-12)
        np.log(log_p, out=log_p)
        transport = saot(log_p, eps1, eps2, tol=1e-6, start=potentials, processes=processes)
        potentials = transport.potentials
        for block, plan in transport.iter_blocks():
            Q[block] = plan / plan.sum(1, keepdims=True)
        if given_Q is not None:
            Q[labelled] = given_Q
    labels = assign_labels(transport)
    if partial_labels is not None:
        labels[labelled] = partial_labels[labelled]
    agreement = processes.total(int((P.argmax(1) == labels).sum())) / rows.n_rows
    return CrossFitResult(labels, transport, agreement, accuracy)


@dataclass(frozen=True)
class TextClassifier:
    """Classes of texts from all feature sets: LDA on the dense ones, naive Bayes on words.

    Attributes
    ----------
    lda : dict of (weights, bias)
        Weights (D, C) and bias (C,) for each dense feature set.
    log_likelihoods : (V, C) array or None
        Log-likelihoods of words; None without words.
    """

    lda: dict[str, tuple[Floats, Floats]]
    log_likelihoods: Floats | None

    @classmethod
    def fit(cls, features: TextFeatures, rows: Ints, Q: Floats) -> TextClassifier:
        """Fit the models to some texts of a single process, given by their rows (n,) and soft labels Q (n, C)."""
        sizes, lda = Q.sum(0, dtype=np.float64), {}
        for name, matrix in features.dense.items():
            X = matrix[rows]
            scatter, sums = (X.T @ X).astype(np.float64), (Q.T @ X).astype(np.float64)
            lda[name] = fit_shrunk_lda(len(rows), sizes, sums, scatter)
        if features.words is None:
            return cls(lda, None)
        return cls(lda, fit_naive_bayes(np.asarray(features.words.tfidf[rows].T @ Q)))

    def predict(self, features: TextFeatures, rows: Ints | slice) -> Floats:
        """Return the class probabilities of some texts, (n, C)."""
        logits: Floats | float = 0.0
        for name, (weights, bias) in self.lda.items():
            weight = EMBEDDING_WEIGHT if name == EMBEDDING else OTHER_DENSE_WEIGHT
            logits = logits + weight * (features.dense[name][rows] @ weights - bias)
        if features.words and self.log_likelihoods is not None:
            logits = logits + WORD_WEIGHT * log_softmax(features.words.tfidf[rows] @ self.log_likelihoods, axis=1)
        return np.asarray(softmax(logits, axis=1))


def predict_out_of_fold(features: TextFeatures, neighbours: Ints | None, Q: Floats, folds: Ints) -> Floats:
    """Predict each text's class with models that were fitted to the other folds.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of n texts of this process.
    neighbours : (n, k) array or None
        Neighbours of each text, itself included, as rows among the texts of all processes.
    Q : (n, C) array
        Soft labels.
    folds : (n,) array
        Fold of each text, from 0.

    Returns
    -------
    (n, C) array
        Class probabilities; no row depends on the labels of its text's fold.
    """
    P, processes = np.empty_like(Q), features.processes
    lda = {name: fit_lda_per_fold(matrix, Q, folds, processes=processes) for name, matrix in features.dense.items()}
    naive_bayes = fit_naive_bayes_per_fold(features.words.tfidf, Q, folds, processes) if features.words else None
    predictions = np.empty_like(Q)
    for fold, rows in enumerate(split_rows(folds)):
        classifier = TextClassifier(
            {name: models[fold] for name, models in lda.items()}, naive_bayes[fold] if naive_bayes else None
        )
        # Neighbours in other folds are predicted by this fold's models, too, because the models of their own folds were
        # fitted to the labels of these rows.
        needed = rows if neighbours is None else features.rows.find_requested(neighbours[rows])
        predictions[needed] = classifier.predict(features, needed)
        P[rows] = predictions[rows]
        if neighbours is not None:
            P[rows] *= 1 - NEIGHBOUR_WEIGHT
            total = sum_over_neighbours(predictions, neighbours[rows], features.rows)
            P[rows] += NEIGHBOUR_WEIGHT / neighbours.shape[1] * total
    return P


def assign_labels(transport: Transport[NDArray[np.float64]]) -> Ints:
    """Assign each text its most likely class (n,), then each empty class its most likely text of all processes.

    >>> assign_labels(saot(np.log([[0.8, 0.2], [0.7, 0.3]]), eps2=0.0)).tolist()
    [0, 1]
    """
    C, processes = len(transport.b), transport.costs.processes
    labels = np.array(transport.labels, dtype=np.int64)
    sizes = processes.all_reduce_array(np.bincount(labels, minlength=C))
    empty_classes = np.flatnonzero(sizes == 0)
    step = max(1, int(C * MAX_COLUMNS_SHARE))
    for start in range(0, len(empty_classes), step):
        chosen = empty_classes[start : start + step]
        for empty, column in zip(chosen, transport.columns(chosen).T, strict=True):
            movable = np.where(sizes[labels] > 1, column, -1.0)  # the only text of a class stays in it
            text = int(movable.argmax())
            proposals = processes.gather_objects((float(movable[text]), int(labels[text])))
            best = max(range(len(proposals)), key=lambda rank: proposals[rank][0])  # the first of equals
            share, previous = proposals[best]
            if share >= 0:
                sizes[previous] -= 1
                sizes[empty] = 1
                if best == processes.rank:
                    labels[text] = empty
    return labels


def fit_shrunk_lda(
    n: int, class_sizes: NDArray[np.float64], class_sums: NDArray[np.float64], scatter: NDArray[np.float64]
) -> tuple[Floats, Floats]:
    """Fit linear discriminant analysis with uniform priors and a covariance shrunk towards a sphere.

    Parameters
    ----------
    n : int
        Number of texts.
    class_sizes : (C,) array
        Number of texts in each class.
    class_sums : (C, D) array
        Sum of the embeddings in each class.
    scatter : (D, D) array
        Sum of the embeddings' outer products.

    Returns
    -------
    weights : (D, C) array
    bias : (C,) array
        The logits of an embedding e are e weights - bias.
    """
    # Each class gets one more text at the mean of all, because the mean of a small class is unreliable.
    means = (class_sums + class_sums.sum(0) / max(n, 1)) / (class_sizes + 1)[:, None]  # (C, D)
    # Scatter around these shrunk means, not around the means of the classes.
    within = scatter - class_sums.T @ means - means.T @ class_sums + (means * class_sizes[:, None]).T @ means
    covariance = within / max(n, 1)
    D = len(covariance)
    shrinkage = max(MIN_SHRINKAGE, D / (D + n))
    covariance = (1 - shrinkage) * covariance + (shrinkage * np.trace(covariance) / D + 1e-9) * np.eye(D)
    weights = np.linalg.solve(covariance, means.T)  # (D, C)
    bias = (means.T * weights).sum(0) / 2
    return weights.astype(np.float32), bias.astype(np.float32)


def compute_scatter_per_fold(E: Floats, folds: Ints, processes: ProcessGroup = SINGLE_PROCESS) -> NDArray[np.float64]:
    """Sum the outer products of the embeddings (n, D) of all processes in each fold, (folds, D, D)."""
    scatters = np.stack([(E[rows].T @ E[rows]).astype(np.float64) for rows in split_rows(folds)])
    return processes.all_reduce_array(scatters)


def fit_lda_per_fold(
    E: Floats,
    Q: Floats,
    folds: Ints,
    scatters: NDArray[np.float64] | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> list[tuple[Floats, Floats]]:
    """Fit LDA without each fold: weights (D, C) and bias (C,).

    Its sufficient statistics are sums over the texts of all processes, so that leaving a fold out is a subtraction.
    `scatters`, those of `compute_scatter_per_fold`, need not be computed again for other Q.
    """
    parts, add = split_rows(folds), processes.all_reduce_array
    n_texts = add(np.array([len(rows) for rows in parts]))  # (folds,)
    sizes = add(np.stack([Q[rows].sum(0, dtype=np.float64) for rows in parts]))  # (folds, C)
    sums = add(np.stack([(Q[rows].T @ E[rows]).astype(np.float64) for rows in parts]))  # (folds, C, D)
    if scatters is None:
        scatters = compute_scatter_per_fold(E, folds, processes)
    all_sizes, all_sums, all_scatter = sizes.sum(0), sums.sum(0), scatters.sum(0)
    return [
        fit_shrunk_lda(
            int(n_texts.sum() - n_texts[fold]),
            all_sizes - sizes[fold],
            all_sums - sums[fold],
            all_scatter - scatters[fold],
        )
        for fold in range(N_FOLDS)
    ]


def fit_naive_bayes_per_fold(
    tfidf: csr_matrix, Q: Floats, folds: Ints, processes: ProcessGroup = SINGLE_PROCESS
) -> list[Floats]:
    """Fit naive Bayes without each fold, on the texts of all processes: the log-likelihoods of words, (V, C)."""
    counts = [processes.all_reduce_array(np.asarray(tfidf[rows].T @ Q[rows])) for rows in split_rows(folds)]  # (V, C)
    total = sum(counts)
    return [fit_naive_bayes(np.maximum(total - fold_counts, 0)) for fold_counts in counts]


def fit_naive_bayes(counts: Floats) -> Floats:
    """Return the log-likelihoods of words in each class, (V, C), from their summed weights (V, C)."""
    smoothed = counts + WORD_SMOOTHING
    return np.asarray(np.log(smoothed / smoothed.sum(0)))


def split_rows(folds: Ints) -> list[Ints]:
    """Return the rows of each fold."""
    return [np.flatnonzero(folds == fold) for fold in range(N_FOLDS)]
