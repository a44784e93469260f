"""The settings of RSTC as scikit-learn wants them: a parameter each, stored as it was given, and what they mean."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from rstc.config import Config, make_config
from rstc.runtime.distributed import Ranks
from rstc.representation.views import AskedView

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class Settings(BaseEstimator):
    """Every setting of `Config`, and what only a call can give: objects, functions, generators.

    The list stands here in full, twice, because scikit-learn reads it off `__init__`.
    """

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] = "auto",
        *,
        preset: str = "default",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        encoder: str | Path | SentenceTransformer | None = None,
        imbalance: str | None = None,
        pooling: str | None = None,
        max_tokens: int | None = None,
        trainable_layers: int | str | None = None,
        dropout: float | None = None,
        projection_dim: int | None = None,
        views: AskedView | tuple[AskedView, AskedView] | None = None,
        start: str | None = None,
        words: float | None = None,
        neighbours: int | None = None,
        swaps: bool | None = None,
        kmeans_starts: int | None = None,
        unit_length: bool | None = None,
        rounds: int | None = None,
        contrast_steps: int | None = None,
        head_start: float | None = None,
        labels: str | None = None,
        eps1: float | None = None,
        eps2: float | str | None = None,
        transport_method: str | None = None,
        renewals: int | None = None,
        first_renewal: int | None = None,
        noise: float | None = None,
        class_contrast: bool | None = None,
        lambda_i: float | None = None,
        tau: float | None = None,
        batch_size: int | None = None,
        encoder_lr: float | None = None,
        head_lr: float | None = None,
        max_steps: int | None = None,
        max_epochs: int | None = None,
        delta: float | None = None,
        stop_interval: int | None = None,
        max_fit_texts: int | None = None,
        memory_gb: float | None = None,
        device: str | None = None,
        precision: str | None = None,
        cache_mb: int | None = None,
        cache_folder: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
        self.random_state = random_state
        self.encoder = encoder
        self.imbalance = imbalance
        self.pooling = pooling
        self.max_tokens = max_tokens
        self.trainable_layers = trainable_layers
        self.dropout = dropout
        self.projection_dim = projection_dim
        self.views = views
        self.start = start
        self.words = words
        self.neighbours = neighbours
        self.swaps = swaps
        self.kmeans_starts = kmeans_starts
        self.unit_length = unit_length
        self.rounds = rounds
        self.contrast_steps = contrast_steps
        self.head_start = head_start
        self.labels = labels
        self.eps1 = eps1
        self.eps2 = eps2
        self.transport_method = transport_method
        self.renewals = renewals
        self.first_renewal = first_renewal
        self.noise = noise
        self.class_contrast = class_contrast
        self.lambda_i = lambda_i
        self.tau = tau
        self.batch_size = batch_size
        self.encoder_lr = encoder_lr
        self.head_lr = head_lr
        self.max_steps = max_steps
        self.max_epochs = max_epochs
        self.delta = delta
        self.stop_interval = stop_interval
        self.max_fit_texts = max_fit_texts
        self.memory_gb = memory_gb
        self.device = device
        self.precision = precision
        self.cache_mb = cache_mb
        self.cache_folder = cache_folder

    def config(self) -> Config:
        """Return the preset with the settings that this estimator was given."""
        given = {field.name: getattr(self, field.name) for field in fields(Config) if field.name != "encoder"}
        settings = {name: value for name, value in given.items() if value is not None}
        recipes = [view for view in self.views if isinstance(view, str)] if isinstance(self.views, tuple) else []
        if len(recipes) == 2:
            settings["views"] = ",".join(recipes)
        elif not isinstance(self.views, str):
            settings.pop("views", None)
        if self.imbalance is not None:
            settings["imbalance"] = self.imbalance
        config = make_config(self.preset, settings)
        if self.views is not None and "views" not in settings:
            config = replace(config, views=None)  # a function has no name by which it could be found again
        if self.encoder is not None:
            named = isinstance(self.encoder, (str, Path))
            config = replace(config, encoder=str(self.encoder) if named else type(self.encoder).__name__)
        return config

    def _draws(self, ranks: Ranks) -> np.random.Generator:
        """Return the generator that `random_state` asks for, the same in all processes."""
        seed: Any = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        if not ranks.alone:
            # Generators that are spawned come from the seed, wherever theirs is: all processes must begin with it.
            is_seed = isinstance(seed, (int, np.integer))
            seed = ranks.at_first(lambda: seed if is_seed else int(np.random.default_rng(seed).integers(2**63)))
        return np.random.default_rng(seed)
