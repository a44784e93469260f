"""The training loop: what it trains, what it leaves unchanged, and the paper's ablations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rstc.config import make_config
from rstc.errors import InputError
from rstc.metrics import evaluate
from rstc.representation.encoder import Encoder
from rstc.representation.heads import CentroidHead
from rstc.representation.loading import load_encoder
from rstc.representation.views import make_views
from rstc.training.inputs import TrainingInputs
from rstc.training.trainer import TrainResult, train


def run_training(
    texts: list[str], quick: dict[str, Any], n_clusters: int = 4, seed: int = 0, **settings: Any
) -> TrainResult:
    config = make_config("default", {**quick, **settings})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu")
    inputs = TrainingInputs(texts, make_views(texts, config.views), encoder, n_clusters)
    return train(inputs, config, np.random.default_rng(seed))


Data = tuple[list[str], list[str]]


def test_topics_are_found(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    result = run_training(texts, quick, max_steps=40)
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.9


def test_clusters_and_b_are_ordered_by_size(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    result = run_training(texts_and_topics[0], quick, max_steps=40)
    sizes = result.prediction.clusters.bincount(minlength=4).tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert result.b.sum() == pytest.approx(1)
    assert result.b.argmax() == 0
    tokens = result.network.encoder.tokenize(texts_and_topics[0])
    again = result.network.break_ties(tokens, result.network.predict(tokens))
    assert torch.equal(again.log_p, result.prediction.log_p)


def test_equal_seeds_give_equal_results_and_torch_rng_is_restored(
    texts_and_topics: Data, quick: dict[str, Any]
) -> None:
    torch.manual_seed(123)
    before = torch.get_rng_state()
    first = run_training(texts_and_topics[0], quick)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(456)
    second = run_training(texts_and_topics[0], quick)
    assert torch.equal(first.prediction.log_p, second.prediction.log_p)
    other = run_training(texts_and_topics[0], quick, seed=1)
    assert not torch.equal(first.prediction.log_p, other.prediction.log_p)


def train_encoder(texts: list[str], quick: dict[str, Any], **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    before = load_encoder(quick["encoder"], "mean", 32, "cpu").state_dict()
    return before, run_training(texts, quick, **settings).network.encoder.state_dict()


def test_only_trainable_layers_change(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    before, after = train_encoder(texts_and_topics[0], quick, trainable_layers=1)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("layer.1." in name for name in changed)


def test_encoder_without_trainable_layers_does_not_change(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    before, after = train_encoder(texts_and_topics[0], quick, trainable_layers=0)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_losses_decrease(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    history = run_training(texts_and_topics[0], quick, labels="saot", renewals=6, max_steps=60, delta=0.0).history
    assert history[-1]["loss_class"] < history[0]["loss_class"]
    assert history[-1]["loss_instance"] < history[0]["loss_instance"]
    assert all(entry["transport_residual"] <= 1e-8 for entry in history)


def test_training_stops_when_the_clusters_converge(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    result = run_training(
        texts_and_topics[0], quick, max_steps=400, max_epochs=0, renewals=40, stop_interval=10, delta=0.05
    )
    assert result.converged
    assert result.n_steps < 400
    assert result.history[-1]["changed"] < 0.05


def test_uniform_class_distribution_is_met(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    assert run_training(texts_and_topics[0], quick, labels="ot-uniform").b == pytest.approx(np.full(4, 0.25))


def test_random_class_distribution_depends_on_the_seed_alone(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    first, again, other = (run_training(texts_and_topics[0], quick, labels="ot-random", seed=s).b for s in (0, 0, 1))
    assert sorted(first) == pytest.approx(sorted(again))
    assert sorted(first) != pytest.approx(sorted(other))


def test_projector_is_not_trained_without_lambda_i(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    few, many = (
        run_training(texts_and_topics[0], quick, lambda_i=0.0, contrast_steps=5, max_steps=steps).network
        for steps in (2, 12)
    )
    for first, last in zip(few.projector.parameters(), many.projector.parameters(), strict=True):
        assert torch.equal(first, last)
    assert not torch.equal(few.cluster_head[1].weight, many.cluster_head[1].weight)


def test_contrast_steps_must_leave_steps_for_the_labels(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="contrast_steps=600 leaves none of the 12 steps"):
        run_training(texts_and_topics[0], quick, contrast_steps=600)


def test_clusters_come_from_k_means_without_class_contrast(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    result = run_training(texts, quick, class_contrast=False)
    assert isinstance(result.network.cluster_head, CentroidHead)
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8
    assert result.n_steps == 12


def test_contrast_steps_come_first(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    history = run_training(texts_and_topics[0], quick, contrast_steps=5).history
    assert (history[0]["step"], history[0]["loss_class"]) == (5, None)
    assert history[-1]["step"] == 12
    assert history[-1]["loss_class"] > 0


def test_head_is_warmed_up_before_the_first_transport(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    confidence = {
        start: run_training(texts_and_topics[0], quick, labels="saot", renewals=6, head_start=start).history[0][
            "confidence"
        ]
        for start in (0.0, 0.99)
    }
    assert confidence[0.99] > confidence[0.0] + 0.2


def test_preset_paper_trains_all_layers(texts_and_topics: Data, tiny_encoder: str) -> None:
    settings = {"encoder": tiny_encoder, "max_steps": 60, "contrast_steps": 5, "first_renewal": 20}
    config = make_config("paper", settings)
    encoder = load_encoder(tiny_encoder, "mean", 32, "cpu")
    texts = texts_and_topics[0]
    inputs = TrainingInputs(texts, make_views(texts, "deletion@0.1"), encoder, 4)
    result = train(inputs, config, np.random.default_rng(0))
    assert min(entry["step"] for entry in result.history[1:]) >= 25
    assert all(p.requires_grad for p in result.network.encoder.parameters())


def test_frozen_layers_run_once_per_distinct_text(
    texts_and_topics: Data, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    lower = Encoder.run_frozen_layers
    monkeypatch.setattr(
        Encoder,
        "run_frozen_layers",
        lambda self, tokens, *by_length: seen.append(len(tokens)) or lower(self, tokens, *by_length),
    )
    run_training(texts_and_topics[0], quick, max_steps=30)
    assert sum(seen) == len(set(texts_and_topics[0]))


@pytest.mark.parametrize("settings", [{}, {"views": "deletion@0.2"}, {"trainable_layers": 0}])
def test_cache_in_a_file_and_in_memory_give_equal_bits(
    texts_and_topics: Data, quick: dict[str, Any], settings: dict[str, Any]
) -> None:
    in_file, in_memory = (run_training(texts_and_topics[0], quick, cache_mb=mb, **settings) for mb in (0, 100))
    assert torch.equal(in_file.prediction.log_p, in_memory.prediction.log_p)


@pytest.mark.parametrize("layers", [0, 1, "all"])
def test_fitted_texts_are_predicted_as_fitted(texts_and_topics: Data, quick: dict[str, Any], layers: int | str) -> None:
    result = run_training(texts_and_topics[0], quick, trainable_layers=layers)
    tokens = result.network.encoder.tokenize(texts_and_topics[0])
    again = result.network.predict(tokens)
    assert again.log_p.numpy() == pytest.approx(result.prediction.log_p.numpy(), abs=1e-4)


def test_frozen_encoder_embeds_the_texts_once(
    texts_and_topics: Data, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    embed = Encoder.embed
    monkeypatch.setattr(Encoder, "embed", lambda self, *args: calls.append(1) or embed(self, *args))
    run_training(texts_and_topics[0], quick, trainable_layers=0)
    assert len(calls) == 1


def test_subsample_trains_and_all_texts_are_labelled(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    result = run_training(texts, quick, max_fit_texts=70, max_steps=40)
    assert result.n_trained == 70
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8, (
        "the subsample holds three texts of one topic"
    )
    with pytest.raises(InputError, match="max_fit_texts=3 leaves 3 distinct texts for 4 clusters"):
        run_training(texts, quick, max_fit_texts=3)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_lower_precision_finds_the_topics(
    texts_and_topics: Data, quick: dict[str, Any], precision: torch.dtype
) -> None:
    texts, topics = texts_and_topics
    config = make_config("default", {**quick, "max_steps": 40})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu", precision)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    inputs = TrainingInputs(texts, make_views(texts, "cutoff@0.1"), encoder, 4)
    result = train(inputs, config, np.random.default_rng(0))
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.9
    assert all(p.dtype == torch.float32 for p in result.network.parameters())
    assert not all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    tokens = encoder.tokenize(texts)
    alone = [result.network.break_ties([row], result.network.predict([row])).clusters.item() for row in tokens]
    assert alone == result.prediction.clusters.tolist(), "a text's cluster depends on the text alone"


@pytest.mark.parametrize("labels", ["ot-average", "ot-near"])
def test_other_estimates_of_b_find_the_topics(labels: str, texts_and_topics: Data, quick: dict[str, Any]) -> None:
    """M2 and M3 of the paper's appendix: from a random b to one that fits sizes of 60, 30, 20 and 10."""
    texts, topics = texts_and_topics
    result = run_training(texts, quick, max_steps=40, labels=labels, words=1.0, static=0.0)
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8
    assert result.b == pytest.approx(np.array([60, 30, 20, 10]) / 120, abs=0.1)


def test_watch_is_called_at_every_label_update(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    seen: list[tuple[int, np.ndarray]] = []
    texts, _ = texts_and_topics
    config = make_config("default", {**quick, "max_steps": 40})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu")
    inputs = TrainingInputs(texts, make_views(texts, config.views), encoder, 4)
    watch = lambda step, rows, clusters: seen.append((step, clusters))  # noqa: E731
    result = train(inputs, config, np.random.default_rng(0), watch=watch)
    assert [step for step, _ in seen] == [entry["step"] for entry in result.history]
    assert [len(set(clusters.tolist())) for _, clusters in seen] == [entry["clusters"] for entry in result.history]


def test_labels_of_crossfit_keep_the_cluster_numbers(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    result = run_training(
        texts_and_topics[0], quick, renewals=3, max_steps=40, delta=0.0, stop_interval=1, training="always"
    )
    assert [entry["step"] for entry in result.history] == [0, 10, 40]
    assert all(entry["changed"] < 0.2 for entry in result.history[2:]), "renumbered, nearly all would have changed"
    assert all(entry["agreement"] > 0.9 for entry in result.history)


def test_no_cluster_is_empty(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, _ = texts_and_topics
    rare = ["zeppelin over the lake", "a zeppelin landed"]
    result = run_training([*texts, *rare], quick, n_clusters=9, max_steps=20)
    assert len(result.prediction.clusters.unique()) == 9


def test_initial_cluster_sizes_set_eps2(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    rare = [text for text, topic in zip(texts, topics, strict=True) if topic != "parcel"][:12]
    even = run_training(texts, quick).history[0]["eps2"]
    uneven = run_training([text for text, topic in zip(texts, topics, strict=True) if topic == "parcel"] + rare, quick)
    assert uneven.history[0]["eps2"] < even
    assert run_training(texts, quick, eps2=0.05).history[0]["eps2"] == 0.05


def test_frozen_encoder_takes_no_step_and_keeps_its_first_labels(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    shown: list[np.ndarray] = []
    config = make_config("default", {**quick, "trainable_layers": 0})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu")
    inputs = TrainingInputs(texts, make_views(texts, "cutoff@0.1"), encoder, 4)
    watch = lambda step, rows, clusters: shown.append(clusters)  # noqa: E731
    result = train(inputs, config, np.random.default_rng(0), watch=watch)
    assert result.n_steps == 0
    first, last = shown
    assert (first == last).mean() > 0.99
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8
