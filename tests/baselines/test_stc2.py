"""STC2-LPI: the neighbour graph, the codes, the network and the clusters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

from rstc.baselines.stc2 import STC2, _TextNetwork, binary_codes, lpi, neighbour_graph
from rstc.errors import InputError
from rstc.metrics import evaluate
from tiny_encoder import TOPICS, make_texts


def test_neighbours_are_weighted_by_the_heat_kernel() -> None:
    half = np.sqrt(0.5)
    X = sparse.csr_matrix(np.array([[1, 0, 0], [half, half, 0], [0, 0, 1]]))
    near = np.exp(-(1 - half))  # |x - x'|^2 / 2 = 1 - cosine
    assert neighbour_graph(X, k=15).toarray() == pytest.approx(np.array([[0, near, 0], [near, 0, 0], [0, 0, 0]]))


def test_neighbour_graph_is_symmetric() -> None:
    angles = np.array([0.0, 0.1, 0.3])
    W = neighbour_graph(sparse.csr_matrix(np.stack([np.cos(angles), np.sin(angles)], axis=1)), k=1)
    assert (W.toarray() > 0).tolist() == [[False, True, False], [True, False, True], [False, True, False]]


def test_first_dimension_of_lpi_separates_groups_of_neighbours() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    X = np.abs(rng.normal(size=(60, 8)))
    X[:, :4][group == 1] = 0
    X[:, 4:][group == 0] = 0
    X = sparse.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True))
    codes = binary_codes(lpi(X, neighbour_graph(X, 10), 3, rng))
    assert codes.shape == (60, 3)
    assert len({*zip(codes[:, 0], group, strict=True)}) == 2, "the first bit is the group"


def test_codes_are_binarised_at_the_median_of_each_dimension() -> None:
    codes = binary_codes(np.random.default_rng(0).normal([0, 100], [1, 5], size=(40, 2)))
    assert codes.sum(0).tolist() == [20, 20]


def test_features_do_not_depend_on_padding() -> None:
    network = _TextNetwork(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32), 8, 3, 5, 0.0)
    short, long = torch.tensor([[2, 5]]), torch.tensor([[2, 5, 0, 0, 0, 0, 0, 0]])
    assert torch.allclose(network.features(short), network.features(long), atol=1e-5)
    assert not network.features(torch.tensor([[0]])).any(), "a text without a word of the vocabulary is zero"


def test_finds_balanced_topics() -> None:
    texts, topics = make_texts(dict.fromkeys(TOPICS, 50))
    model = STC2(4, random_state=0, epochs=20, batch_size=40)
    assert evaluate(topics, model.fit_predict(texts).tolist()).acc > 0.95
    assert model.labels_.dtype == np.int64
    assert model.embedding_.dtype == np.float32
    assert np.linalg.norm(model.embedding_, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert model.n_iter_ == 20 * 5


def test_same_seed_gives_same_labels_and_restores_the_torch_generator(
    texts_and_topics: tuple[list[str], list[str]],
) -> None:
    model, before = STC2(4, random_state=5, epochs=2), torch.get_rng_state()
    first, second = (clone(model).fit(texts_and_topics[0]) for _ in range(2))
    assert np.array_equal(first.labels_, second.labels_)
    assert np.array_equal(first.embedding_, second.embedding_)
    assert torch.equal(before, torch.get_rng_state())


def test_texts_without_a_word_of_the_vocabulary_share_a_cluster(texts_and_topics: tuple[list[str], list[str]]) -> None:
    labels = STC2(5, random_state=0, epochs=2).fit_predict([*texts_and_topics[0], "", "!!!", "unseen"])
    assert len(labels) == len(texts_and_topics[0]) + 3
    assert len(set(labels[-3:])) == 1


def test_more_clusters_than_texts_raise() -> None:
    with pytest.raises(InputError, match="n_clusters=3 needs at least 3 distinct texts, got 2"):
        STC2(3).fit(["late van", "late bus"])
