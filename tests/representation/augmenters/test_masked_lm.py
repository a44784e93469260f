"""The whole words of vocabularies, and what masked language models predict for masks."""

from __future__ import annotations

import pytest

from rstc.errors import InputError
from rstc.representation.augmenters.masked_lm import WordVocabulary


def test_vocabulary_holds_whole_words_of_letters(masked_model: str) -> None:
    from transformers import AutoTokenizer

    found = WordVocabulary.from_tokenizer(AutoTokenizer.from_pretrained(masked_model))
    assert "paris" in found.words
    assert not {"##ing", "7", "!", "[MASK]", "a"} & set(found.words)
    assert found.is_continuation.sum() == 1


def test_words_of_a_byte_level_vocabulary_are_decoded(byte_level_model: str) -> None:
    from transformers import AutoTokenizer

    found = WordVocabulary.from_tokenizer(AutoTokenizer.from_pretrained(byte_level_model))
    assert {"paris", "hammer", "café"} <= set(found.words)
    assert all(word.isalpha() for word in found.words)


def test_tokenizer_that_marks_only_the_ends_of_words_is_refused() -> None:
    class MarksEnds:
        all_special_ids: tuple[int, ...] = ()

        @staticmethod
        def get_vocab() -> dict[str, int]:
            return {"late</w>": 0, "par": 1, "cel</w>": 2}

    with pytest.raises(InputError, match="where a word begins"):
        WordVocabulary.from_tokenizer(MarksEnds())
