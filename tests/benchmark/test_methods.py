from __future__ import annotations

import pytest

from rstc.benchmark.datasets import DATASETS
from rstc.benchmark.methods import METHODS, effective_changes, make_estimator
from rstc.errors import InputError


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_an_estimator_for_every_data_set(name: str) -> None:
    for dataset in DATASETS.values():
        estimator = make_estimator(name, dataset, 7, 3, {})
        assert (estimator.n_clusters, estimator.random_state) == (METHODS[name].n_clusters or 7, 3)


def test_paper_settings_depend_on_the_data_set() -> None:
    made = {name: make_estimator("rstc-paper", DATASETS[name], 2, 0, {}).config() for name in ("tweet", "agnews-4k")}
    assert (made["tweet"].eps2, made["agnews-4k"].eps2) == (0.001, 0.1)
    assert (made["tweet"].contrast_steps, made["agnews-4k"].contrast_steps) == (0, 20)


def test_cpu_schedule_keeps_steps_times_encoder_lr() -> None:
    cpu, paper = (
        make_estimator("rstc-paper", DATASETS["tweet"], 2, 0, changes).config()
        for changes in ({}, {"schedule": "paper"})
    )
    assert cpu.max_steps * cpu.encoder_lr == pytest.approx(paper.max_steps * paper.encoder_lr)
    assert (cpu.trainable_layers, paper.trainable_layers) == (1, "all")
    assert (paper.max_steps, paper.encoder_lr, paper.renewals) == (3000, 5e-6, 95)


def test_each_ablation_differs_in_one_setting() -> None:
    def settings(name: str) -> dict[str, object]:
        return make_estimator(name, DATASETS["stackoverflow"], 2, 0, {}).config().to_dict()

    full = settings("rstc-paper")
    ablations = [name for name in METHODS if name.startswith("rstc-") and name not in ("rstc-given", "rstc-auto")]
    changed = {name: {k: v for k, v in settings(name).items() if v != full[k]} for name in ablations}
    assert changed == {
        "rstc-ot": {"labels": "ot-random"},
        "rstc-c": {"lambda_i": 0.0},
        "rstc-i": {"class_contrast": False},
        "rstc-paper": {},
        "rstc-m2": {"labels": "ot-average"},
        "rstc-m2-released": {"labels": "ot-average-released"},
        "rstc-m3": {"labels": "ot-near"},
    }


def test_unknown_setting_raises() -> None:
    with pytest.raises(InputError, match="bow has no setting 'eps2'"):
        make_estimator("bow", DATASETS["tweet"], 2, 0, {"eps2": 0.1})
    with pytest.raises(InputError, match="rstc-paper has no setting 'epsilon'"):
        make_estimator("rstc-paper", DATASETS["tweet"], 2, 0, {"epsilon": 0.1}).config()
    with pytest.raises(InputError, match="schedule='gpu' is not one of cpu, paper"):
        make_estimator("rstc-paper", DATASETS["tweet"], 2, 0, {"schedule": "gpu"})


@pytest.mark.parametrize("name", ["n_clusters", "random_state", "cache_folder"])
def test_reserved_parameter_raises(name: str) -> None:
    with pytest.raises(InputError, match=f"has no setting '{name}'"):
        make_estimator("bow", DATASETS["tweet"], 2, 0, {name: 3})


def test_schedule_is_dropped_from_methods_without_one() -> None:
    assert effective_changes("bow", "tweet", {"schedule": "paper"}) == {}
    assert effective_changes("sccl", "tweet", {"schedule": "paper"}) == {"schedule": "paper"}
    assert effective_changes("sccl", "tweet", {"schedule": "cpu"}) == {}


def test_unknown_method_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown method 'lda'; the methods are bow"):
        make_estimator("lda", DATASETS["tweet"], 2, 0, {})
