"""The loop: what it learns, what it leaves alone, and the paper's ablations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rstc.config import make_config
from rstc.errors import InputError
from rstc.metrics import evaluate
from rstc.representation.encoder import Encoder
from rstc.representation.heads import Centroids
from rstc.representation.loading import load_encoder
from rstc.representation.views import drawn_views
from rstc.training.trainer import TrainResult, train


def run(texts: list[str], quick: dict[str, Any], n_clusters: int = 4, seed: int = 0, **settings: Any) -> TrainResult:
    config = make_config("default", {**quick, **settings})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu")
    views = drawn_views(texts, config.views)
    return train(texts, views, encoder, n_clusters, config, np.random.default_rng(seed))


Data = tuple[list[str], list[str]]


def test_known_topics_are_found(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    result = run(texts, quick, max_steps=40)
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.9


def test_clusters_are_numbered_by_size_and_b_with_them(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    result = run(texts_and_topics[0], quick, max_steps=40)
    sizes = result.prediction.clusters.bincount(minlength=4).tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert result.b.sum() == pytest.approx(1)
    assert result.b.argmax() == 0
    tokens = result.network.encoder.tokenize(texts_and_topics[0])
    again = result.network.settle(tokens, result.network.predict(tokens))
    assert torch.equal(again.log_p, result.prediction.log_p)


def test_same_generator_same_result_and_torch_is_left_as_it_was(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    torch.manual_seed(123)
    before = torch.get_rng_state()
    first = run(texts_and_topics[0], quick)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(456)
    second = run(texts_and_topics[0], quick)
    assert torch.equal(first.prediction.log_p, second.prediction.log_p)
    other = run(texts_and_topics[0], quick, seed=1)
    assert not torch.equal(first.prediction.log_p, other.prediction.log_p)


def weights(texts: list[str], quick: dict[str, Any], **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    before = load_encoder(quick["encoder"], "mean", 32, "cpu").state_dict()
    return before, run(texts, quick, **settings).network.encoder.state_dict()


def test_only_the_layers_that_may_learn_change(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    before, after = weights(texts_and_topics[0], quick, trainable_layers=1)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("layer.1." in name for name in changed)


def test_with_no_trainable_layer_the_encoder_stays(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    before, after = weights(texts_and_topics[0], quick, trainable_layers=0)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_losses_fall(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    history = run(texts_and_topics[0], quick, labels="saot", renewals=6, max_steps=60, delta=0.0).history
    assert history[-1]["loss_class"] < history[0]["loss_class"]
    assert history[-1]["loss_instance"] < history[0]["loss_instance"]
    assert all(entry["transport_residual"] <= 1e-8 for entry in history)


def test_it_stops_when_the_clusters_settle(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    result = run(texts_and_topics[0], quick, max_steps=400, max_epochs=0, renewals=40, stop_interval=10, delta=0.05)
    assert result.settled
    assert result.steps < 400
    assert result.history[-1]["changed"] < 0.05


def test_fixed_uniform_classes_are_met(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    assert run(texts_and_topics[0], quick, labels="ot-uniform").b == pytest.approx(np.full(4, 0.25))


def test_fixed_random_classes_are_the_seeds(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    first, again, other = (run(texts_and_topics[0], quick, labels="ot-random", seed=s).b for s in (0, 0, 1))
    assert sorted(first) == pytest.approx(sorted(again))
    assert sorted(first) != pytest.approx(sorted(other))


def test_without_instance_contrast_the_projector_learns_nothing(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    few, many = (
        run(texts_and_topics[0], quick, lambda_i=0.0, contrast_steps=5, max_steps=steps).network for steps in (2, 12)
    )
    for first, last in zip(few.projector.parameters(), many.projector.parameters(), strict=True):
        assert torch.equal(first, last)
    assert not torch.equal(few.cluster_head[1].weight, many.cluster_head[1].weight)


def test_steps_of_contrast_alone_must_leave_some_for_the_labels(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="contrast_steps=600 leave none of the 12 steps"):
        run(texts_and_topics[0], quick, contrast_steps=600)


def test_without_class_contrast_clusters_come_from_k_means(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    result = run(texts, quick, class_contrast=False)
    assert isinstance(result.network.cluster_head, Centroids)
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8
    assert result.steps == 12


def test_contrast_alone_comes_first_when_asked_for(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    history = run(texts_and_topics[0], quick, contrast_steps=5).history
    assert (history[0]["step"], history[0]["loss_class"]) == (5, None)
    assert history[-1]["step"] == 12
    assert history[-1]["loss_class"] > 0


def test_the_head_learns_its_first_labels_before_the_first_transport(
    texts_and_topics: Data, quick: dict[str, Any]
) -> None:
    confidence = {
        start: run(texts_and_topics[0], quick, labels="saot", renewals=6, head_start=start).history[0]["confidence"]
        for start in (0.0, 0.99)
    }
    assert confidence[0.99] > confidence[0.0] + 0.2


def test_the_papers_preset_runs(texts_and_topics: Data, tiny_encoder: str) -> None:
    settings = {"encoder": tiny_encoder, "max_steps": 60, "contrast_steps": 5, "first_renewal": 20}
    config = make_config("paper", settings)
    encoder = load_encoder(tiny_encoder, "mean", 32, "cpu")
    texts = texts_and_topics[0]
    views = drawn_views(texts, "deletion@0.1")
    result = train(texts, views, encoder, 4, config, np.random.default_rng(0))
    assert min(entry["step"] for entry in result.history[1:]) >= 25
    assert all(p.requires_grad for p in result.network.encoder.parameters())


def test_frozen_layers_run_once_for_each_text(
    texts_and_topics: Data, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    lower = Encoder.frozen_states
    monkeypatch.setattr(Encoder, "frozen_states", lambda self, tokens: seen.append(len(tokens)) or lower(self, tokens))
    run(texts_and_topics[0], quick, max_steps=30)
    assert sum(seen) == len(set(texts_and_topics[0]))


@pytest.mark.parametrize("settings", [{}, {"views": "deletion@0.2"}, {"trainable_layers": 0}])
def test_the_cache_in_a_file_gives_the_bits_of_the_one_in_memory(
    texts_and_topics: Data, quick: dict[str, Any], settings: dict[str, Any]
) -> None:
    in_file, in_memory = (run(texts_and_topics[0], quick, cache_mb=mb, **settings) for mb in (0, 100))
    assert torch.equal(in_file.prediction.log_p, in_memory.prediction.log_p)


@pytest.mark.parametrize("layers", [0, 1, "all"])
def test_what_was_fitted_is_what_is_predicted(texts_and_topics: Data, quick: dict[str, Any], layers: int | str) -> None:
    result = run(texts_and_topics[0], quick, trainable_layers=layers)
    tokens = result.network.encoder.tokenize(texts_and_topics[0])
    again = result.network.predict(tokens)
    assert again.log_p.numpy() == pytest.approx(result.prediction.log_p.numpy(), abs=1e-4)


def test_an_encoder_that_does_not_learn_embeds_the_texts_once(
    texts_and_topics: Data, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    embed = Encoder.embed
    monkeypatch.setattr(Encoder, "embed", lambda self, *args: calls.append(1) or embed(self, *args))
    run(texts_and_topics[0], quick, trainable_layers=0)
    assert len(calls) == 1


def test_a_sample_of_the_texts_trains_and_all_are_labelled(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    result = run(texts, quick, max_fit_texts=70, max_steps=40)
    assert result.n_trained == 70
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8, "of one topic it has seen three texts"
    with pytest.raises(InputError, match="max_fit_texts=3 leaves 3 distinct texts to find 4 clusters in"):
        run(texts, quick, max_fit_texts=3)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_training_in_lower_precision_learns_as_well(
    texts_and_topics: Data, quick: dict[str, Any], precision: torch.dtype
) -> None:
    texts, topics = texts_and_topics
    config = make_config("default", {**quick, "max_steps": 40})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu", precision)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    result = train(texts, drawn_views(texts, "cutoff@0.1"), encoder, 4, config, np.random.default_rng(0))
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.9
    assert all(p.dtype == torch.float32 for p in result.network.parameters())
    assert not all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    tokens = encoder.tokenize(texts)
    alone = [result.network.settle([row], result.network.predict([row])).clusters.item() for row in tokens]
    assert alone == result.prediction.clusters.tolist(), "a text's cluster depends on the text alone"


@pytest.mark.parametrize("labels", ["ot-average", "ot-near"])
def test_other_estimators_of_b_find_the_topics(labels: str, texts_and_topics: Data, quick: dict[str, Any]) -> None:
    """M2 and M3 of the paper's appendix: from a random b to one that fits sizes of 60, 30, 20 and 10."""
    texts, topics = texts_and_topics
    result = run(texts, quick, max_steps=40, labels=labels)
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8
    assert result.b == pytest.approx(np.array([60, 30, 20, 10]) / 120, abs=0.1)


def test_the_clusters_of_every_renewal_can_be_watched(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    seen: list[tuple[int, np.ndarray]] = []
    texts, _ = texts_and_topics
    config = make_config("default", {**quick, "max_steps": 40})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu")
    views = drawn_views(texts, config.views)
    watch = lambda step, rows, clusters: seen.append((step, clusters))  # noqa: E731
    result = train(texts, views, encoder, 4, config, np.random.default_rng(0), watch=watch)
    assert [step for step, _ in seen] == [entry["step"] for entry in result.history]
    assert [len(set(clusters.tolist())) for _, clusters in seen] == [entry["clusters"] for entry in result.history]


def test_labels_found_anew_keep_their_numbers(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    result = run(texts_and_topics[0], quick, renewals=3, max_steps=40, delta=0.0, stop_interval=1)
    assert [entry["step"] for entry in result.history] == [0, 10, 40]
    assert all(entry["changed"] < 0.2 for entry in result.history[2:]), "renumbered, nearly all would have changed"
    assert all(entry["agreement"] > 0.9 for entry in result.history)


def test_every_cluster_asked_for_holds_a_text(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, _ = texts_and_topics
    rare = ["zeppelin over the lake", "a zeppelin landed"]
    result = run([*texts, *rare], quick, n_clusters=9, max_steps=20)
    assert len(result.prediction.clusters.unique()) == 9


def test_the_sizes_at_the_start_set_eps2(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    rare = [text for text, topic in zip(texts, topics, strict=True) if topic != "parcel"][:12]
    even = run(texts, quick).history[0]["eps2"]
    uneven = run([text for text, topic in zip(texts, topics, strict=True) if topic == "parcel"] + rare, quick)
    assert uneven.history[0]["eps2"] < even
    assert run(texts, quick, eps2=0.05).history[0]["eps2"] == 0.05


def test_a_frozen_encoder_takes_no_step_and_its_labels_stand(texts_and_topics: Data, quick: dict[str, Any]) -> None:
    texts, topics = texts_and_topics
    shown: list[np.ndarray] = []
    config = make_config("default", {**quick, "trainable_layers": 0})
    encoder = load_encoder(config.encoder, config.pooling, config.max_tokens, "cpu")
    result = train(
        texts,
        drawn_views(texts, "cutoff@0.1"),
        encoder,
        4,
        config,
        np.random.default_rng(0),
        watch=lambda step, rows, clusters: shown.append(clusters),
    )
    assert result.steps == 0
    first, last = shown
    assert (first == last).mean() > 0.99
    assert evaluate(topics, result.prediction.clusters.tolist()).acc > 0.8
