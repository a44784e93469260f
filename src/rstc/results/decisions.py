"""What a run decided by itself (start, weights of the feature sets, length of training), in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rstc.pseudo_labels.cluster_count import ClusterCount

START_NAMES = {
    "kmeans": "k-means",
    "spectral": "spectral clustering of the neighbour graph",
    "linkage": "average linkage",
}
FEATURE_NAMES = {"static": "Static word vectors", "words": "Words (TF-IDF)", "features": "Your own features"}


def describe_decisions(history: Sequence[dict[str, Any]], converged: bool) -> list[str]:
    """Describe the decisions of a run.

    Parameters
    ----------
    history : sequence of dict
        The entries of the label updates; the first label search lists its candidates.
    converged : bool
        Whether training ended before its last step.

    Returns
    -------
    list of str
        One sentence for each decision; empty if everything was given.

    Examples
    --------
    >>> agreement = {"by_features": {"embedding": 0.8, "words": 0.5}, "product": 0.4}
    >>> best = {"start": "kmeans", "mix": {"words": 0.0}, "agreement": agreement}
    >>> other = {"start": "linkage", "mix": {"words": 1.0}, "agreement": {**agreement, "product": 0.3}}
    >>> history = [{"step": 0, "start": "kmeans", "mix": {"words": 0.0}, "candidates": [best, other]}]
    >>> for sentence in describe_decisions(history, converged=False):
    ...     print(sentence)
    Start: k-means (agreement 0.400; average linkage 0.300).
    Words (TF-IDF): not used (agreement 0.400; with weight 1 0.300).
    """
    searches = [entry for entry in history if entry.get("candidates")]
    sentences = _describe_search(searches[0]["candidates"]) if searches else []
    last = history[-1] if history else {}
    if searches and converged and last.get("moved") is not None:
        steps, moved = last["step"], last["moved"]
        sentences.append(f"Training: ended after {steps} steps; it moved {moved:.1%} of the texts to another cluster.")
    return sentences


def describe_level(search: ClusterCount | None, n_clusters: int, detail: str | None) -> list[str]:
    """Describe that a weak estimate of the number of clusters took the coarser level, if it did.

    Parameters
    ----------
    search : ClusterCount or None
        How the number of clusters was estimated; None if it was given.
    n_clusters : int
        The number of clusters of the run.
    detail : str or None
        The setting `detail`.

    Returns
    -------
    list of str
        One sentence, or none.

    Examples
    --------
    >>> describe_level(ClusterCount(18, 18, 18, "weak", (6,), ()), 6, "auto")[0][:72]
    'The number of clusters is uncertain (6 or 18 fit about as well); the coa'
    >>> describe_level(ClusterCount(18, 18, 18, "clear", (6,), ()), 18, "auto")
    []
    """
    if search is None or detail != "auto" or search.coarser != n_clusters:
        return []
    return [
        f"The number of clusters is uncertain ({search.coarser} or {search.n_clusters} fit about as well); the coarser "
        "level was taken: --detail medium, `rstc detail` or the page shows the other."
    ]


def _describe_search(candidates: list[dict[str, Any]]) -> list[str]:
    """Describe the chosen start and weights by the best candidates with other ones."""
    best = candidates[0]
    starts = _best_by([(candidate["start"], candidate) for candidate in candidates])
    others = [f"{START_NAMES[name]} {value:.3f}" for name, value in starts.items() if name != best["start"]]
    if best["start"] != "linkage" and starts.get("linkage", 0.0) > best["agreement"]["product"]:
        others[-1] += ", but not stable"
    sentences = [f"Start: {START_NAMES[best['start']]} ({_compare(best, others)})."]
    for name, weight in best["mix"].items():
        weights = _best_by([(candidate["mix"][name], candidate) for candidate in candidates])
        others = [
            f"{f'with weight {other:g}' if other else 'without them'} {value:.3f}"
            for other, value in sorted(weights.items())
            if other != weight
        ]
        use = f"weight {weight:g} beside the embedding's 1" if weight else "not used"
        sentences.append(f"{FEATURE_NAMES[name]}: {use} ({_compare(best, others)}).")
    return sentences


def _best_by(keyed: list[tuple[Any, dict[str, Any]]]) -> dict[Any, float]:
    """Return the highest agreement for each key."""
    best: dict[Any, float] = {}
    for key, candidate in keyed:
        best[key] = max(best.get(key, 0.0), candidate["agreement"]["product"])
    return best


def _compare(best: dict[str, Any], others: list[str]) -> str:
    return "; ".join([f"agreement {best['agreement']['product']:.3f}", *others])
