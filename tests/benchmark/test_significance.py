"""The paired comparison of two methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rstc.benchmark.significance import compare_methods, sign_flip_p_value


def runs(scores: dict[str, list[float]]) -> list[dict[str, Any]]:
    return [
        {"dataset": name, "seed": seed, "acc": acc}
        for name, values in scores.items()
        for seed, acc in enumerate(values)
    ]


def test_eight_wins_of_eight_have_the_smallest_p_value() -> None:
    assert sign_flip_p_value([3, 1, 4, 1, 5, 9, 2, 6]) == 2 / 2**8


def test_a_large_loss_counts_more_than_small_wins() -> None:
    assert sign_flip_p_value([0.1, 0.1, 0.1, -5.0]) > 0.5


def test_equal_methods_are_rarely_called_different() -> None:
    rng = np.random.default_rng(0)
    p_values = [sign_flip_p_value(rng.normal(size=8)) for _ in range(2000)]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.015)


def test_drawn_signs_agree_with_exact_ones() -> None:
    differences = np.random.default_rng(0).normal(0.5, 1, size=17)
    assert sign_flip_p_value(differences) == pytest.approx(
        sign_flip_p_value(np.append(differences[:16], 0.0)), abs=0.05
    )


def test_many_seeds_of_one_set_are_no_evidence_about_others() -> None:
    comparison = compare_methods(runs({"a": [9.0] * 50}), runs({"a": [8.0] * 50}))
    assert comparison is not None
    assert (comparison.n_pairs, comparison.n_sets, comparison.p_value) == (50, 1, 1.0)


def test_only_common_seeds_count() -> None:
    comparison = compare_methods(runs({"a": [9.0, 5.0, 1.0], "b": [2.0]}), runs({"a": [8.0], "c": [2.0]}))
    assert comparison is not None
    assert (comparison.mean, comparison.wins, comparison.n_sets, comparison.n_pairs) == (1.0, 1, 1, 1)


def test_without_a_common_seed_there_is_no_comparison() -> None:
    assert compare_methods(runs({"a": [1.0]}), runs({"b": [1.0]})) is None
