"""Structure of texts: whether there is anything to cluster.

Two questions, neither of which needs a true label:

- Do repeated searches find the same clusters? Two searches are compared on the texts that neither has seen, by adjusted
  mutual information (AMI): 1 if they agree, about 0 if clusters are drawn at random.
- Do the words of a text belong together? Each text's words are divided into two halves at random, and both halves are
  embedded. In texts of random words the halves are independent given their lengths, whatever the words are. Their
  dependence is measured by the sum of products of the centred inner products (linear HSIC, Gretton et al. 2005), and
  compared with that of halves exchanged between texts of equal length. This finds random words even where few words
  recur so often that clusters of them are stable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score

from rstc.pseudo_labels.repeats import Repeats

MAX_TESTED_TEXTS = 500
MIN_TESTED_TEXTS = 400  # with fewer, the words of real texts may seem independent
MAX_TESTED_WORDS = 32  # of a text
N_PERMUTATIONS = 99
MIN_DEPENDENCE = 4.0  # standard deviations above the mean of the permutations

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Structure:
    """Whether texts have clusters.

    Attributes
    ----------
    agreement : float
        Mean AMI of two repeated searches, on texts that neither has seen.
    word_dependence : float or None
        By how many standard deviations the halves of texts depend on each other more than by chance; None if there are
        too few texts of several words.
    other_n_clusters : int or None
        A number of clusters that the texts support clearly better than the given one; None if there is none, or if the
        number was estimated.
    """

    agreement: float
    word_dependence: float | None
    other_n_clusters: int | None = None

    @property
    def has_random_words(self) -> bool:
        """Whether the words of the texts seem to be drawn at random."""
        return self.word_dependence is not None and self.word_dependence < MIN_DEPENDENCE


def measure_agreement_of_repeats(repeats: Repeats) -> float | None:
    """Measure the mean AMI of each search with the next one, on texts that neither has seen; None if there are none."""
    scores = []
    for one in range(repeats.n_repeats):
        other = (one + 1) % repeats.n_repeats
        rows = repeats.left_out[one] & repeats.left_out[other]
        if rows.any():
            scores.append(adjusted_mutual_info_score(repeats.labels[one, rows], repeats.labels[other, rows]))
    return float(np.mean(scores)) if scores else None


def measure_word_dependence(
    texts: Sequence[str], embed: Callable[[list[str]], Floats], rng: np.random.Generator
) -> float | None:
    """Measure by how many standard deviations the words of a text belong together more than by chance.

    Parameters
    ----------
    texts : sequence of str
        The texts, of which a random sample is tested.
    embed : callable
        Returns embeddings (n, D) of n texts, which may depend on all their words, but not on how halves are paired.
    rng : numpy.random.Generator
        Draws the sample, the halves and the permutations.

    Returns
    -------
    float or None
        None if there are too few texts of several words.
    """
    words = []
    for row in rng.permutation(len(texts)):
        split = texts[row].split()[:MAX_TESTED_WORDS]
        if len(split) > 1:
            words.append([split[i] for i in rng.permutation(len(split))])
        if len(words) == MAX_TESTED_TEXTS:
            break
    if len(words) < MIN_TESTED_TEXTS:
        return None
    n = len(words)
    first = [" ".join(split[: len(split) // 2]) for split in words]
    second = [" ".join(split[len(split) // 2 :]) for split in words]
    E = embed([*first, *second])
    centred = [half - half.mean(0) for half in (E[:n], E[n:])]
    similarity, other = (half @ half.T for half in centred)
    np.fill_diagonal(similarity, 0)
    lengths = np.array([len(split) for split in words])
    by_length = np.argsort(lengths, kind="stable")
    permuted = []
    for _ in range(N_PERMUTATIONS):
        order = np.empty(n, dtype=np.int64)
        order[by_length] = np.lexsort((rng.random(n), lengths))  # exchanges texts of the same length
        permuted.append(float((similarity * other[np.ix_(order, order)]).sum()))
    observed = float((similarity * other).sum())
    return (observed - float(np.mean(permuted))) / max(float(np.std(permuted)), 1e-12)
