"""Tiny things that are real: an encoder that is built on the spot, and texts whose clusters are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TOPICS = {
    "parcel": ["parcel", "late", "courier", "van", "depot", "tracking", "doorstep", "driver"],
    "password": ["password", "login", "reset", "account", "locked", "code", "username", "email"],
    "refund": ["refund", "money", "bank", "returned", "paid", "receipt", "credit", "transfer"],
    "recipe": ["soup", "onion", "garlic", "pepper", "boil", "pan", "oven", "flour"],
}


def make_texts(sizes: dict[str, int], seed: int = 0) -> tuple[list[str], list[str]]:
    """Return texts of five random words of their topic, and the topics."""
    rng = np.random.default_rng(seed)
    topics = [topic for topic, size in sizes.items() for _ in range(size)]
    rng.shuffle(topics)
    return [" ".join(rng.choice(TOPICS[topic], 5)) for topic in topics], topics


def build_tiny_encoder(folder: Path) -> str:
    """Build a two-layer BERT with random weights and a vocabulary of its own; return its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = [word for topic in TOPICS.values() for word in topic]
    letters = [chr(c) for c in range(97, 123)]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {piece: i for i, piece in enumerate([*special, *words, *letters, *("##" + c for c in letters)])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    bert = folder / "bert"
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(bert)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
        )
        bert_model = BertModel(config)
        with torch.no_grad():  # words of one topic lie together, as a trained encoder would have them
            for topic in TOPICS.values():
                rows = [vocabulary[word] for word in topic]
                bert_model.embeddings.word_embeddings.weight[rows] = torch.randn(32) + 0.5 * torch.randn(len(rows), 32)
        bert_model.save_pretrained(bert)
    transformer = Transformer(str(bert))
    model = SentenceTransformer(modules=[transformer, Pooling(32, pooling_mode="mean")], device="cpu")
    model.save(str(folder / "model"), create_model_card=False)
    return str(folder / "model")


def build_tiny_ngram_encoder(folder: Path) -> str:
    """Build a small encoder of n-grams with random weights and the words of `TOPICS` as pieces; return its folder."""
    import torch
    from sentence_transformers import SentenceTransformer

    from rstc.representation.ngram_encoder import NgramEncoder, NgramPooling
    from rstc.representation.unigram_tokenizer import UnigramModel, convert_unigram

    words = [f"▁{word}" for topic in TOPICS.values() for word in topic]
    letters = ["▁", *(chr(c) for c in range(97, 123))]
    pieces = [
        ("\0<unk>", 0.0),
        ("\0<s>", 0.0),
        ("\0</s>", 0.0),
        *((w, -2.0) for w in words),
        *((c, -9.0) for c in letters),
    ]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = NgramEncoder(convert_unigram(UnigramModel(pieces, b"")), len(pieces), 16, 8, n_groups=3)
        encoder.table.random_(0, 20)
        for row, _ in enumerate(words):  # words of one topic lie together, as in a trained encoder
            encoder.table[3 + row] += (row // 8 * 60 * (torch.arange(16) % 4 == row // 8)).to(torch.uint8)
        encoder.scale.fill_(0.05)
        model = SentenceTransformer(modules=[encoder, NgramPooling(40, 24, 12)], device="cpu")
    model.save(str(folder / "ngrams"), create_model_card=False)
    return str(folder / "ngrams")
