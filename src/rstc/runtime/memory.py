"""Estimate of the memory that a run takes, checked against the free memory before the run starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rstc.errors import ResourceLimitError

if sys.platform == "win32":
    resource = None
else:
    import resource

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
CGROUP = Path("/sys/fs/cgroup")  # present in a container
GB = 1e9

# Measured at the peak of runs of 10,000 to 1,000,000 texts (benchmarks/scale.py), rounded up.
_LIBRARY_BYTES = 0.8 * GB
_PRODUCT_BYTES = 0.1 * GB  # the buffers of OpenBLAS for two threads, and some room
_BYTES_PER_TEXT = 450  # the row, the string object and the token objects of a text, without its characters
_COPIES_OF_PREDICTIONS = 2  # log P and P of all texts
_COPIES_PER_FIT_TEXT = 3  # of embeddings, features and predictions while pseudo-labels are computed
_COPIES_OF_WEIGHTS = 4  # the weights, their gradients and Adam's two moments
_CHARACTERS_PER_TOKEN = 4
_ACTIVATIONS_PER_LAYER = 24  # of the size of the hidden states, kept for the gradients of a layer
_COPIES_OF_VIEWS = 3
_COPIES_OF_SIMILARITIES = 3  # with their softmax and their gradients
_MAX_REPEATED_TEXTS = 20_000
_BYTES_PER_REPEAT = 66  # of a text: labels, probabilities and distances, in a list and joined
_BYTES_PER_NEIGHBOUR = 24  # similarity and row, and what they are sorted with
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
    batch_size : int
        Number of texts of a training step in this process; 0 if the encoder is not trained.
    n_layers : int
        Number of layers that are trained.
    projection_dim : int
        Output dimension of the projection head.
    n_repeats : int
        Number of repeated searches.
    n_neighbours : int
        Number of nearest texts that are kept of each training text.
    """

    n_texts: int
    n_characters: int
    n_fit_texts: int
    max_tokens: int
    n_clusters: int
    dim: int
    encoder_bytes: int
    cache_bytes: int
    batch_size: int = 0
    n_layers: int = 0
    projection_dim: int = 0
    n_repeats: int = 0
    n_neighbours: int = 0

    @property
    def prediction_bytes(self) -> float:
        """Bytes for the texts, their embeddings and their predictions."""
        results = 4 * (self.dim + _COPIES_OF_PREDICTIONS * self.n_clusters)
        return 2 * self.n_characters + self.n_texts * (_BYTES_PER_TEXT + results)

    @property
    def training_bytes(self) -> float:
        """Bytes for the cache of hidden states and for computing pseudo-labels."""
        cached = min(self.cache_bytes, self.n_fit_texts * self._tokens * self.dim * 2)
        features = 4 * (self.dim + _SIDE_FEATURES_DIM) + 8 * self.n_clusters
        labels = self.n_fit_texts * (_COPIES_PER_FIT_TEXT * features + _BYTES_PER_NEIGHBOUR * self.n_neighbours)
        return cached + labels

    @property
    def step_bytes(self) -> float:
        """Bytes for a training step: activations of two views, and the similarities of all views (2B, 2B)."""
        if not self.batch_size:
            return 0.0
        activations = 4 * _ACTIVATIONS_PER_LAYER * self.dim * self._tokens * self.n_layers
        projection = 4 * self.projection_dim * (_COPIES_OF_WEIGHTS * self.dim + _COPIES_OF_VIEWS * 2 * self.batch_size)
        similarities = 4 * _COPIES_OF_SIMILARITIES * (2.0 * self.batch_size) ** 2
        return 2 * self.batch_size * activations + projection + similarities

    @property
    def repeat_bytes(self) -> float:
        """Bytes for what repeated searches say about a sample of the training texts."""
        return float(self.n_repeats) * min(self.n_fit_texts, _MAX_REPEATED_TEXTS) * _BYTES_PER_REPEAT

    @property
    def _tokens(self) -> float:
        """Number of tokens of a text, on average."""
        return min(self.max_tokens, self.n_characters / max(self.n_texts, 1) / _CHARACTERS_PER_TOKEN + 2)

    @property
    def total_bytes(self) -> float:
        """Bytes of the whole process."""
        parts = (self.prediction_bytes, self.training_bytes, self.step_bytes, self.repeat_bytes)
        return _LIBRARY_BYTES + _COPIES_OF_WEIGHTS * self.encoder_bytes + sum(parts)


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
    limit = find_limit(limit_gb)
    if limit is None or estimate.total_bytes <= limit:
        return
    advice = (
        "lower max_fit_texts or the number of clusters, cluster a part of the rows and label the rest with `rstc "
        "predict`, which streams, run on several machines (docs/scale.md)"
    )
    if 2 * estimate.step_bytes > estimate.total_bytes:
        advice = f"lower batch_size (now {estimate.batch_size:,}) or projection_dim (now {estimate.projection_dim:,})"
    if 2 * estimate.repeat_bytes > estimate.total_bytes:
        advice = f"lower repeats (now {estimate.n_repeats:,})"
    raise ResourceLimitError(
        f"this run would take about {estimate.total_bytes / GB:.1f} GB of memory, but only {limit / GB:.1f} GB are "
        f"{'allowed (memory_gb)' if limit_gb else 'free'}: {estimate.prediction_bytes / GB:.1f} GB for "
        f"{estimate.n_texts:,} texts in {estimate.n_clusters:,} clusters, {estimate.training_bytes / GB:.1f} GB for "
        f"training on {estimate.n_fit_texts:,} of them, {estimate.step_bytes / GB:.1f} GB for a step and "
        f"{estimate.repeat_bytes / GB:.1f} GB for repeats; {advice}, or set memory_gb to override this estimate"
    )


def check_memory_for_products() -> None:
    """Raise an error if too little memory is free for products of matrices.

    OpenBLAS takes a buffer at the first product, and tries again forever where it gets none.

    Raises
    ------
    ResourceLimitError
    """
    free = free_memory()
    if free is not None and free < _PRODUCT_BYTES:
        raise ResourceLimitError(
            f"there is not enough memory: {free / 1e6:.0f} MB are free, and products of matrices need "
            f"{_PRODUCT_BYTES / 1e6:.0f} MB; close other programs, or raise the limit"
        )


def find_limit(limit_gb: float) -> float | None:
    """Return the bytes that a run may take: the setting `memory_gb` or, if that is 0, the free memory."""
    return limit_gb * GB if limit_gb else free_memory()


def free_memory() -> float | None:
    """Return the bytes that this process may still allocate, by its machine, its container and its own limit.

    Returns
    -------
    float or None
        The smallest of the three; None if none is known.
    """
    sources = (_machine_free_memory(), _container_free_memory(), _process_free_memory())
    return min((free for free in sources if free is not None), default=None)


@contextmanager
def limit_memory(n_bytes: int) -> Iterator[None]:
    """Let allocations fail that would add more than this to the memory of the process, where the system can do so."""
    used = _address_space()
    if resource is None or used is None:
        yield
        return
    limits = soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = used + n_bytes
    if soft != resource.RLIM_INFINITY:
        allowed = min(allowed, soft)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _process_free_memory() -> float | None:
    """Return what is left of the limit of this process (`ulimit -v`); None if there is no limit."""
    if resource is None:
        return None
    limit, used = resource.getrlimit(resource.RLIMIT_AS)[0], _address_space()
    return None if limit == resource.RLIM_INFINITY or used is None else float(max(limit - used, 0))


def _address_space() -> int | None:
    """Return the bytes of memory that this process has mapped; None if the system does not say."""
    try:
        return int(STATM.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


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
