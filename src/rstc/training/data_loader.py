"""Batches of views to learn from, without end: who has which texts of a batch, and which of their tokens stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rstc.training.checkpoint_file import Snapshot, draws_state
from rstc.runtime.progress import Progress
from rstc.runtime.distributed import Ranks
from rstc.representation.augmenters.base import Tools
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.hidden_state_cache import StateCache
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


class Batches(Iterator[Batch]):
    """Batches of texts, without end; each epoch has a new order.

    Args:
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

    def __init__(
        self,
        tokens: Sequence[TokenIds],
        views: Views,
        size: int,
        ends: NDArray[np.int64],
        encoder: Encoder,
        cache: StateCache | None,
        draws: Draws,
        ranks: Ranks,
        progress: Progress,
    ) -> None:
        self.tokens, self.views, self.ends, self.encoder, self.cache = tokens, views, ends, encoder, cache
        self.draws, self.ranks = draws, ranks
        self.n_texts = int(ends[-1])
        self.size = min(size, self.n_texts)
        self._tools = Tools(lambda: encoder, encoder.device, progress.advance)
        self._is_prepared = False
        self._drawn: Pair | None = None
        self._pair: list[Sequence[TokenIds]] = []  # of the two views
        self._drawn_by: dict[str, Any] = {}  # where the generator was before it drew them
        self._orders: list[NDArray[np.int64]] = []  # of the epochs so far, the current one last
        self._next = 0  # of the current order

    def __next__(self) -> Batch:
        """Return the next batch."""
        if not self._orders or self._next + self.size > self.n_texts:
            self._draw()
            if not self._remembers:
                self._orders.clear()
            self._orders.append(self.draws.alike.permutation(self.n_texts))
            self._next = 0
        batch = self._orders[-1][self._next : self._next + self.size]
        self._next += self.size
        rank = self._owners(batch)
        counts = np.bincount(rank, minlength=self.ranks.size)
        rows, sequences = self._sequences(batch, rank)
        masks = self._masks(sequences, rank)
        kept = [sequence[mask] for sequence, mask in zip(sequences, masks, strict=True)]
        return Batch(rows, kept, counts.tolist())

    def snapshot(self) -> Snapshot:
        """Return where they are."""
        facts = {"next": self._next, "drawn_by": self.ranks.every(self._drawn_by)}
        return Snapshot(facts, {"orders": np.stack(self._orders)} if self._orders else {})

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from where they were; what was drawn then is drawn again."""
        if "orders" not in snapshot.arrays:
            self._orders, self._next = [], 0
            return
        drawn_by = snapshot.facts["drawn_by"]
        if len(drawn_by) == self.ranks.size:  # otherwise each draws on for texts that it did not have before
            self.draws.own.bit_generator.state = drawn_by[self.ranks.rank]
        self._draw()
        self._orders, self._next = list(snapshot.arrays["orders"]), snapshot.facts["next"]
        if not self._remembers:
            return
        # States that were computed in other company differ in their last bits: the batches so far pass by once more.
        for order in self._orders:
            until = self._next if order is self._orders[-1] else self.n_texts - self.size + 1
            for start in range(0, until, self.size):
                batch = order[start : start + self.size]
                self._sequences(batch, self._owners(batch))

    @property
    def _remembers(self) -> bool:
        """Whether which texts were in which batch matters later: their states are kept as they first came."""
        return self.cache is not None and self.views.fixed and self.views.changes_texts

    def _draw(self) -> None:
        """Draw the texts of the views for an epoch, but for those that last."""
        if not self._is_prepared:
            self.views, self._is_prepared = self.views.prepared(self._tools, self.draws.lasting), True
        views, own = self.views, self.draws.own
        if self._drawn is not None and views.fixed:
            return
        self._drawn_by = draws_state(own)
        self._drawn = views.draw(own, self._drawn)
        self._tools.put_away()  # what needs a model lasts, and is not drawn again
        changed = views.changes_texts
        self._pair = [self.encoder.tokenize(view) for view in self._drawn] if changed else [self.tokens, self.tokens]

    def _owners(self, batch: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which process has which text of a batch."""
        return np.searchsorted(self.ends, batch, side="right")

    def _sequences(self, batch: NDArray[np.int64], rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Any]]:
        """Return which of its texts this process has in a batch, and their two views on their way."""
        first = int(self.ends[self.ranks.rank]) - len(self.tokens)
        rows = batch[rank == self.ranks.rank] - first
        if not len(rows):
            rows = np.zeros(1, dtype=np.int64)  # it stands in, since every process must take the step
        tokens = [view[i] for view in self._pair for i in rows]
        return rows, self.cache.states(tokens, keep=self.views.fixed) if self.cache else list(tokens)

    def _masks(self, sequences: Sequence[Any], rank: NDArray[np.int64]) -> list[Mask]:
        """Draw which tokens stay of this process's sequences: by the same draws for the whole batch in all of them."""
        lengths = [len(sequence) for sequence in sequences]
        if self.ranks.alone:
            return self.views.masks(lengths, self.draws.alike)
        own = rank == self.ranks.rank
        everyone = np.zeros((2, len(rank)), dtype=np.int64)
        for other, told in enumerate(self.ranks.every(lengths)):
            if (rank == other).any():
                everyone[:, rank == other] = np.reshape(told, (2, -1))
        masks = self.views.masks(everyone.ravel().tolist(), self.draws.alike)
        chosen = [mask for mask, mine in zip(masks, np.tile(own, 2), strict=True) if mine]
        return chosen or [slice(None)] * len(sequences)
