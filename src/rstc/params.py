"""The parameters of `RSTC` as scikit-learn wants them: one for each setting, stored unchanged, documented by `help`."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from rstc.config import SETTINGS, Config, Imbalance, make_config
from rstc.representation.views import ViewLike
from rstc.runtime.distributed import ProcessGroup

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Class = TypeVar("Class", bound=type)


class RSTCParams(BaseEstimator):
    """The parameters of `RSTC`, and the `Config` and the random generator that follow from them.

    The signature of `__init__` is written out for editors and type checkers; tools/generate_docs.py keeps the settings
    in it equal to those of `Config`.
    """

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] = "auto",
        *,
        preset: str = "default",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        imbalance: Imbalance | None = None,
        encoder: str | Path | SentenceTransformer | None = None,
        views: ViewLike | tuple[ViewLike, ViewLike] | None = None,
        # settings:start, written by tools/generate_docs.py
        pooling: Literal["auto", "mean", "cls", "max", "model"] | None = None,
        prompt: str | None = None,
        max_tokens: int | Literal["auto"] | None = None,
        trainable_layers: int | Literal["all"] | None = None,
        dropout: float | None = None,
        projection_dim: int | None = None,
        start: Literal["auto", "kmeans", "spectral", "linkage"] | None = None,
        words: float | Literal["auto"] | None = None,
        static: float | Literal["auto"] | None = None,
        static_vectors: str | None = None,
        neighbours: int | None = None,
        swaps: bool | None = None,
        kmeans_starts: int | None = None,
        unit_length: bool | None = None,
        rounds: int | None = None,
        contrast_steps: int | None = None,
        head_start: float | None = None,
        labels: Literal["crossfit", "saot", "ot-random", "ot-uniform", "ot-average", "ot-average-released", "ot-near"]
        | None = None,
        eps1: float | None = None,
        eps2: float | Literal["auto"] | None = None,
        transport_method: Literal["newton", "alternating", "literal"] | None = None,
        renewals: int | None = None,
        first_renewal: int | None = None,
        noise: float | None = None,
        repeats: int | None = None,
        detail: Literal["auto", "coarse", "medium", "fine"] | None = None,
        class_contrast: bool | None = None,
        lambda_i: float | None = None,
        tau: float | None = None,
        batch_size: int | None = None,
        encoder_lr: float | None = None,
        head_lr: float | None = None,
        training: Literal["auto", "always", "never"] | None = None,
        max_steps: int | None = None,
        max_epochs: int | None = None,
        delta: float | None = None,
        stop_interval: int | None = None,
        row_order: Literal["hash", "given"] | None = None,
        max_fit_texts: int | None = None,
        memory_gb: float | None = None,
        device: str | None = None,
        precision: Literal["auto", "float32", "bfloat16", "float16"] | None = None,
        cache_mb: int | None = None,
        cache_folder: str | None = None,
        # settings:end
    ) -> None:
        arguments = locals()
        self.n_clusters = n_clusters
        self.preset = preset
        self.random_state = random_state
        self.imbalance = imbalance
        self.encoder = encoder
        self.views = views
        for name in SETTINGS:
            setattr(self, name, arguments[name])

    def config(self) -> Config:
        """Return the settings that a fit uses: those of the preset, changed by the parameters that are not None."""
        changes = {name: getattr(self, name) for name in SETTINGS if name not in ("encoder", "views")}
        changes = {name: value for name, value in changes.items() if value is not None}
        if self.imbalance is not None:
            changes["imbalance"] = self.imbalance
        if isinstance(self.views, tuple) and all(isinstance(view, str) for view in self.views):
            changes["views"] = ",".join(map(str, self.views))
        elif isinstance(self.views, str):
            changes["views"] = self.views
        config = make_config(self.preset, changes)
        if self.views is not None and "views" not in changes:
            config = replace(config, views=None)  # functions cannot be named in a file
        if self.encoder is not None:
            is_name = isinstance(self.encoder, (str, Path))
            config = replace(config, encoder=str(self.encoder) if is_name else type(self.encoder).__name__)
        return config

    def _make_generator(self, processes: ProcessGroup) -> np.random.Generator:
        """Return the generator of `random_state`, the same one in all processes."""
        seed: Any = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        if not processes.is_single:
            # Generators spawned from it depend on its seed sequence, not on its state: all processes need equal seeds.
            is_seed = isinstance(seed, (int, np.integer))
            seed = processes.run_on_first(lambda: seed if is_seed else int(np.random.default_rng(seed).integers(2**63)))
        return np.random.default_rng(seed)


def document_settings(estimator: Class) -> Class:
    """Add every setting that the docstring of a class leaves out to its section "Parameters".

    The section must be followed by the section "Attributes".
    """
    if estimator.__doc__ is None:  # python -OO
        return estimator
    before, attributes, after = inspect.cleandoc(estimator.__doc__).partition("\n\nAttributes\n----------\n")
    assert attributes, f"the docstring of {estimator.__name__} has no section Attributes"
    missing = [entry.documentation for name, entry in SETTINGS.items() if f"\n{name} : " not in before]
    estimator.__doc__ = "\n".join([before, *missing]) + attributes + after
    return estimator
