"""Word vectors learned from the texts, and the SIF embeddings built from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rstc.baselines.word_vectors import (
    count_cooccurrences,
    fit_word_vectors,
    index_words,
    shifted_ppmi,
    sif_embeddings,
    tokenize,
)
from rstc.errors import InputError
from tiny_encoder import TOPICS, make_texts


def test_tokens_are_lower_case_and_may_have_one_letter() -> None:
    assert tokenize("R or C++? Größe-42!") == ["r", "or", "c", "größe", "42"]


def test_vocabulary_leaves_out_words_that_occur_once() -> None:
    indexed = index_words(["van late", "Late bus", "lost", "!?"])
    assert indexed.vocabulary == ["late"]
    assert [indices.tolist() for indices in indexed.indices] == [[0], [0], [], []]


def test_vocabulary_holds_all_words_when_none_occurs_twice() -> None:
    assert index_words(["van late", "bus"]).vocabulary == ["bus", "late", "van"]


def test_texts_without_words_raise() -> None:
    with pytest.raises(InputError, match="none of the 2 texts"):
        index_words(["!", "..."])


def test_word_counts_have_a_row_for_a_text_without_words() -> None:
    assert index_words(["b a b", "!", "a"]).count_words().toarray().tolist() == [[1, 2], [0, 0], [1, 0]]


def test_cooccurrences_are_counted_within_the_window_and_the_text() -> None:
    # One away: ab, bc, ca. Two away: ac, ba. The last a is the end of its text: no pair with the b that follows.
    counts = count_cooccurrences(index_words(["a b c a", "b", "c"]), window=2)
    assert counts.toarray().tolist() == [[0, 2, 2], [2, 0, 1], [2, 1, 0]]


def test_ppmi_is_the_log_ratio_of_observed_to_expected_counts() -> None:
    counts = sparse.csr_matrix(np.array([[0.0, 1.0], [1.0, 14.0]]))  # sums 1 and 15 of 16
    contexts = np.array([1, 15**0.75]) / (1 + 15**0.75)
    together = np.log((1 / 16) / (1 / 16 * contexts[1]))  # the first word always has the second beside it
    ppmi = shifted_ppmi(counts).toarray()
    assert ppmi[0] == pytest.approx([0, together])
    assert ppmi[1, 1] == pytest.approx(max(0, np.log((14 / 16) / (15 / 16 * contexts[1]))))


def test_ppmi_is_shifted_by_the_log_of_the_negatives() -> None:
    counts = sparse.csr_matrix(np.eye(4))  # log(1/4 / (1/4 * 1/4)) = log 4
    assert shifted_ppmi(counts, negatives=2).toarray() == pytest.approx(np.eye(4) * np.log(2))
    assert shifted_ppmi(counts, negatives=5).nnz == 0


def test_words_of_one_topic_have_similar_vectors() -> None:
    indexed = index_words(make_texts(dict.fromkeys(TOPICS, 50))[0])
    vectors = fit_word_vectors(indexed, 4, 5, np.random.default_rng(0))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    topic = np.array([next(name for name, words in TOPICS.items() if word in words) for word in indexed.vocabulary])
    similarity, same = vectors @ vectors.T, topic[:, None] == topic
    assert similarity[same].min() > 0.9
    assert abs(similarity[~same]).max() < 0.1


def test_same_seed_gives_same_vectors(texts_and_topics: tuple[list[str], list[str]]) -> None:
    indexed = index_words(texts_and_topics[0])
    first, second = (fit_word_vectors(indexed, 8, 5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)


def test_texts_of_one_word_give_zero_vectors() -> None:
    assert not fit_word_vectors(index_words(["van", "bus", "van"]), 8, 5, np.random.default_rng(0)).any()


def test_sif_weights_rare_words_more_and_removes_the_first_component() -> None:
    texts = index_words(["a b", "a c", "a b", "a c", "?"])  # p(a) = 1/2, p(b) = p(c) = 1/4
    vectors = np.array([[1, 0], [0, 1], [0, -1]], dtype=np.float32)
    # With a = 1/4 the weights are 1/3, 1/2, 1/2, and the texts (1/6, +-1/4). The second moments are 1/36 and 1/16,
    # so that the first component is the second axis: what is left is (1/6, 0).
    expected = np.array([[1 / 6, 0]] * 4 + [[0, 0]])
    assert sif_embeddings(texts, vectors, a=0.25) == pytest.approx(expected, abs=1e-6)
