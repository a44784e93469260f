"""The data loader: an endless iterator over batches of views, of which each process gets its own texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rstc.representation.augmenters.base import AugmenterResources
from rstc.representation.encoder import TokenIds
from rstc.representation.views import TokenMask, ViewPair, Views
from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.progress import Progress
from rstc.training.training_texts import TrainingTexts


class Batch(NamedTuple):
    """The part of a batch that belongs to this process.

    Attributes
    ----------
    rows : ndarray of shape (B,)
        Rows of the texts among the training texts of this process.
    views : list of arrays
        First views, then second views of these texts, as token ids or hidden states.
    counts : list of int
        Number of texts of the batch in each process.
    """

    rows: NDArray[np.int64]
    views: list[Any]
    counts: list[int]


@dataclass(frozen=True)
class Generators:
    """The random generators of a run.

    Attributes
    ----------
    shared : numpy.random.Generator
        Draws the same numbers in all processes.
    local : numpy.random.Generator
        Draws for the texts of this process.
    fixed_views : numpy.random.Generator
        Draws the views that are the same in all epochs.
    """

    shared: np.random.Generator
    local: np.random.Generator
    fixed_views: np.random.Generator

    @classmethod
    def spawn(cls, rng: np.random.Generator, processes: ProcessGroup) -> Generators:
        """Create the generators of a run from one that is the same in all processes."""
        fixed_views = rng.spawn(1)[0]
        return cls(rng, rng if processes.is_single else rng.spawn(processes.size)[processes.rank], fixed_views)

    def state_dict(self, processes: ProcessGroup) -> dict[str, Any]:
        """Return the states of the generators that draw during training, the local ones of all processes."""
        local = processes.gather_objects(self.local.bit_generator.state)
        return {"shared": self.shared.bit_generator.state, "local": local}

    def load_state_dict(self, state: Mapping[str, Any], processes: ProcessGroup) -> None:
        """Restore a state; the local generators only if the number of processes is the same."""
        if len(state["local"]) == processes.size:
            self.local.bit_generator.state = state["local"][processes.rank]
        self.shared.bit_generator.state = state["shared"]


class DataLoader(Iterator[Batch]):
    """Endless batches of texts, in a new order in each epoch.

    Parameters
    ----------
    texts : TrainingTexts
        This process's texts, the encoder that reads them, and its cache of hidden states.
    views : Views
        The views of these texts.
    batch_size : int
        Number of texts in a batch over all processes; limited to the number of texts.
    ends : ndarray of shape (n_processes,)
        End of each process's texts among the texts of all processes.
    generators : Generators
        Generators of the orders, the views and the cutoffs.
    processes : ProcessGroup
        The processes that share the texts.
    progress : Progress
        Reports the progress of slow augmenters.
    """

    def __init__(
        self,
        texts: TrainingTexts,
        views: Views,
        batch_size: int,
        ends: NDArray[np.int64],
        generators: Generators,
        processes: ProcessGroup,
        progress: Progress,
    ) -> None:
        self.texts, self.views, self.ends = texts, views, ends
        self.generators, self.processes = generators, processes
        self.n_texts = int(ends[-1])
        self.batch_size = min(batch_size, self.n_texts)
        self._resources = AugmenterResources(lambda: texts.encoder, texts.encoder.device, progress.advance)
        self._is_prepared = False
        self._view_texts: ViewPair | None = None
        self._view_tokens: list[Sequence[TokenIds]] = []  # of the two views
        self._rng_before_draw: dict[str, Any] = {}  # the local generator's state before it drew the views
        self._orders: list[NDArray[np.int64]] = []  # of the epochs so far, the current one last
        self._position = 0  # in the current order

    def __next__(self) -> Batch:
        """Return the next batch."""
        if not self._orders or self._position + self.batch_size > self.n_texts:
            self._draw_views()
            if not self._needs_all_orders:
                self._orders.clear()
            self._orders.append(self.generators.shared.permutation(self.n_texts))
            self._position = 0
        batch = self._orders[-1][self._position : self._position + self.batch_size]
        self._position += self.batch_size
        ranks = self._find_ranks(batch)
        counts = np.bincount(ranks, minlength=self.processes.size)
        rows, sequences = self._encode_views(batch, ranks)
        masks = self._draw_masks(sequences, ranks)
        views = [sequence[mask] for sequence, mask in zip(sequences, masks, strict=True)]
        return Batch(rows, views, counts.tolist())

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, and the generator states by which the views can be drawn again."""
        return {
            "position": self._position,
            "orders": np.stack(self._orders) if self._orders else None,
            "rng_before_draw": self.processes.gather_objects(self._rng_before_draw),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state; the views are drawn again."""
        if state["orders"] is None:
            self._orders, self._position = [], 0
            return
        rng_states = state["rng_before_draw"]
        if len(rng_states) == self.processes.size:  # otherwise the processes have other texts
            self.generators.local.bit_generator.state = rng_states[self.processes.rank]
        self._draw_views()
        self._orders, self._position = list(state["orders"]), state["position"]
        if not self._needs_all_orders:
            return
        # The last bits of hidden states depend on the batch they are computed in, so the same batches are repeated.
        for order in self._orders:
            stop = self._position if order is self._orders[-1] else self.n_texts - self.batch_size + 1
            for start in range(0, stop, self.batch_size):
                batch = order[start : start + self.batch_size]
                self._encode_views(batch, self._find_ranks(batch))

    @property
    def _needs_all_orders(self) -> bool:
        """Whether to record the orders of all epochs: cached hidden states depend on the batch of their first use."""
        return self.texts.cache is not None and self.views.fixed and self.views.changes_texts

    def _draw_views(self) -> None:
        """Draw the texts of the views for an epoch, unless they are fixed and drawn already."""
        if not self._is_prepared:
            self.views, self._is_prepared = self.views.prepare(self._resources, self.generators.fixed_views), True
        views, rng = self.views, self.generators.local
        if self._view_texts is not None and views.fixed:
            return
        self._rng_before_draw = dict(rng.bit_generator.state)
        self._view_texts = views.draw(rng, self._view_texts)
        self._resources.release()  # views that need a model are fixed, and not drawn again
        tokens, tokenize = self.texts.tokens, self.texts.encoder.tokenize
        self._view_tokens = [tokenize(view) for view in self._view_texts] if views.changes_texts else [tokens, tokens]

    def _find_ranks(self, batch: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rank of the process that has each text of a batch."""
        return np.searchsorted(self.ends, batch, side="right")

    def _encode_views(self, batch: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Any]]:
        """Return this process's rows of a batch, and their two views as token ids or as cached hidden states."""
        cache, rank = self.texts.cache, self.processes.rank
        first_row = int(self.ends[rank]) - len(self.texts.tokens)
        rows = batch[ranks == rank] - first_row
        if not len(rows):
            rows = np.zeros(1, dtype=np.int64)  # a placeholder, because every process takes part in every step
        tokens = [view[i] for view in self._view_tokens for i in rows]
        return rows, cache.get(tokens, keep=self.views.fixed) if cache else list(tokens)

    def _draw_masks(self, sequences: Sequence[Any], ranks: NDArray[np.int64]) -> list[TokenMask]:
        """Draw which tokens of this process's sequences are kept; all processes draw for the whole batch."""
        lengths = [len(sequence) for sequence in sequences]
        if self.processes.is_single:
            return self.views.draw_masks(lengths, self.generators.shared)
        is_local = ranks == self.processes.rank
        all_lengths = np.zeros((2, len(ranks)), dtype=np.int64)
        for rank, rank_lengths in enumerate(self.processes.gather_objects(lengths)):
            if (ranks == rank).any():
                all_lengths[:, ranks == rank] = np.reshape(rank_lengths, (2, -1))
        masks = self.views.draw_masks(all_lengths.ravel().tolist(), self.generators.shared)
        local_masks = [mask for mask, local in zip(masks, np.tile(is_local, 2), strict=True) if local]
        return local_masks or [slice(None)] * len(sequences)
