"""Estimate of the memory that a run takes, checked against the free memory before the run starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rstc.errors import ResourceLimitError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")  # present in a container
GB = 1e9

# Measured at the peak of runs of 10,000 to 1,000,000 texts (benchmarks/scale.py), rounded up.
_LIBRARY_BYTES = 0.8 * GB
_BYTES_PER_TEXT = 450  # the row, the string object and the token objects of a text, without its characters
_COPIES_OF_PREDICTIONS = 2  # log P and P of all texts
_COPIES_PER_FIT_TEXT = 3  # of embeddings, features and predictions while pseudo-labels are computed
_COPIES_OF_WEIGHTS = 4  # the weights, their gradients and Adam's two moments
_CHARACTERS_PER_TOKEN = 4
_SIDE_FEATURES_DIM = 200 + 256  # words reduced by LSA, and static vectors


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimate of the memory of a run in this process, from the sizes of its parts.

    Attributes
    ----------
    n_texts : int
        Number of texts in this process.
    n_characters : int
        Number of characters of these texts.
    n_fit_texts : int
        Number of training texts.
    max_tokens : int
        Number of tokens to which a text is truncated.
    n_clusters : int
        C, or an assumed number if it is to be estimated.
    dim : int
        D, the dimension of the embeddings.
    encoder_bytes : int
        Size of the encoder's weights.
    cache_bytes : int
        Largest size of the cache of hidden states.
    """

    n_texts: int
    n_characters: int
    n_fit_texts: int
    max_tokens: int
    n_clusters: int
    dim: int
    encoder_bytes: int
    cache_bytes: int

    @property
    def prediction_bytes(self) -> float:
        """Bytes for the texts, their embeddings and their predictions."""
        results = 4 * (self.dim + _COPIES_OF_PREDICTIONS * self.n_clusters)
        return 2 * self.n_characters + self.n_texts * (_BYTES_PER_TEXT + results)

    @property
    def training_bytes(self) -> float:
        """Bytes for the cache of hidden states and for computing pseudo-labels."""
        tokens = min(self.max_tokens, self.n_characters / max(self.n_texts, 1) / _CHARACTERS_PER_TOKEN + 2)
        cached = min(self.cache_bytes, self.n_fit_texts * tokens * self.dim * 2)
        features = 4 * (self.dim + _SIDE_FEATURES_DIM) + 8 * self.n_clusters
        return cached + self.n_fit_texts * _COPIES_PER_FIT_TEXT * features

    @property
    def total_bytes(self) -> float:
        """Bytes of the whole process."""
        return _LIBRARY_BYTES + _COPIES_OF_WEIGHTS * self.encoder_bytes + self.prediction_bytes + self.training_bytes


def check_memory(estimate: MemoryEstimate, limit_gb: float = 0.0) -> None:
    """Raise an error if a run needs more memory than is allowed or free.

    Parameters
    ----------
    estimate : MemoryEstimate
        Memory of the run.
    limit_gb : float, default=0.0
        Limit in gigabytes (the setting `memory_gb`); 0 for the free memory of the machine or container.

    Raises
    ------
    ResourceLimitError
        If the estimate exceeds the limit.
    """
    limit = limit_gb * GB if limit_gb else free_memory()
    if limit is None or estimate.total_bytes <= limit:
        return
    raise ResourceLimitError(
        f"this run would take about {estimate.total_bytes / GB:.1f} GB of memory, but only {limit / GB:.1f} GB are "
        f"{'allowed (memory_gb)' if limit_gb else 'free'}: {estimate.prediction_bytes / GB:.1f} GB for "
        f"{estimate.n_texts:,} texts in {estimate.n_clusters:,} clusters and {estimate.training_bytes / GB:.1f} GB for "
        f"training on {estimate.n_fit_texts:,} of them; lower max_fit_texts or the number of clusters, cluster a part "
        "of the rows and label the rest with `rstc predict`, which streams, run on several machines (docs/scale.md), "
        "or set memory_gb to override this estimate"
    )


def free_memory() -> float | None:
    """Return the bytes that this process may still allocate, by its machine and its container.

    Returns
    -------
    float or None
        The smaller of the two; None if neither is known.
    """
    limits = [free for free in (_machine_free_memory(), _container_free_memory()) if free is not None]
    return min(limits, default=None)


def _machine_free_memory() -> float | None:
    """Return the available memory of the machine, or its total memory if the available part is not reported."""
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _container_free_memory() -> float | None:
    """Return the memory left of a container's limit (cgroup v2); None if there is no limit."""
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        usage = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        # The page cache counts as used, but the kernel frees it when a process needs memory.
        page_cache = float(usage.get("inactive_file", 0)) + float(usage.get("active_file", 0))
        return float(limit) - float(used) + page_cache
    except (OSError, ValueError):  # no container, or one without a limit
        return None
