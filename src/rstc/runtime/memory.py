"""Whether a run fits into memory, told before it starts: what it takes by its sizes, and what is free."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rstc.errors import InputError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")  # of a container, where there is one
GB = 1e9

# Bytes, as runs of 10,000 to 1,000,000 texts took them at their peak (benchmarks/scale.py), rounded up.
_LIBRARIES = 0.6 * GB
_A_TEXT = 450  # its row, its string and its tokens as objects, beside its characters
_COPIES_OF_ALL = 2  # of the final embeddings and predictions
_COPIES_OF_LEARNERS = 3  # of what labels are found in: embeddings, points, predictions, models of the folds
_COPIES_OF_WEIGHTS = 4  # the weights, their gradients and Adam's two moments, if all of them learn
_CHARACTERS_A_TOKEN = 4
_WORDS_DIM = 200


@dataclass(frozen=True)
class Sizes:
    """What a run's memory depends on.

    Attributes:
        texts: how many there are in this process.
        characters: of all of them together.
        learners: how many of them train.
        tokens: of a text, at the most.
        n_clusters: C.
        dim: D of the embeddings.
        weights: bytes of the encoder's.
        cache: bytes that may be held of what its frozen layers gave.
    """

    texts: int
    characters: int
    learners: int
    tokens: int
    n_clusters: int
    dim: int
    weights: int
    cache: int

    @property
    def for_all(self) -> float:
        """Bytes for the texts and what is found out about each."""
        numbers = _COPIES_OF_ALL * 4 * (self.dim + self.n_clusters)
        return 2 * self.characters + self.texts * (_A_TEXT + numbers)

    @property
    def for_learners(self) -> float:
        """Bytes for training and finding labels."""
        tokens = min(self.tokens, self.characters / max(self.texts, 1) / _CHARACTERS_A_TOKEN + 2)
        kept = min(self.cache, self.learners * tokens * self.dim * 2)
        numbers = 4 * (self.dim + _WORDS_DIM) + 8 * self.n_clusters
        return kept + self.learners * _COPIES_OF_LEARNERS * numbers

    @property
    def total(self) -> float:
        """Bytes in all."""
        return _LIBRARIES + _COPIES_OF_WEIGHTS * self.weights + self.for_all + self.for_learners


def check_fits(sizes: Sizes, allowed_gb: float = 0.0) -> None:
    """Refuse a run that would take more memory than is allowed, or than is free."""
    free = allowed_gb * GB if allowed_gb else free_memory()
    if free is None or sizes.total <= free:
        return
    raise InputError(
        f"this run would take about {sizes.total / GB:.1f} GB of memory, and {free / GB:.1f} GB are "
        f"{'allowed (memory_gb)' if allowed_gb else 'free'}: {sizes.for_all / GB:.1f} for {sizes.texts:,} texts in "
        f"{sizes.n_clusters:,} clusters, {sizes.for_learners / GB:.1f} for the {sizes.learners:,} of them that train; "
        "lower max_fit_texts or the number of clusters, cluster a part of the rows and label the rest by `rstc "
        "predict`, which streams, or share the run among machines (docs/scale.md); memory_gb says otherwise"
    )


def free_memory() -> float | None:
    """Return the bytes that this process may still take: the machine's, or its container's; None if nobody says."""
    known = [bytes_free for bytes_free in (_of_machine(), _of_container()) if bytes_free is not None]
    return min(known, default=None)


def _of_machine() -> float | None:
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))  # not all of it is free; none is more
    except (AttributeError, ValueError, OSError):
        return None


def _of_container() -> float | None:
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        held = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        # Files in the page cache are let go when a process needs the room.
        return float(limit) - float(used) + float(held.get("inactive_file", 0)) + float(held.get("active_file", 0))
    except (OSError, ValueError):  # no container, or one without a limit
        return None
