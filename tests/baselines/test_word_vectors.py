"""Word vectors from the texts alone, and the sentence vectors made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rstc.baselines.word_vectors import cooccurrences, shifted_ppmi, sif_vectors, tokenize, word_ids, word_vectors
from rstc.errors import InputError
from tiny_encoder import TOPICS, make_texts


def test_words_are_lower_case_and_may_have_one_letter() -> None:
    assert tokenize("R or C++? Größe-42!") == ["r", "or", "c", "größe", "42"]


def test_words_seen_once_are_left_out() -> None:
    found = word_ids(["van late", "Late bus", "lost", "!?"])
    assert found.words == ["late"]
    assert [ids.tolist() for ids in found.ids] == [[0], [0], [], []]


def test_all_words_count_when_none_is_seen_twice() -> None:
    assert word_ids(["van late", "bus"]).words == ["bus", "late", "van"]


def test_what_holds_no_words_is_refused() -> None:
    with pytest.raises(InputError, match="none of the 2 texts"):
        word_ids(["!", "..."])


def test_counts_have_a_row_for_a_text_without_words() -> None:
    assert word_ids(["b a b", "!", "a"]).counts().toarray().tolist() == [[1, 2], [0, 0], [1, 0]]


def test_pairs_count_within_the_window_and_not_across_texts() -> None:
    # One away: ab, bc, ca. Two away: ac, ba. The last a is the end of its text: no pair with the b that follows.
    counts = cooccurrences(word_ids(["a b c a", "b", "c"]), window=2)
    assert counts.toarray().tolist() == [[0, 2, 2], [2, 0, 1], [2, 1, 0]]


def test_ppmi_is_the_log_of_seen_over_expected() -> None:
    counts = sparse.csr_matrix(np.array([[0.0, 1.0], [1.0, 14.0]]))  # sums 1 and 15 of 16
    contexts = np.array([1, 15**0.75]) / (1 + 15**0.75)
    together = np.log((1 / 16) / (1 / 16 * contexts[1]))  # the first word always has the second beside it
    found = shifted_ppmi(counts).toarray()
    assert found[0] == pytest.approx([0, together])
    assert found[1, 1] == pytest.approx(max(0, np.log((14 / 16) / (15 / 16 * contexts[1]))))


def test_a_shift_takes_the_log_of_the_negatives_away() -> None:
    counts = sparse.csr_matrix(np.eye(4))  # log(1/4 / (1/4 * 1/4)) = log 4
    assert shifted_ppmi(counts, negatives=2).toarray() == pytest.approx(np.eye(4) * np.log(2))
    assert shifted_ppmi(counts, negatives=5).nnz == 0


def test_words_of_one_topic_lie_together() -> None:
    found = word_ids(make_texts(dict.fromkeys(TOPICS, 50))[0])
    vectors = word_vectors(found, 4, 5, np.random.default_rng(0))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    topic = np.array([next(name for name, words in TOPICS.items() if word in words) for word in found.words])
    alike, same = vectors @ vectors.T, topic[:, None] == topic
    assert alike[same].min() > 0.9
    assert abs(alike[~same]).max() < 0.1


def test_the_same_seed_gives_the_same_vectors(texts_and_topics: tuple[list[str], list[str]]) -> None:
    found = word_ids(texts_and_topics[0])
    first, second = (word_vectors(found, 8, 5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)


def test_texts_of_one_word_teach_nothing() -> None:
    assert not word_vectors(word_ids(["van", "bus", "van"]), 8, 5, np.random.default_rng(0)).any()


def test_sif_weighs_rare_words_more_and_removes_what_all_share() -> None:
    texts = word_ids(["a b", "a c", "a b", "a c", "?"])  # p(a) = 1/2, p(b) = p(c) = 1/4
    vectors = np.array([[1, 0], [0, 1], [0, -1]], dtype=np.float32)
    # With a = 1/4 the weights are 1/3, 1/2, 1/2, and the texts (1/6, +-1/4). The second moments are 1/36 and 1/16,
    # so that the first component is the second axis: what is left is (1/6, 0).
    expected = np.array([[1 / 6, 0]] * 4 + [[0, 0]])
    assert sif_vectors(texts, vectors, a=0.25) == pytest.approx(expected, abs=1e-6)
