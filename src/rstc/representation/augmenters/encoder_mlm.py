"""A masked model out of the encoder: a light head, tied to its word embeddings, that learns on the user's own texts.

The encoder reads texts with masks and stays as it is. The head turns what it says of a mask into a point among the
word embeddings; the better a word's embedding agrees with it, the likelier the word is.
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
from rstc.runtime.device import seeded
from rstc.representation.augmenters.base import Advance
from rstc.representation.augmenters.masked_lm import LONGEST_SEQUENCE, Likely, WholeWords, likeliest_of
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.embedding_lookup import plain_embedding

TEXTS_TO_LEARN_FROM = 20_000
MASKED_SHARE = 0.2  # of the words of a text, while it learns
LEAST_READINGS, MOST_READINGS = 2, 20  # of each text, with other masks: the more the fewer texts there are
TEXTS_TO_READ = 5_000  # that a few texts are read again for
EPOCHS = 3  # of what was read
BATCH_SIZE = 256
SMALLEST_BATCH = 16  # of few words, so that there are steps enough
BATCHES = 20  # that words are divided into as long as batches are small
LEARNING_RATE = 1e-3
SEED = 0  # what the model says is part of what a text's change depends on, so it is the same for all seeds
TEXTS_AT_A_TIME = 2048


class OwnModel:
    """The encoder, and a head that guesses what a mask hides among the words of the texts that it learned on."""

    def __init__(self, encoder: Encoder, words: WholeWords) -> None:
        self._encoder, self._words = encoder, words
        self._mask_id = int(_tokenizer(encoder).mask_token_id)
        table = plain_embedding(encoder.model[0])
        if table is None:
            raise InputError("this encoder has no plain word embeddings, so it cannot guess words; use another method")
        self._table = table.weight.detach()[torch.from_numpy(words.ids).to(table.weight.device)].float().cpu()  # (W, H)
        H, D = self._table.shape[1], encoder.state_dim
        self.head = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D), nn.Linear(D, H))
        self.bias = nn.Parameter(torch.zeros(len(words.ids)))

    @property
    def mask(self) -> str:
        """What to write for a word that is to be guessed."""
        return str(_tokenizer(self._encoder).mask_token)

    @torch.inference_mode()
    def likeliest(self, texts: Sequence[str], k: int) -> list[list[Likely]]:
        """Return the k likeliest words of each mask that it read of each text."""
        tokens = self._encoder.tokenize(texts, LONGEST_SEQUENCE)
        places = [row == self._mask_id for row in tokens]
        states = self.states_at(tokens, places)
        rows = np.repeat(np.arange(len(texts)), [place.sum() for place in places])
        found: list[list[Likely]] = [[] for _ in texts]
        for start in range(0, len(rows), BATCH_SIZE):
            part = slice(start, start + BATCH_SIZE)
            for row, likely in zip(rows[part], likeliest_of(self.logits(states[part]), self._words, k), strict=True):
                found[row].append(likely)
        return found

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits (masks, W) of what the encoder says of masks (masks, D)."""
        points: Tensor = self.head(states)
        return points @ self._table.T + self.bias

    def states_at(self, tokens: Sequence[TokenIds], places: Sequence[NDArray[np.bool_]]) -> Tensor:
        """Return what the encoder says of some tokens of texts, (their number, D)."""
        found: list[NDArray[np.float32]] = [np.zeros((0, self._encoder.state_dim), dtype=np.float32)]
        for start in range(0, len(tokens), TEXTS_AT_A_TIME):
            part = slice(start, start + TEXTS_AT_A_TIME)
            states = self._encoder.token_states(tokens[part])
            found += [states[row][place] for row, place in enumerate(places[part])]
        return torch.from_numpy(np.concatenate(found))

    def learn(self, tokens: Sequence[TokenIds], advance: Advance | None) -> None:
        """Let the head learn to guess words of tokenised texts, which are masked."""
        rng = np.random.default_rng(SEED)
        parameters = [*self.head.parameters(), self.bias]
        optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)
        readings = int(np.clip(TEXTS_TO_READ // max(len(tokens), 1), LEAST_READINGS, MOST_READINGS))
        for reading in range(readings):
            places = [self._words.drawn(row, MASKED_SHARE, rng) for row in tokens]
            hidden = [
                np.where(place, self._mask_id, row).astype(np.int32) for row, place in zip(tokens, places, strict=True)
            ]
            states = self.states_at(hidden, places)  # (M, D)
            answers = np.concatenate([row[place] for row, place in zip(tokens, places, strict=True)])
            targets = torch.from_numpy(np.searchsorted(self._words.ids, answers))  # (M,)
            if not len(targets):
                return  # no text has a word that it could guess
            size = int(np.clip(len(targets) // BATCHES, SMALLEST_BATCH, BATCH_SIZE))
            for epoch in range(EPOCHS):
                for batch in torch.from_numpy(rng.permutation(len(targets))).split(size):
                    loss = F.cross_entropy(self.logits(states[batch]), targets[batch])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                if advance:
                    advance(reading * EPOCHS + epoch + 1, readings * EPOCHS)


def learned_model(texts: Sequence[str], encoder: Encoder, advance: Advance | None = None) -> OwnModel:
    """Return a masked model that has learned on texts; the encoder is left as it is."""
    tokenizer = _tokenizer(encoder)
    if getattr(tokenizer, "mask_token_id", None) is None:
        raise InputError("this encoder has no mask, so it cannot guess what one hides; use another method")
    rng = np.random.default_rng(SEED)
    some = rng.permutation(len(texts))[:TEXTS_TO_LEARN_FROM]
    tokens = encoder.tokenize([texts[i] for i in np.sort(some)])
    words = WholeWords.of(tokenizer).within(tokens)
    with seeded(torch.device("cpu"), SEED):
        model = OwnModel(encoder, words)
        model.learn(tokens, advance)
    return model


def _tokenizer(encoder: Encoder) -> Any:
    """Return an encoder's tokenizer, of which the libraries do not tell the type."""
    return encoder.model.tokenizer
