"""Masked language models that are built on the spot: a trained one and one with a byte-level vocabulary."""

from __future__ import annotations

import pytest
import torch

from sentences import SENTENCES


@pytest.fixture(scope="session")
def masked_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Train a small BERT on the sentences; return its folder."""
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


@pytest.fixture(scope="session")
def byte_level_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build a small RoBERTa with a byte-level vocabulary of the sentences and random weights."""
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
