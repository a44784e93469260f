"""Batches of views to learn from, without end: who has which texts of a batch, and which of their tokens stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rstc.progress import Progress
from rstc.ranks import Ranks
from rstc.representation.augmenters.augmenter import Tools
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.states import StateCache
from rstc.representation.views import Mask, Pair, Views


class Batch(NamedTuple):
    """The part of a batch that this process has.

    Attributes:
        rows: which of its texts.
        views: their first and then their second views, as sequences.
        counts: how many texts of the batch each process has.
    """

    rows: NDArray[np.int64]
    views: list[Any]
    counts: list[int]


class Draws(NamedTuple):
    """What draws: what all processes draw alike, what each draws for its own texts, and what lasts of the views."""

    alike: np.random.Generator
    own: np.random.Generator
    lasting: np.random.Generator


@dataclass(frozen=True)
class Batches:
    """Batches of texts.

    Attributes:
        tokens: of this process's texts.
        views: of these texts.
        size: how many texts of all processes are in a batch, at the most.
        ends: where each process's texts end among those of all, in their order.
        encoder: that reads them.
        cache: what its frozen layers gave, where it has some; it is kept for texts that come again.
        draws: the generators.
        ranks: the processes.
        progress: is told of what takes long.
    """

    tokens: Sequence[TokenIds]
    views: Views
    size: int
    ends: NDArray[np.int64]
    encoder: Encoder
    cache: StateCache | None
    draws: Draws
    ranks: Ranks
    progress: Progress

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches without end; each epoch has a new order."""
        N, B = int(self.ends[-1]), min(self.size, int(self.ends[-1]))
        encoder, first = self.encoder, int(self.ends[self.ranks.rank]) - len(self.tokens)
        tools = Tools(lambda: encoder, encoder.device, self.progress.advance)
        views = self.views.prepared(tools, self.draws.lasting)
        drawn: Pair | None = None
        while True:
            if drawn is None or not views.fixed:
                drawn = views.draw(self.draws.own, drawn)
                tools.put_away()  # what needs a model lasts, and is not drawn again
                pair = [encoder.tokenize(view) for view in drawn] if views.changes_texts else [self.tokens, self.tokens]
            order = self.draws.alike.permutation(N)
            for start in range(0, N - B + 1, B):
                batch = order[start : start + B]
                rank = np.searchsorted(self.ends, batch, side="right")  # who has which text
                counts = np.bincount(rank, minlength=self.ranks.size)
                rows = batch[rank == self.ranks.rank] - first
                if not len(rows):
                    rows = np.zeros(1, dtype=np.int64)  # it stands in, since every process must take the step
                tokens = [view[i] for view in pair for i in rows]
                sequences = self.cache.states(tokens, keep=views.fixed) if self.cache else tokens
                masks = self._masks(views, sequences, rank)
                kept = [sequence[mask] for sequence, mask in zip(sequences, masks, strict=True)]
                yield Batch(rows, kept, counts.tolist())

    def _masks(self, views: Views, sequences: Sequence[Any], rank: NDArray[np.int64]) -> list[Mask]:
        """Draw which tokens stay of this process's sequences: by the same draws for the whole batch in all of them."""
        lengths = [len(sequence) for sequence in sequences]
        if self.ranks.alone:
            return views.masks(lengths, self.draws.alike)
        own = rank == self.ranks.rank
        everyone = np.zeros((2, len(rank)), dtype=np.int64)
        for other, told in enumerate(self.ranks.every(lengths)):
            if (rank == other).any():
                everyone[:, rank == other] = np.reshape(told, (2, -1))
        masks = views.masks(everyone.ravel().tolist(), self.draws.alike)
        chosen = [mask for mask, mine in zip(masks, np.tile(own, 2), strict=True) if mine]
        return chosen or [slice(None)] * len(sequences)
