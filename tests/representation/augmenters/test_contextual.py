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
from rstc.representation.augmenters.base import Tools
from rstc.representation.augmenters.contextual import (
    ContextualSubstitution,
    LearnedSubstitution,
    Window,
    chosen_words,
    masked,
)
from rstc.representation.augmenters.masked_lm import PretrainedModel, WholeWords
from rstc.representation.augmenters.encoder_mlm import learned_model
from rstc.representation.loading import load_encoder

FRUITS = ["apples", "pears", "plums", "grapes", "cherries", "lemons"]
CITIES = ["paris", "rome", "london", "madrid", "vienna", "oslo"]
TOOLS = ["hammer", "saw", "drill", "wrench", "chisel", "pliers"]
SENTENCES = [
    *(f"we ate sweet {fruit} after lunch" for fruit in FRUITS),
    *(f"the basket was full of ripe {fruit}" for fruit in FRUITS),
    *(f"my train to {city} leaves at noon" for city in CITIES),
    *(f"the hotels in {city} are expensive" for city in CITIES),
    *(f"he fixed the door with a {tool}" for tool in TOOLS),
    *(f"hand me the {tool} from the box" for tool in TOOLS),
]


@pytest.fixture(scope="module")
def masked_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Train a small BERT on the sentences above; return its folder."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    vocabulary = {piece: i for i, piece in enumerate([*special, *words, "##ing", "7", "!"])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)
    ids = fast(SENTENCES, padding=True, return_tensors="pt")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertForMaskedLM(
            BertConfig(
                vocab_size=len(vocabulary),
                hidden_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=96,
                max_position_embeddings=66,
            )
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        real = ids["input_ids"] > 4
        for _ in range(150):
            hidden = real & (torch.rand(real.shape) < 0.25)
            labels = torch.where(hidden, ids["input_ids"], -100)
            loss = model(ids["input_ids"].masked_fill(hidden, 4), ids["attention_mask"], labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    folder = tmp_path_factory.mktemp("masked")
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return str(folder)


def test_a_word_is_replaced_by_one_of_its_kind(masked_model: str, tmp_path: Path) -> None:
    model = PretrainedModel(masked_model, torch.device("cpu"))
    places = model.likeliest(["the basket was full of ripe [MASK]", "my train to [MASK] leaves at noon"], 5)
    assert set(places[0][0][0]) <= set(FRUITS)
    assert set(places[1][0][0]) <= set(CITIES)
    replace = ContextualSubstitution(masked_model, share=0.15, folder=tmp_path)
    kinds = {word: kind for kind in (FRUITS, CITIES, TOOLS) for word in kind}
    hits = of_kind = 0
    for seed in range(10):
        for before, after in zip(SENTENCES, replace(SENTENCES, np.random.default_rng(seed)), strict=True):
            pairs = list(zip(before.split(), after.split(), strict=True))
            assert sum(a != b for a, b in pairs) == 1, "one word of these, and never the same again"
            for a, b in pairs:
                if a != b and a in kinds:
                    hits += 1
                    of_kind += b in kinds[a]
    assert hits > 20
    assert of_kind > 0.7 * hits


def test_the_same_seed_gives_the_same_words_and_another_seed_others(masked_model: str, tmp_path: Path) -> None:
    first, again, other = (
        ContextualSubstitution(masked_model, share=0.3, folder=tmp_path / str(i))(
            SENTENCES, np.random.default_rng(seed)
        )
        for i, seed in enumerate((0, 0, 1))
    )
    assert first == again
    assert first != other


def test_a_second_run_reads_what_the_first_kept_and_loads_no_model(
    masked_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = ContextualSubstitution(masked_model, folder=tmp_path)
    first = replace(SENTENCES, np.random.default_rng(0))
    monkeypatch.setattr(contextual, "PretrainedModel", lambda *_: pytest.fail("the model was loaded again"))
    assert replace(SENTENCES[::-1], np.random.default_rng(0)) == first[::-1]


def test_a_text_s_change_does_not_depend_on_the_texts_beside_it(masked_model: str, tmp_path: Path) -> None:
    together = ContextualSubstitution(masked_model, folder=tmp_path / "a")(SENTENCES, np.random.default_rng(0))
    alone = ContextualSubstitution(masked_model, folder=tmp_path / "b")(SENTENCES[4:5], np.random.default_rng(0))
    assert alone == together[4:5]


def test_numbers_special_tokens_case_and_punctuation_stay(masked_model: str, tmp_path: Path) -> None:
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
def test_odd_texts_are_no_error(masked_model: str, tmp_path: Path, text: str) -> None:
    made = ContextualSubstitution(masked_model, folder=tmp_path)([text, "we ate"], np.random.default_rng(0))
    assert len(made) == 2
    assert made[0].strip()
    if text.startswith("rome rome"):
        assert sum(word != "rome" for word in made[0].split()) == pytest.approx(0.1 * 20_000, rel=0.1)


def test_words_are_whole_and_those_of_letters(masked_model: str) -> None:
    from transformers import AutoTokenizer

    found = WholeWords.of(AutoTokenizer.from_pretrained(masked_model))
    assert "paris" in found.words
    assert not {"##ing", "7", "!", "[MASK]", "a"} & set(found.words)
    assert found.goes_on.sum() == 1


@pytest.fixture(scope="module")
def byte_level_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build a small RoBERTa with a byte-level vocabulary of the sentences above and random weights."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizerFast

    folder = tmp_path_factory.mktemp("byte_level")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made = ByteLevelBPETokenizer()
    made.train_from_iterator([f" {s} café" for s in SENTENCES] * 3, vocab_size=600, special_tokens=special)
    made.save(str(folder / "tokenizer.json"))
    tokenizer = RobertaTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=66,
            pad_token_id=1,
        )
        RobertaForMaskedLM(config).save_pretrained(folder)
    return str(folder)


def test_words_of_a_byte_level_vocabulary_begin_with_a_space_and_are_read_as_written(byte_level_model: str) -> None:
    from transformers import AutoTokenizer

    found = WholeWords.of(AutoTokenizer.from_pretrained(byte_level_model))
    assert {"paris", "hammer", "café"} <= set(found.words)
    assert all(word.isalpha() for word in found.words)


def test_a_byte_level_model_replaces_whole_words(byte_level_model: str, tmp_path: Path) -> None:
    made = ContextualSubstitution(byte_level_model, folder=tmp_path)(SENTENCES, np.random.default_rng(0))
    for before, after in zip(SENTENCES, made, strict=True):
        assert sum(a != b for a, b in zip(before.split(), after.split(), strict=True)) == 1


def test_a_tokenizer_that_marks_ends_only_is_refused() -> None:
    class Marking:
        all_special_ids: tuple[int, ...] = ()

        @staticmethod
        def get_vocab() -> dict[str, int]:
            return {"late</w>": 0, "par": 1, "cel</w>": 2}

    with pytest.raises(InputError, match="where a word begins"):
        WholeWords.of(Marking())


def test_a_word_is_drawn_even_beside_one_that_is_sure() -> None:
    drawn = contextual._drawn(["late", "slow"], np.array([1.0, 0.0]), "late", 5, np.random.default_rng(0))
    assert drawn == "slow"


def test_windows_cover_a_long_text_and_each_has_a_word_to_replace() -> None:
    text = " ".join(f"word{'abcdefghij'[i % 10]}" for i in range(150))
    windows = chosen_words(text, 0.1, np.random.default_rng(0))
    assert [len(window.chosen) for window in windows] == [6, 6, 2]
    assert windows[0].start == 0
    assert windows[-1].end == len(text)
    assert all(a.end == b.start for a, b in pairwise(windows))


def test_what_has_no_end_is_cut_so_that_masks_are_read() -> None:
    text = "x" * 5000 + " late"
    assert masked(text, Window(0, len(text), ((5001, 5005),)), "[MASK]") == "x" * 40 + " [MASK]"


def test_a_folder_that_is_no_masked_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no masked language model"):
        ContextualSubstitution(tmp_path)(["a text of words"], np.random.default_rng(0))


def test_the_embedded_encoder_learns_to_guess_words_of_the_kind_that_fits() -> None:
    encoder = load_encoder(None, "mean", 32)
    before = [weights.clone() for weights in encoder.parameters()]
    model = learned_model(SENTENCES * 2, encoder)
    assert all(bool((a == b).all()) for a, b in zip(before, encoder.parameters(), strict=True)), (
        "the encoder is as before"
    )
    asked = ["my train to [MASK] leaves at noon", "hand me the [MASK] from the box"]
    for places, kind in zip(model.likeliest(asked, 6), (CITIES, TOOLS), strict=True):
        words, chances = places[0]
        assert sum(chance for word, chance in zip(words, chances, strict=True) if word in kind) > 0.6


def test_learned_substitution_is_kept_for_the_same_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(None, "mean", 32)
    tools = Tools(lambda: encoder, encoder.device)
    replace = LearnedSubstitution(folder=tmp_path)
    first = replace.prepared(SENTENCES, tools)(SENTENCES, np.random.default_rng(0))
    assert all(a != b for a, b in zip(first, SENTENCES, strict=True))
    monkeypatch.setattr(contextual, "learned_model", lambda *_: pytest.fail("it learned again"))
    assert replace.prepared(SENTENCES, tools)(SENTENCES, np.random.default_rng(0)) == first


def test_an_encoder_without_a_mask_is_refused(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.model.tokenizer.mask_token = None
    with pytest.raises(InputError, match="no mask"):
        learned_model(["parcel late"], encoder)


def test_a_model_without_a_head_for_words_is_refused_rather_than_made_up(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="no masked language model: it lacks cls"):
        ContextualSubstitution(tiny_encoder)(["parcel late again"], np.random.default_rng(0))


def test_learned_words_are_replaced_all_over_a_long_text(tmp_path: Path) -> None:
    encoder = load_encoder(None, "mean", 32)
    tools = Tools(lambda: encoder, encoder.device)
    long = " ".join(SENTENCES[i % len(SENTENCES)] for i in range(100))
    replace = LearnedSubstitution(0.2, folder=tmp_path).prepared([*SENTENCES, long], tools)
    (changed,) = replace([long], np.random.default_rng(0))
    places = [i for i, (a, b) in enumerate(zip(long.split(), changed.split(), strict=True)) if a != b]
    assert 0.15 < len(places) / len(long.split()) < 0.25
    assert max(b - a for a, b in pairwise(places)) < 40, "no part is left out"


def test_words_behind_what_the_model_cannot_read_at_once_are_replaced(masked_model: str, tmp_path: Path) -> None:
    codes = " ".join(f"{i:050d}x" for i in range(150))  # no words, but hundreds of tokens
    text = f"we ate sweet apples {codes} my train to rome leaves at noon"
    found = {
        ContextualSubstitution(masked_model, 0.3, folder=tmp_path)([text], np.random.default_rng(seed))[0].split()[-4]
        for seed in range(12)
    }
    assert found - {"rome"}


def test_a_share_of_none_replaces_nothing(masked_model: str, tmp_path: Path) -> None:
    replace = ContextualSubstitution(masked_model, share=0, folder=tmp_path)
    assert replace(SENTENCES, np.random.default_rng(0)) == SENTENCES


def test_another_case_or_accent_is_the_same_word() -> None:
    words, chances = ["Café", "cafe", "bar"], np.array([0.6, 0.3, 0.1])
    assert contextual._drawn(words, chances, "café", 2, np.random.default_rng(0)) == "bar"


def test_two_models_in_one_folder_do_not_mix(masked_model: str, byte_level_model: str, tmp_path: Path) -> None:
    texts = ["we ate sweet apples after lunch"]
    alone = ContextualSubstitution(byte_level_model, folder=tmp_path / "alone")(texts, np.random.default_rng(0))
    ContextualSubstitution(masked_model, folder=tmp_path / "both")(texts, np.random.default_rng(0))
    assert ContextualSubstitution(byte_level_model, folder=tmp_path / "both")(texts, np.random.default_rng(0)) == alone


def test_a_run_of_another_size_finds_what_the_first_kept(
    masked_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: dict[str, object]
) -> None:
    texts = [sentence.replace("the", f"the {i}") for i in range(3) for sentence in SENTENCES]
    view = ContextualSubstitution(masked_model, folder=tmp_path)
    RSTC(3, views=("deletion", view), random_state=0, **quick).fit(texts)
    monkeypatch.setattr(contextual, "PretrainedModel", lambda *_: pytest.fail("the model was loaded again"))
    RSTC(4, views=("virtual", view), random_state=0, **quick).fit(texts)
    augment(texts, ("swap", view), random_state=0)
