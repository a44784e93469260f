"""Whether one method is better than another: a test that is paired over seeds and data sets.

Runs of one data set with different seeds say little about other texts, so that the data set is the unit of the test:
the differences of a set's common seeds are averaged, and if the two methods were equally good, the sign of that mean
would be random. The p-value is the share of all 2^n assignments of signs whose mean is as far from zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_EXACT_SETS = 16  # with more, signs are drawn
N_DRAWS = 2**16


@dataclass(frozen=True)
class Comparison:
    """A comparison of two methods.

    Attributes
    ----------
    mean : float
        Mean over the data sets of the difference between the first method and the second.
    wins : int
        Number of data sets on which the first one is better.
    n_sets, n_pairs : int
        Number of data sets and of pairs of runs with the same seed.
    p_value : float
        Two-sided p-value of the sign-flip test over the data sets. With n sets it is at least 2^(1 - n): fewer than six
        cannot show a difference at 0.05.
    """

    mean: float
    wins: int
    n_sets: int
    n_pairs: int
    p_value: float


def compare_methods(
    first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], metric: str = "acc"
) -> Comparison | None:
    """Compare the runs of two methods, paired by data set and seed.

    Parameters
    ----------
    first, second : sequences of dict
        Runs of the store, of one method each.
    metric : str
        The score to compare.

    Returns
    -------
    Comparison or None
        None if no data set has a seed in common.

    Examples
    --------
    >>> def run(dataset, seed, acc):
    ...     return {"dataset": dataset, "seed": seed, "acc": acc}
    >>> ours = [run("a", 0, 80.0), run("a", 1, 82.0), run("b", 0, 60.0)]
    >>> theirs = [run("a", 0, 70.0), run("a", 1, 74.0), run("b", 0, 59.0)]
    >>> compare_methods(ours, theirs)
    Comparison(mean=5.0, wins=2, n_sets=2, n_pairs=3, p_value=0.5)
    """
    others = {(run["dataset"], run["seed"]): run[metric] for run in second}
    differences: dict[str, list[float]] = {}
    for run in first:
        if (key := (run["dataset"], run["seed"])) in others:
            differences.setdefault(run["dataset"], []).append(run[metric] - others[key])
    if not differences:
        return None
    means = np.array([np.mean(values) for values in differences.values()])
    n_pairs = sum(map(len, differences.values()))
    return Comparison(float(means.mean()), int((means > 0).sum()), len(means), n_pairs, sign_flip_p_value(means))


def sign_flip_p_value(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the two-sided p-value of a mean of differences (n,) under random signs, exact for up to 16 of them.

    Examples
    --------
    >>> sign_flip_p_value([1.0, 2.0, 3.0])  # two of eight assignments have a mean of 2 or -2
    0.25
    """
    values = np.asarray(differences, dtype=np.float64)
    if len(values) <= MAX_EXACT_SETS:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(values))))
    else:
        signs = np.random.default_rng(0).choice([1.0, -1.0], (N_DRAWS, len(values)))
    means, observed = np.abs(signs @ values), abs(values.sum())
    return float((means >= observed - 1e-9 * max(observed, 1.0)).mean())
