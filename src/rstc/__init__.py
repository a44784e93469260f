"""Robust clustering of short texts: a sentence encoder trained on labels from self-adaptive optimal transport.

The public names are imported when they are first used, so that `import rstc` loads no heavy library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rstc.config import Config as Config
    from rstc.errors import CacheWarning as CacheWarning
    from rstc.errors import CheckpointWarning as CheckpointWarning
    from rstc.errors import CollapseWarning as CollapseWarning
    from rstc.errors import InputError as InputError
    from rstc.errors import LevelWarning as LevelWarning
    from rstc.errors import MissingTextWarning as MissingTextWarning
    from rstc.errors import RetryWarning as RetryWarning
    from rstc.errors import RstcWarning as RstcWarning
    from rstc.errors import TransportWarning as TransportWarning
    from rstc.errors import UnusedSettingWarning as UnusedSettingWarning
    from rstc.estimator import RSTC as RSTC
    from rstc.persistence.onnx_model import OnnxModel as OnnxModel
    from rstc.pipelines.augment import augment as augment
    from rstc.pipelines.saved_model import SavedModel as SavedModel
    from rstc.pseudo_labels.transport.saot import Transport as Transport
    from rstc.pseudo_labels.transport.saot import saot as saot
    from rstc.representation.augmenters.base import Composed as Composed
    from rstc.representation.augmenters.contextual import ContextualSubstitution as ContextualSubstitution
    from rstc.representation.augmenters.contextual import LearnedSubstitution as LearnedSubstitution
    from rstc.representation.augmenters.nearest import NearestTexts as NearestTexts
    from rstc.representation.augmenters.nearest import Synonyms as Synonyms
    from rstc.representation.augmenters.word_noise import Typos as Typos
    from rstc.representation.augmenters.word_noise import WordDeletion as WordDeletion
    from rstc.representation.augmenters.word_noise import WordSwap as WordSwap
    from rstc.saot_clustering import SAOTClustering as SAOTClustering

_LAZY_NAMES = {  # the module below rstc that defines each public name
    "RSTC": "estimator",
    "SAOTClustering": "saot_clustering",
    "OnnxModel": "persistence.onnx_model",
    "SavedModel": "pipelines.saved_model",
    "Config": "config",
    "saot": "pseudo_labels.transport.saot",
    "Transport": "pseudo_labels.transport.saot",
    "ContextualSubstitution": "representation.augmenters.contextual",
    "LearnedSubstitution": "representation.augmenters.contextual",
    "NearestTexts": "representation.augmenters.nearest",
    "Synonyms": "representation.augmenters.nearest",
    "Typos": "representation.augmenters.word_noise",
    "WordDeletion": "representation.augmenters.word_noise",
    "WordSwap": "representation.augmenters.word_noise",
    "Composed": "representation.augmenters.base",
    "augment": "pipelines.augment",
    "InputError": "errors",
    "RstcWarning": "errors",
    "TransportWarning": "errors",
    "MissingTextWarning": "errors",
    "CollapseWarning": "errors",
    "CacheWarning": "errors",
    "CheckpointWarning": "errors",
    "LevelWarning": "errors",
    "RetryWarning": "errors",
    "UnusedSettingWarning": "errors",
}
__all__ = sorted(_LAZY_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module 'rstc' has no attribute {name!r}")
    return getattr(import_module(f"rstc.{_LAZY_NAMES[name]}"), name)
