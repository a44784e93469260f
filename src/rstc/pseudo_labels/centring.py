"""Centring of dense features in which all texts look alike.

An encoder that was trained on one language maps texts of another one to a narrow cone: nearly all pairs of texts have a
positive cosine, because all embeddings share a large common vector. Cosines then say first how well a text is aligned
with that vector. Texts that are become neighbours of most others, and average linkage merges them, whatever they are
about, into one cluster that holds most texts.

Where unrelated texts are as likely to have a negative cosine as a positive one, there is no common vector. The test is
therefore the share of pairs with a negative cosine. Clusters alone do not make it small, even if one cluster is large:
pairs of texts of two clusters remain.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.runtime.distributed_rows import DistributedRows

logger = logging.getLogger("rstc")

MIN_NEGATIVE_SHARE = 0.05  # of pairs of texts; with fewer, all texts look alike
SAMPLE_ROWS = 1000  # evenly spaced, whose pairs are looked at
MIN_ROWS = 10  # with fewer, the share is decided by a few pairs

Floats = NDArray[np.float32]


def center_if_alike(X: Floats, rows: DistributedRows) -> Floats:
    """Subtract the mean of all rows if nearly all pairs of rows have a positive cosine.

    Parameters
    ----------
    X : (n, D) array
        Rows of this process.
    rows : DistributedRows
        The rows of all processes, among which the mean and the pairs are taken.

    Returns
    -------
    (n, D) array
        X itself, or centred rows, each with the length that it had.

    >>> from rstc.runtime.distributed import SINGLE_PROCESS
    >>> angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 100)
    >>> X = np.stack([np.cos(angles), np.sin(angles), np.full(100, 2.0)], axis=1).astype(np.float32)
    >>> rows = DistributedRows.from_local_count(100, SINGLE_PROCESS)
    >>> measure_negative_share(X, rows), round(measure_negative_share(center_if_alike(X, rows), rows), 1)
    (0.0, 0.5)
    """
    negative_share = measure_negative_share(X, rows)
    if negative_share >= MIN_NEGATIVE_SHARE:
        return X
    logger.info("%.1f %% of the pairs of texts have a negative cosine: features are centred", 100 * negative_share)
    centred = X - rows.processes.all_reduce_array(X.sum(0, dtype=np.float64)).astype(np.float32) / rows.n_rows
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(normalize(centred, copy=False) * lengths, dtype=np.float32)


def measure_negative_share(X: Floats, rows: DistributedRows) -> float:
    """Return the share of pairs with a negative cosine among the rows (n, D) of all processes, without rows of zeros.

    Of many rows, evenly spaced ones are compared. It is 1 for fewer than ten rows.
    """
    every = np.arange(0, rows.n_rows, max(1, -(-rows.n_rows // SAMPLE_ROWS)))
    sample = rows.gather(X, every)

    def measure() -> float:
        assert sample is not None
        U = normalize(sample[sample.any(axis=1)])
        if len(U) < MIN_ROWS:
            return 1.0
        cosines = (U @ U.T)[np.triu_indices(len(U), 1)]
        return float((cosines < 0).mean())

    return rows.processes.run_on_first(measure)
