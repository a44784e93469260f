"""A masked language model made of the encoder: a small head, tied to its word embeddings, trained on the user's texts.

The encoder reads texts with mask tokens and is not trained. The head maps the hidden state of a mask to a point in the
space of the word embeddings. The logit of a word is the dot product of that point and the word's embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.errors import InputError
from rstc.representation.augmenters.base import ProgressCallback
from rstc.representation.augmenters.masked_lm import MAX_SEQUENCE_TOKENS, Candidates, WordVocabulary, top_candidates
from rstc.representation.embedding_lookup import find_word_embedding
from rstc.representation.encoder import Encoder, TokenIds
from rstc.runtime.device import fork_rng

MAX_TRAINING_TEXTS = 20_000
MASKED_SHARE = 0.2  # of the words of a text, in training
# The encoder reads each text several times with other masks: about TARGET_READINGS texts in all, within these bounds.
TARGET_READINGS = 5_000
MIN_ROUNDS, MAX_ROUNDS = 2, 20
EPOCHS_PER_ROUND = 3
BATCH_SIZE = 256
MIN_BATCH_SIZE = 16  # with few words, for enough optimizer steps
MIN_BATCHES = 20  # of an epoch, before batches reach BATCH_SIZE
LEARNING_RATE = 1e-3
SEED = 0  # the same for all seeds of a run: cached views depend on the model
CHUNK_TEXTS = 2048


class EncoderMaskedLM:
    """The encoder with a head that predicts masked words out of a vocabulary.

    Parameters
    ----------
    encoder : Encoder
        The encoder, which is not changed.
    vocabulary : WordVocabulary
        The words that can be predicted.
    """

    def __init__(self, encoder: Encoder, vocabulary: WordVocabulary) -> None:
        self._encoder, self._vocabulary = encoder, vocabulary
        self._mask_id = int(_get_tokenizer(encoder).mask_token_id)
        embedding = find_word_embedding(encoder.model[0])
        if embedding is None:
            raise InputError(
                "this encoder has no plain word embeddings, so it cannot predict words; use another method"
            )
        ids = torch.from_numpy(vocabulary.ids).to(embedding.weight.device)
        self._word_embeddings = embedding.weight.detach()[ids].float().cpu()  # (W, H)
        H, D = self._word_embeddings.shape[1], encoder.hidden_dim
        self.head = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D), nn.Linear(D, H))
        self.bias = nn.Parameter(torch.zeros(len(vocabulary.ids)))

    @property
    def mask_token(self) -> str:
        """The token that stands for a word to predict."""
        return str(_get_tokenizer(self._encoder).mask_token)

    @torch.inference_mode()
    def predict_masks(self, texts: Sequence[str], k: int) -> list[list[Candidates]]:
        """Return the k likeliest words for each mask of each text; masks beyond the longest input are missing."""
        tokens = self._encoder.tokenize(texts, MAX_SEQUENCE_TOKENS)
        masks = [row == self._mask_id for row in tokens]
        states = self._select_states(tokens, masks)
        rows = np.repeat(np.arange(len(texts)), [mask.sum() for mask in masks])
        predictions: list[list[Candidates]] = [[] for _ in texts]
        for start in range(0, len(rows), BATCH_SIZE):
            batch = slice(start, start + BATCH_SIZE)
            candidates = top_candidates(self.compute_logits(states[batch]), self._vocabulary, k)
            for row, words in zip(rows[batch], candidates, strict=True):
                predictions[row].append(words)
        return predictions

    def compute_logits(self, states: Tensor) -> Tensor:
        """Return the logits (M, W) of masks by their hidden states (M, D)."""
        points: Tensor = self.head(states)  # (M, H)
        return points @ self._word_embeddings.T + self.bias

    def fit(self, tokens: Sequence[TokenIds], progress: ProgressCallback | None) -> None:
        """Train the head to predict masked words of tokenised texts."""
        rng = np.random.default_rng(SEED)
        optimizer = torch.optim.Adam([*self.head.parameters(), self.bias], lr=LEARNING_RATE)
        n_rounds = int(np.clip(TARGET_READINGS // max(len(tokens), 1), MIN_ROUNDS, MAX_ROUNDS))
        for round_ in range(n_rounds):
            masks = [self._vocabulary.sample_words(row, MASKED_SHARE, rng) for row in tokens]
            masked = [
                np.where(mask, self._mask_id, row).astype(np.int32) for row, mask in zip(tokens, masks, strict=True)
            ]
            states = self._select_states(masked, masks)  # (M, D)
            target_ids = np.concatenate([row[mask] for row, mask in zip(tokens, masks, strict=True)])
            targets = torch.from_numpy(np.searchsorted(self._vocabulary.ids, target_ids))  # (M,)
            if not len(targets):
                return  # no text has a word of the vocabulary
            batch_size = int(np.clip(len(targets) // MIN_BATCHES, MIN_BATCH_SIZE, BATCH_SIZE))
            for epoch in range(EPOCHS_PER_ROUND):
                for batch in torch.from_numpy(rng.permutation(len(targets))).split(batch_size):
                    loss = F.cross_entropy(self.compute_logits(states[batch]), targets[batch])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                if progress:
                    progress(round_ * EPOCHS_PER_ROUND + epoch + 1, n_rounds * EPOCHS_PER_ROUND)

    def _select_states(self, tokens: Sequence[TokenIds], masks: Sequence[NDArray[np.bool_]]) -> Tensor:
        """Return the hidden states of the chosen tokens of texts, (M, D)."""
        selected: list[NDArray[np.float32]] = [np.zeros((0, self._encoder.hidden_dim), dtype=np.float32)]
        for start in range(0, len(tokens), CHUNK_TEXTS):
            chunk = slice(start, start + CHUNK_TEXTS)
            states = self._encoder.embed_tokens(tokens[chunk])
            selected += [states[row][mask] for row, mask in enumerate(masks[chunk])]
        return torch.from_numpy(np.concatenate(selected))


def fit_encoder_mlm(
    texts: Sequence[str], encoder: Encoder, progress: ProgressCallback | None = None
) -> EncoderMaskedLM:
    """Train a masked language model on texts; the encoder is not changed.

    Parameters
    ----------
    texts : sequence of str
        The texts; with more than `MAX_TRAINING_TEXTS`, a random sample is used.
    encoder : Encoder
        The encoder.
    progress : callable, optional
        Called with the number of done and of all epochs.
    """
    tokenizer = _get_tokenizer(encoder)
    if getattr(tokenizer, "mask_token_id", None) is None:
        raise InputError("this encoder has no mask token, so it cannot predict words; use another method")
    rng = np.random.default_rng(SEED)
    sample = rng.permutation(len(texts))[:MAX_TRAINING_TEXTS]
    tokens = encoder.tokenize([texts[i] for i in np.sort(sample)])
    vocabulary = WordVocabulary.from_tokenizer(tokenizer).restrict_to(tokens)
    with fork_rng(torch.device("cpu"), SEED):
        model = EncoderMaskedLM(encoder, vocabulary)
        model.fit(tokens, progress)
    return model


def _get_tokenizer(encoder: Encoder) -> Any:
    """Return an encoder's tokenizer, whose type the libraries do not declare."""
    return encoder.model.tokenizer
