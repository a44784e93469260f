"""The paper's Table 1: ACC and NMI in percent by method and data set (Zheng et al., ACL 2023)."""

from __future__ import annotations

DATASETS = (
    "agnews",
    "searchsnippets",
    "stackoverflow",
    "biomedical",
    "googlenews-ts",
    "googlenews-t",
    "googlenews-s",
    "tweet",
)
# ACC and NMI of each data set, in the order of DATASETS; "-" where the paper reports none.
_TABLE_1 = """
bow        28.71  4.07  23.67  9.00  17.92 13.21  14.18  8.51  58.79 82.59  48.05 72.38  52.68 76.11  50.25 72.00
tfidf      34.39 12.19  30.85 18.67  58.52 59.02  29.13 25.12  69.00 87.78  58.36 79.14  62.30 83.00  54.34 78.47
stc2-lpi       -     -  76.98 62.56  51.14 49.10  43.37 38.02      -     -      -     -      -     -      -     -
self-train     -     -  72.69 56.74  59.38 52.81  40.06 34.46      -     -      -     -      -     -      -     -
kmeans-ic  66.30 42.03  63.84 42.77  74.96 70.27  40.44 32.16  79.81 92.91  68.88 83.55  74.48 88.53  66.54 84.84
sccl       83.10 61.96  79.90 63.78  70.83 69.21  42.49 39.16  82.51 93.01  69.01 85.10  73.44 87.98  73.10 86.66
sbert      65.95 31.55  55.83 32.07  60.55 51.79  39.50 32.63  65.71 86.60  55.53 78.38  56.62 80.50  53.44 78.99
rstc-ot    65.94 41.86  70.79 59.30  56.77 60.17  38.14 34.89  63.97 85.79  56.45 79.49  59.48 81.21  56.84 79.16
rstc-c     78.08 49.39  62.59 44.02  78.33 70.28  46.74 38.69  78.48 90.59  63.08 82.16  65.05 83.88  76.62 85.61
rstc-i     85.39 62.79  79.26 68.03  31.31 28.66  34.39 31.20  75.44 92.06  64.84 85.06  66.22 86.93  61.12 84.53
rstc-paper 84.24 62.45  80.10 69.74  83.30 74.11  48.40 40.12  83.27 93.15  72.27 87.39  79.32 89.40  75.20 87.35
"""


def _parse_table(table: str) -> dict[tuple[str, str], tuple[float, float]]:
    scores = {}
    for line in table.strip().splitlines():
        method, *cells = line.split()
        for dataset, acc, nmi in zip(DATASETS, cells[::2], cells[1::2], strict=True):
            if acc != "-":
                scores[method, dataset] = float(acc), float(nmi)
    return scores


_SCORES = _parse_table(_TABLE_1)


def published_scores(method: str, dataset: str) -> tuple[float, float] | None:
    """Look up the paper's ACC and NMI of a method on a data set.

    Returns
    -------
    tuple of float, or None
        ACC and NMI in percent; None where the paper reports none.

    Examples
    --------
    >>> published_scores("rstc-paper", "tweet")
    (75.2, 87.35)
    """
    return _SCORES.get((method, dataset))
