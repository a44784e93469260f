"""Contextual substitution, by a masked language model that is trained here on real sentences."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from rstc import RSTC, augment
from rstc.errors import InputError
from rstc.representation.augmenters import contextual
from rstc.representation.augmenters.base import AugmenterResources
from rstc.representation.augmenters.contextual import (
    ContextualSubstitution,
    LearnedSubstitution,
    Window,
    choose_windows,
    mask_window,
)
from rstc.representation.augmenters.masked_lm import PretrainedMaskedLM
from rstc.representation.loading import load_encoder
from sentences import CITIES, FRUITS, HAND_TOOLS, SENTENCES


def test_words_are_replaced_by_words_of_the_same_kind(masked_model: str, tmp_path: Path) -> None:
    model = PretrainedMaskedLM(masked_model, torch.device("cpu"))
    places = model.predict_masks(["the basket was full of ripe [MASK]", "my train to [MASK] leaves at noon"], 5)
    assert set(places[0][0][0]) <= set(FRUITS)
    assert set(places[1][0][0]) <= set(CITIES)
    replace = ContextualSubstitution(masked_model, share=0.15, folder=tmp_path)
    kinds = {word: kind for kind in (FRUITS, CITIES, HAND_TOOLS) for word in kind}
    hits = of_kind = 0
    for seed in range(10):
        for before, after in zip(SENTENCES, replace(SENTENCES, np.random.default_rng(seed)), strict=True):
            pairs = list(zip(before.split(), after.split(), strict=True))
            assert sum(a != b for a, b in pairs) == 1, "one word, and never by itself"
            for a, b in pairs:
                if a != b and a in kinds:
                    hits += 1
                    of_kind += b in kinds[a]
    assert hits > 20
    assert of_kind > 0.7 * hits


def test_same_seed_gives_the_same_words_and_another_seed_others(masked_model: str, tmp_path: Path) -> None:
    first, again, other = (
        ContextualSubstitution(masked_model, share=0.3, folder=tmp_path / str(i))(
            SENTENCES, np.random.default_rng(seed)
        )
        for i, seed in enumerate((0, 0, 1))
    )
    assert first == again
    assert first != other


def test_second_run_reads_the_cache_and_loads_no_model(
    masked_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = ContextualSubstitution(masked_model, folder=tmp_path)
    first = replace(SENTENCES, np.random.default_rng(0))
    monkeypatch.setattr(contextual, "PretrainedMaskedLM", lambda *_: pytest.fail("the model was loaded again"))
    assert replace(SENTENCES[::-1], np.random.default_rng(0)) == first[::-1]


def test_result_does_not_depend_on_the_other_texts(masked_model: str, tmp_path: Path) -> None:
    together = ContextualSubstitution(masked_model, folder=tmp_path / "a")(SENTENCES, np.random.default_rng(0))
    alone = ContextualSubstitution(masked_model, folder=tmp_path / "b")(SENTENCES[4:5], np.random.default_rng(0))
    assert alone == together[4:5]


def test_numbers_special_tokens_case_and_punctuation_are_kept(masked_model: str, tmp_path: Path) -> None:
    text = "My train to PARIS leaves at 7 [SEP] v2.0 [MASK]!"
    for seed in range(8):
        made = ContextualSubstitution(masked_model, share=0.5, folder=tmp_path)([text], np.random.default_rng(seed))[0]
        assert made.endswith(" 7 [SEP] v2.0 [MASK]!")
        words = made.split()
        assert words[0][0].isupper()
        assert words[3].isupper()
        assert made != text


@pytest.mark.parametrize(
    "text", ["paris", "😀😀", "12 34", "x" * 100_000, " ".join(["rome"] * 20_000), "rome " + "😀" * 5000]
)
def test_unusual_texts_are_no_error(masked_model: str, tmp_path: Path, text: str) -> None:
    made = ContextualSubstitution(masked_model, folder=tmp_path)([text, "we ate"], np.random.default_rng(0))
    assert len(made) == 2
    assert made[0].strip()
    if text.startswith("rome rome"):
        assert sum(word != "rome" for word in made[0].split()) == pytest.approx(0.1 * 20_000, rel=0.1)


def test_byte_level_model_replaces_whole_words(byte_level_model: str, tmp_path: Path) -> None:
    made = ContextualSubstitution(byte_level_model, folder=tmp_path)(SENTENCES, np.random.default_rng(0))
    for before, after in zip(SENTENCES, made, strict=True):
        assert sum(a != b for a, b in zip(before.split(), after.split(), strict=True)) == 1


def test_other_word_is_drawn_even_if_the_original_has_probability_one() -> None:
    drawn = contextual._sample_word(["late", "slow"], np.array([1.0, 0.0]), "late", 5, np.random.default_rng(0))
    assert drawn == "slow"


def test_windows_cover_a_long_text_and_have_words_to_replace() -> None:
    text = " ".join(f"word{'abcdefghij'[i % 10]}" for i in range(150))
    windows = choose_windows(text, 0.1, np.random.default_rng(0))
    assert [len(window.chosen) for window in windows] == [6, 6, 2]
    assert windows[0].start == 0
    assert windows[-1].end == len(text)
    assert all(a.end == b.start for a, b in pairwise(windows))


def test_long_stretches_are_shortened_so_that_masks_are_read() -> None:
    text = "x" * 5000 + " late"
    assert mask_window(text, Window(0, len(text), ((5001, 5005),)), "[MASK]") == "x" * 40 + " [MASK]"


def test_folder_without_a_masked_language_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be loaded as a masked language model"):
        ContextualSubstitution(tmp_path)(["a text of words"], np.random.default_rng(0))


def test_learned_substitution_is_cached_for_the_same_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(None, "mean", 32)
    resources = AugmenterResources(lambda: encoder, encoder.device)
    replace = LearnedSubstitution(folder=tmp_path)
    first = replace.prepare(SENTENCES, resources)(SENTENCES, np.random.default_rng(0))
    assert all(a != b for a, b in zip(first, SENTENCES, strict=True))
    monkeypatch.setattr(contextual, "fit_encoder_mlm", lambda *_: pytest.fail("the model was trained again"))
    assert replace.prepare(SENTENCES, resources)(SENTENCES, np.random.default_rng(0)) == first


def test_model_without_a_language_head_is_refused(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="not a masked language model: it lacks cls"):
        ContextualSubstitution(tiny_encoder)(["parcel late again"], np.random.default_rng(0))


def test_learned_substitution_replaces_words_all_over_a_long_text(tmp_path: Path) -> None:
    encoder = load_encoder(None, "mean", 32)
    resources = AugmenterResources(lambda: encoder, encoder.device)
    long = " ".join(SENTENCES[i % len(SENTENCES)] for i in range(100))
    replace = LearnedSubstitution(0.2, folder=tmp_path).prepare([*SENTENCES, long], resources)
    (changed,) = replace([long], np.random.default_rng(0))
    places = [i for i, (a, b) in enumerate(zip(long.split(), changed.split(), strict=True)) if a != b]
    assert 0.15 < len(places) / len(long.split()) < 0.25
    assert max(b - a for a, b in pairwise(places)) < 40, "in all parts"


def test_words_beyond_the_longest_input_are_replaced(masked_model: str, tmp_path: Path) -> None:
    codes = " ".join(f"{i:050d}x" for i in range(150))  # no words, but hundreds of tokens
    text = f"we ate sweet apples {codes} my train to rome leaves at noon"
    found = {
        ContextualSubstitution(masked_model, 0.3, folder=tmp_path)([text], np.random.default_rng(seed))[0].split()[-4]
        for seed in range(12)
    }
    assert found - {"rome"}


def test_share_of_0_replaces_nothing(masked_model: str, tmp_path: Path) -> None:
    replace = ContextualSubstitution(masked_model, share=0, folder=tmp_path)
    assert replace(SENTENCES, np.random.default_rng(0)) == SENTENCES


def test_other_case_or_accents_make_no_other_word() -> None:
    words, probabilities = ["Café", "cafe", "bar"], np.array([0.6, 0.3, 0.1])
    assert contextual._sample_word(words, probabilities, "café", 2, np.random.default_rng(0)) == "bar"


def test_models_that_share_a_cache_do_not_mix(masked_model: str, byte_level_model: str, tmp_path: Path) -> None:
    texts = ["we ate sweet apples after lunch"]
    alone = ContextualSubstitution(byte_level_model, folder=tmp_path / "alone")(texts, np.random.default_rng(0))
    ContextualSubstitution(masked_model, folder=tmp_path / "both")(texts, np.random.default_rng(0))
    assert ContextualSubstitution(byte_level_model, folder=tmp_path / "both")(texts, np.random.default_rng(0)) == alone


def test_run_with_other_settings_reads_the_cache(
    masked_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: dict[str, object]
) -> None:
    texts = [sentence.replace("the", f"the {i}") for i in range(3) for sentence in SENTENCES]
    view = ContextualSubstitution(masked_model, folder=tmp_path)
    RSTC(3, views=("deletion", view), random_state=0, **quick).fit(texts)
    monkeypatch.setattr(contextual, "PretrainedMaskedLM", lambda *_: pytest.fail("the model was loaded again"))
    RSTC(4, views=("virtual", view), random_state=0, **quick).fit(texts)
    augment(texts, ("swap", view), random_state=0)
