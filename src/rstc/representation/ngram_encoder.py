"""An encoder of n-grams as Sentence-Transformers modules: the network of the multilingual Universal Sentence Encoder.

    x_t = LN(e_t W + b)                                  e_t: the embedding of token t, quantized to bytes
    h_t = relu(sum_k x_{t-l+k} V_k + v) + x_t            two such layers, for n-grams of 2, 3 and 5 tokens, k < n
    s   = sum_t LN([e_t, h_t]) U / sqrt(L) + u sqrt(L)   the sentence, of L tokens
    z   = tanh(A y + B relu(C y)),  y = relu(A' s + B' relu(C' s)),  scaled to length one

A saved model names these two classes in modules.json: whoever moves them makes saved models unreadable.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules.input_module import InputModule
from sentence_transformers.base.modules.module import Module
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast

from rstc.representation.padding import pad_ids, prepare_text

N_GRAMS = (2, 3, 5)  # tokens
TOKENIZER = "tokenizer.json"


class NgramLayer(nn.Module):
    """One convolution with a residual connection for each length of n-grams.

    Parameters
    ----------
    embedding_dim : int
        Dimension of the token embeddings, which pass unchanged.
    ngram_dim : int
        Dimension of the states of each length of n-grams.
    """

    def __init__(self, embedding_dim: int, ngram_dim: int) -> None:
        super().__init__()
        self.sizes = [embedding_dim, *[ngram_dim] * len(N_GRAMS)]
        self.products = nn.ModuleList(nn.Linear(n * ngram_dim, ngram_dim) for n in N_GRAMS)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the next states (B, L, D) by states (B, L, D) and the attention mask (B, L)."""
        embeddings, *branches = states.split(self.sizes, dim=2)
        outputs = [embeddings]
        for n, product, x in zip(N_GRAMS, self.products, branches, strict=True):
            x = x * mask[:, :, None]  # beyond the ends of a text, all is zero
            before = (n - 1) // 2
            padded = F.pad(x, (0, 0, before, n - 1 - before))
            windows = torch.cat([padded[:, k : k + x.shape[1]] for k in range(n)], dim=2)  # (B, L, n * ngram_dim)
            outputs.append(F.relu(product(windows)) + x)
        return torch.cat(outputs, dim=2)


class NgramEncoder(InputModule):
    """Token ids to states of tokens and the n-grams around them.

    The token embeddings are not trained: they stay bytes, a quarter of their size as numbers. Token i belongs to group
    i mod G, of which each has its own scale and offset.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerFast or None
        Splits texts into tokens, with a special one at both ends; None if the network alone is needed.
    vocab_size, embedding_dim, ngram_dim, n_groups : int
        The numbers of tokens, of dimensions, and of groups of tokens.
    """

    config_keys = ["vocab_size", "embedding_dim", "ngram_dim", "n_groups"]  # noqa: RUF012, as the base class has it
    # Without layers to train, states are not rounded to half precision between the modules; embeddings would show it.
    runs_whole = True
    table: Tensor
    scale: Tensor
    offset: Tensor

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast | None,
        vocab_size: int,
        embedding_dim: int = 512,
        ngram_dim: int = 256,
        n_groups: int = 17,
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer  # type: ignore[assignment]
        self.max_seq_length: int | None = None
        self.vocab_size, self.embedding_dim, self.ngram_dim = vocab_size, embedding_dim, ngram_dim
        self.n_groups = n_groups
        self.register_buffer("table", torch.zeros(vocab_size, embedding_dim, dtype=torch.uint8))
        self.register_buffer("scale", torch.ones(n_groups))
        self.register_buffer("offset", torch.zeros(n_groups))
        all_ngrams = len(N_GRAMS) * ngram_dim
        self.projection = nn.Linear(embedding_dim, all_ngrams)
        self.projection_norm = nn.LayerNorm(all_ngrams, eps=1e-12)
        self.layers = nn.ModuleList(NgramLayer(embedding_dim, ngram_dim) for _ in range(2))
        self.norm = nn.LayerNorm(embedding_dim + all_ngrams, eps=1e-12)

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add `token_embeddings` (B, L, D) to features with `input_ids` and `attention_mask` (B, L)."""
        ids = features["input_ids"]
        mask = features["attention_mask"].to(self.scale.dtype)
        groups = ids % self.n_groups
        embeddings = self.table[ids].to(self.scale.dtype) * self.scale[groups][:, :, None]
        embeddings = embeddings + self.offset[groups][:, :, None]
        states = torch.cat([embeddings, self.projection_norm(self.projection(embeddings))], dim=2)
        for layer in self.layers:
            states = layer(states, mask)
        return {**features, "token_embeddings": self.norm(states)}

    def get_embedding_dimension(self) -> int:
        """Return the dimension of the states of a token."""
        return self.embedding_dim + len(N_GRAMS) * self.ngram_dim

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return texts as padded token ids, for `SentenceTransformer.encode`."""
        texts = [(prompt or "") + prepare_text(text) for text in inputs]
        limit = {"truncation": True, "max_length": self.max_seq_length} if self.max_seq_length else {}
        ids, mask = pad_ids(self.tokenizer(texts, **limit)["input_ids"], pad_id=0)
        return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write settings, weights and tokenizer to a folder."""
        self.save_config(output_path)
        self.save_torch_weights(output_path)
        self.save_tokenizer(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> NgramEncoder:
        """Read a module that `save` wrote to a local folder."""
        folder = Path(model_name_or_path) / subfolder
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_file(str(folder / TOKENIZER)))
        encoder = cls(tokenizer, **cls.load_config(str(folder)))
        return cls.load_torch_weights(str(folder), model=encoder)  # type: ignore[no-any-return]


class NgramPooling(Module):
    """States of tokens to the embedding of their sentence, of length one.

    Parameters
    ----------
    token_dim, sentence_dim, hidden_dim : int
        The dimensions of the states of a token, of a sentence and of the layer between.
    """

    config_keys = ["token_dim", "sentence_dim", "hidden_dim"]  # noqa: RUF012, as the base class has it

    def __init__(self, token_dim: int = 1280, sentence_dim: int = 512, hidden_dim: int = 320) -> None:
        super().__init__()
        self.token_dim, self.sentence_dim, self.hidden_dim = token_dim, sentence_dim, hidden_dim
        self.projection = nn.Linear(token_dim, sentence_dim)
        self.first = ResidualLayer(sentence_dim, hidden_dim, hidden_dim)
        self.second = ResidualLayer(hidden_dim, sentence_dim, sentence_dim)

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add `sentence_embedding` (B, D) to features with `token_embeddings` and `attention_mask`."""
        states = features["token_embeddings"]
        mask = features["attention_mask"].to(states.dtype)[:, :, None]
        length = mask.sum(1)  # (B, 1)
        total = F.linear((states * mask).sum(1), self.projection.weight) + length * self.projection.bias
        z = torch.tanh(self.second(F.relu(self.first(total / length.sqrt()))))
        return {**features, "sentence_embedding": F.normalize(z, dim=1, eps=1e-6)}

    def get_embedding_dimension(self) -> int:
        """Return the dimension of the embeddings."""
        return self.sentence_dim

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write settings and weights to a folder."""
        self.save_config(output_path)
        self.save_torch_weights(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> NgramPooling:
        """Read a module that `save` wrote to a local folder."""
        folder = str(Path(model_name_or_path) / subfolder)
        return cls.load_torch_weights(folder, model=cls(**cls.load_config(folder)))  # type: ignore[no-any-return]


class ResidualLayer(nn.Module):
    """A layer beside a linear shortcut, none of them with a bias."""

    def __init__(self, input_dim: int, hidden_dim: int, output_dim: int) -> None:
        super().__init__()
        self.inner = nn.Linear(input_dim, hidden_dim, bias=False)
        self.outer = nn.Linear(hidden_dim, output_dim, bias=False)
        self.shortcut = nn.Linear(input_dim, output_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both paths."""
        out: Tensor = self.shortcut(x) + self.outer(F.relu(self.inner(x)))
        return out
