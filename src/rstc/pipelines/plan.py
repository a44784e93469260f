"""What a run on a file would do, without doing it: its input, its settings, and an estimate of its memory and time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from rstc.config import Config
from rstc.errors import MissingTextWarning, UnusedSettingWarning
from rstc.io.columns import list_text_columns
from rstc.io.formats import SUFFIXES
from rstc.pipelines.cluster import Command, can_be_completed, describe_request
from rstc.pipelines.inputs import Columns, RunInput, read_checked_input
from rstc.pipelines.request import RunRequest
from rstc.results.run_files import (
    CHECKPOINTS,
    CLUSTERS,
    COMPARISONS,
    MODEL,
    POINTS,
    REPORT,
    SUMMARY,
    TEXT_EMBEDDINGS,
)
from rstc.results.run_folder import check_target
from rstc.runtime.distributed import SINGLE_PROCESS
from rstc.runtime.memory import check_memory, find_limit
from rstc.runtime.progress import Listener, Progress
from rstc.validation.n_clusters import ClusterRange

if TYPE_CHECKING:
    from rstc.representation.encoder import Encoder

Action = Literal["start", "replace", "resume", "complete"]

N_CALIBRATION = 256  # texts that are encoded to estimate the time: a batch for each of several cores
WARM_UP = 32  # texts that are encoded before, because the first batch takes longer

# Seconds of the steps after encoding on the machine of benchmarks/results (end_to_end.json, scale.json,
# dry_run.json), two cores that compute matrix products at this speed each: a constant, and what grows with the texts.
GFLOPS_PER_CORE = 118.0
CLUSTER_SECONDS, CLUSTER_SECONDS_PER_TEXT = 2.0, 5.5e-4
REPEAT_SECONDS, REPEAT_SECONDS_PER_TEXT = 0.02, 1e-6  # of each repeat that estimates the reliability
SEARCH_SECONDS, SEARCH_SECONDS_PER_TEXT, MAX_SEARCH_TEXTS = 1.5, 7e-4, 8000  # of estimating the number of clusters
MAP_SECONDS, MAP_SECONDS_PER_TEXT, MAX_MAP_TEXTS = 1.8, 1.6e-4, 12_000  # of the map, the page and the files
STEP_SECONDS, STEP_TEXTS, STEP_PARAMETERS = 0.2, 200, 1.77e6  # of a training step: its batch, and what it trains
PRODUCT_SIZE, N_PRODUCTS = 512, 100  # matrix products that this machine is compared by


@dataclass(frozen=True)
class TimeEstimate:
    """Estimate of the seconds that a run takes.

    Attributes
    ----------
    load, encode, search, cluster, train, map : float
        Seconds of its parts: importing the libraries and loading the model, encoding the texts that are not cached,
        estimating the number of clusters, finding clusters and their reliability, training, drawing the map.
    """

    load: float
    encode: float
    search: float
    cluster: float
    train: float
    map: float

    @property
    def total(self) -> float:
        """Seconds of the run."""
        return self.load + self.encode + self.search + self.cluster + self.train + self.map


@dataclass(frozen=True)
class RunPlan:
    """What a run would do.

    Attributes
    ----------
    action : {"start", "replace", "resume", "complete"}
        Whether it starts in a new folder, replaces an earlier run, resumes from a checkpoint, or makes the map and the
        page of a run that was interrupted after its clusters were written.
    writes, overwrites : list of Path
        What it would write, and what of it exists.
    run_input : RunInput
        The rows.
    n_texts, n_distinct, n_characters : int
        Number of rows with a text, of distinct texts, and of their characters.
    languages : dict of str to float
        Share of each language among the texts, by ISO 639 code.
    encoder_reason : str or None
        Why the encoder was taken, None if it was named.
    kept_columns : list of str
        Columns that are kept on the page.
    n_clusters : int or (int, int or None)
        The number of clusters, or the smallest and the largest.
    n_trained : int
        Number of texts that clusters are found on.
    max_steps : int
        Number of training steps at most, 0 without training.
    tries_training : bool
        Whether the run itself decides if it trains.
    dim, max_tokens : int
        Dimension of the embeddings, and number of tokens to which texts are cut.
    truncated_share : float
        Share of the texts that are cut.
    device : str
        Where the encoder computes.
    n_to_encode : int
        Number of distinct texts whose embeddings are not cached.
    memory_bytes : float
        Estimate of the memory.
    free_bytes : float or None
        Memory that is free or allowed.
    seconds : TimeEstimate
        Estimate of the time.
    config : Config
        The settings.
    """

    action: Action
    writes: list[Path]
    overwrites: list[Path]
    run_input: RunInput
    n_texts: int
    n_distinct: int
    n_characters: int
    languages: dict[str, float]
    encoder_reason: str | None
    kept_columns: list[str]
    n_clusters: int | ClusterRange
    n_trained: int
    max_steps: int
    tries_training: bool
    dim: int
    max_tokens: int
    truncated_share: float
    device: str
    n_to_encode: int
    memory_bytes: float
    free_bytes: float | None
    seconds: TimeEstimate
    config: Config


def plan_run(request: RunRequest, listener: Listener | None = None) -> RunPlan:
    """Check everything that a run checks before it starts, and say what it would do; nothing is written.

    Parameters
    ----------
    request : RunRequest
        The request of the run.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    RunPlan

    Raises
    ------
    InputError
        If the run would not start.
    """
    out, config = request.out, request.check_settings()
    check_target(out, request.overwrite, recover=False)
    progress = Progress(listener)
    with progress.stage("read"):
        run_input, fit_input = read_checked_input(request, config, SINGLE_PROCESS)
    texts = fit_input.data.texts

    def describe_command() -> Command:
        return describe_request(request, run_input, config)

    action = _find_action(out, request.resume, can_be_completed(request, describe_command))
    _warn(config, texts, run_input)
    writes = _list_files(out, run_input.format, request.comparisons is not None)

    with progress.stage("load"):
        progress.advance(0, 0)
        from rstc.language.detection import measure_languages
        from rstc.representation.embedding_cache import EmbeddingCache
        from rstc.representation.token_limit import limit_tokens
        from rstc.runtime.device import choose_device
        from rstc.training.encoders import choose_run_encoder, load_run_encoder
        from rstc.training.inputs import estimate_memory

        languages = measure_languages(texts)
        choice = choose_run_encoder(texts, config, SINGLE_PROCESS)
        config = replace(config, encoder=choice.encoder) if choice else config
        encoder = load_run_encoder(config)
        truncated_share = limit_tokens(encoder, texts, config.max_tokens)
    encoder.train_layers(config.count_trained_layers(len(texts)))
    memory = estimate_memory(texts, encoder, fit_input.n_clusters, config, SINGLE_PROCESS)
    check_memory(memory, config.memory_gb)

    n_distinct = len(set(texts))
    n_to_encode = n_distinct
    if request.cache is not None and request.cache.is_dir():
        n_to_encode = EmbeddingCache(request.cache, encoder).count_missing(encoder.tokenize(texts))
    sample = _draw_sample(texts)
    tokens = encoder.tokenize(sample)
    encoder.embed(tokens[:WARM_UP])
    started = time.perf_counter()
    encoder.embed(tokens)
    seconds_per_text = (time.perf_counter() - started) / len(sample)

    slowdown = _measure_slowdown()
    n_fit = min(config.max_fit_texts or len(texts), len(texts))
    n_steps = _count_steps(config, len(texts), n_fit)
    return RunPlan(
        action=action,
        writes=writes,
        overwrites=[file for file in writes if file.exists()],
        run_input=run_input,
        n_texts=len(texts),
        n_distinct=n_distinct,
        n_characters=sum(map(len, texts)),
        languages=languages,
        encoder_reason=choice.reason if choice else None,
        kept_columns=_list_kept(run_input) if request.keep_columns else [],
        n_clusters=fit_input.n_clusters,
        n_trained=n_fit,
        max_steps=n_steps,
        tries_training=config.tries_training,
        dim=encoder.dim,
        max_tokens=encoder.max_tokens,
        truncated_share=truncated_share,
        device=str(choose_device(config.device)),
        n_to_encode=n_to_encode,
        memory_bytes=memory.total_bytes,
        free_bytes=find_limit(config.memory_gb),
        seconds=TimeEstimate(
            load=progress.seconds["load"],
            encode=n_to_encode * seconds_per_text,
            search=slowdown * _estimate_search(fit_input.n_clusters, n_fit),
            cluster=slowdown * _estimate_clustering(config, n_fit),
            train=slowdown * n_steps * _estimate_step(encoder, min(config.batch_size, n_fit)),
            map=slowdown * (MAP_SECONDS + MAP_SECONDS_PER_TEXT * min(len(texts), MAX_MAP_TEXTS)),
        ),
        config=config,
    )


def _warn(config: Config, texts: Sequence[str], run_input: RunInput) -> None:
    """Warn and raise as the run itself would after its input was read."""
    n_rows = len(run_input.texts)
    if len(texts) < n_rows:
        warnings.warn(MissingTextWarning(n_rows - len(texts), n_rows), stacklevel=3)
    if run_input.columns.views:
        config.check_steps_for_views(len(texts))
    if unused := config.list_unused(len(texts)):
        warnings.warn(UnusedSettingWarning(unused, config.training), stacklevel=3)


def _find_action(out: Path, resume: bool, is_complete: bool) -> Action:
    """Return what a run would do with the folder, which `check_target` has accepted."""
    if is_complete:
        return "complete"
    if (out / SUMMARY).exists():
        return "replace"
    has_checkpoints = (out / CHECKPOINTS).is_dir() and any((out / CHECKPOINTS).iterdir())
    return "resume" if has_checkpoints and resume else "start"


def _list_files(out: Path, format: str, has_comparisons: bool) -> list[Path]:
    """Return the files and folders of a run."""
    names = [f"{CLUSTERS}{SUFFIXES[format]}", SUMMARY, POINTS, TEXT_EMBEDDINGS, REPORT, MODEL]
    return [out / name for name in (*names, *([COMPARISONS] if has_comparisons else []))]


def _list_kept(run_input: RunInput) -> list[str]:
    """Return the columns that are neither texts nor their augmented versions."""
    columns: Columns = run_input.columns
    texts = list_text_columns(columns.text)
    left_out = {*(texts if len(texts) == 1 else ()), *(columns.views or ())}
    table = next(iter(run_input.read_tables()))
    return [str(name) for name in table.columns if name not in left_out]


def _draw_sample(texts: Sequence[str]) -> list[str]:
    """Draw the texts of the calibration."""
    rng = np.random.default_rng(0)
    return [texts[row] for row in rng.choice(len(texts), min(N_CALIBRATION, len(texts)), replace=False)]


def _count_steps(config: Config, n_texts: int, n_fit: int) -> int:
    """Return the number of training steps at most."""
    if not config.takes_steps(n_texts):
        return 0
    per_epoch = max(-(-n_fit // config.batch_size), 1)
    return min(config.max_steps, config.max_epochs * per_epoch) if config.max_epochs else config.max_steps


def _measure_slowdown() -> float:
    """Return how many times as long a core takes as one of the machine that the constants were measured on.

    One core is measured: on a busy machine, threads that wait for each other take longer than pieces of work that do
    not.
    """
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        A = torch.ones(PRODUCT_SIZE, PRODUCT_SIZE)
        A @ A  # the first one takes longer
        started = time.perf_counter()
        for _ in range(N_PRODUCTS):
            A @ A
        seconds = time.perf_counter() - started
    finally:
        torch.set_num_threads(n_threads)
    return seconds * GFLOPS_PER_CORE * 1e9 / (N_PRODUCTS * 2 * PRODUCT_SIZE**3)


def _estimate_step(encoder: Encoder, batch_size: int) -> float:
    """Return the seconds of a training step, in proportion to its texts and to the weights that it trains."""
    trained = sum(
        weights.numel()
        for name, weights in encoder.named_parameters()
        if weights.requires_grad and "embeddings" not in name  # a text uses few rows of them
    )
    return STEP_SECONDS * batch_size / STEP_TEXTS * trained / STEP_PARAMETERS


def _estimate_clustering(config: Config, n_fit: int) -> float:
    """Return the seconds of finding the clusters and their reliability."""
    repeats = config.repeats * (REPEAT_SECONDS + REPEAT_SECONDS_PER_TEXT * n_fit)
    return CLUSTER_SECONDS + CLUSTER_SECONDS_PER_TEXT * n_fit + repeats


def _estimate_search(n_clusters: int | ClusterRange, n_fit: int) -> float:
    """Return the seconds of estimating the number of clusters, none if it is given."""
    if isinstance(n_clusters, int):
        return 0.0
    return SEARCH_SECONDS + SEARCH_SECONDS_PER_TEXT * min(n_fit, MAX_SEARCH_TEXTS)
