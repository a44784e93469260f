"""How far a run can be trusted: verdicts and sentences."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.pseudo_labels.structure import Structure
from rstc.results.reliability import ClusterReliability, RunReliability, build_run_reliability


def rating(**values: object) -> ClusterReliability:
    entries = {"n_found": 30, "n_repeats": 30, "separation": 0.4, "size_low": 9, "size_high": 1200}
    return ClusterReliability.from_json(entries | {"confused_with": 3, "confusion": 0.05} | values)


def assess(
    agreement: float = 0.9, words: float | None = 50.0, other: int | None = None, largest: float = 0.3
) -> RunReliability:
    confidence = np.array([0.95] * 6 + [0.6] * 2 + [0.3] * 2, dtype=np.float32)
    clusters = [rating(), rating(n_found=20), rating(n_found=2)]
    return build_run_reliability(Structure(agreement, words, other), confidence, clusters, largest, 30)


@pytest.mark.parametrize(("n_found", "level"), [(30, "stable"), (24, "stable"), (15, "unsure"), (14, "unstable")])
def test_level_of_a_cluster(n_found: int, level: str) -> None:
    assert rating(n_found=n_found).level == level


def test_sentence_of_a_cluster_names_an_unclear_border() -> None:
    assert rating().describe({}) == "found again in 30 of 30 repeats, with 9 to 1,200 texts"
    assert rating(confusion=0.2).describe({3: "refund"}).endswith("; its border with 'refund' is unclear")
    assert rating(n_found=3, separation=-0.1).describe({}) == (
        "found again in 3 of 30 repeats; its texts have little in common"
    )


def test_run_counts_levels_of_confidence_and_clusters_that_are_found_again() -> None:
    run = assess()
    assert (run.high, run.medium, run.low) == pytest.approx((0.6, 0.2, 0.2))
    assert (run.n_found_again, run.n_clusters) == (2, 3)
    assert run.describe() == (
        "The clusters are stable: 2 of 3 are found again in most repeats; 20 % of the texts are between clusters "
        "(low confidence), read these before you count them."
    )
    assert not run.is_warning


@pytest.mark.parametrize(
    ("values", "verdict", "warns"),
    [
        ({}, "stable", False),
        ({"agreement": 0.5}, "partly stable", False),
        ({"agreement": 0.2}, "no structure", True),
        ({"words": 1.0}, "random words", True),
        ({"words": None}, "stable", False),
        ({"largest": 0.95}, "stable", False),
        ({"largest": 0.95, "agreement": 0.5}, "one topic", True),
        ({"agreement": 0.5, "other": 60}, "partly stable", True),
    ],
)
def test_verdicts(values: dict[str, float], verdict: str, warns: bool) -> None:
    run = assess(**values)  # type: ignore[arg-type]
    assert (run.verdict, run.is_warning) == (verdict, warns)
    assert run.describe().endswith(".")


def test_a_better_number_of_clusters_is_named() -> None:
    assert "About 60 clusters would fit these texts clearly better" in assess(other=60).describe()


def test_ratings_survive_a_round_trip() -> None:
    run = assess(other=9)
    assert RunReliability.from_json({"sentence": "ignored", **run.to_json()}) == run
    assert ClusterReliability.from_json(rating().to_json()) == rating()
