"""Two changed versions of each text, made outside of training: to look at, to keep, to give to a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rstc.config import Config
from rstc.errors import InputError
from rstc.runtime.device import choose_device
from rstc.runtime.progress import Listener, Progress
from rstc.representation.augmenters.base import Tools
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.representation.view_specs import TO_WRITE
from rstc.representation.views import AskedView, drawn_views
from rstc.io.columns import as_texts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Version = list[str | None]


def augment(
    texts: Sequence[Any],
    views: AskedView | tuple[AskedView, AskedView] = TO_WRITE,
    *,
    random_state: int | np.random.Generator | None = 0,
    encoder: str | Path | SentenceTransformer | None = None,
    device: str = "auto",
    progress: Listener | None = None,
) -> tuple[Version, Version]:
    """Return two changed versions of each text, in order; None where there is no text.

    Args:
        texts: missing or empty ones may be among them.
        views: a recipe such as "deletion@0.2+typos", a function of texts, or two of these, one for each version.
        random_state: a seed or a numpy generator.
        encoder: the Sentence-Transformers model that some ways need; None: the embedded one.
        device: where it computes.
        progress: called with (stage, done, total) as the work goes on.

    >>> augment(["the parcel never came", None, "help"], "deletion@0.5")
    (['the', None, 'help'], ['the parcel never came', None, 'help'])
    """
    given = as_texts(texts)
    present = [i for i, text in enumerate(given) if text is not None]
    some = [text for text in given if text is not None]
    if not some:
        raise InputError("there are no texts to change")
    asked = drawn_views(some, views)
    if not asked.changes_texts or any(view.cutoff.share for view in (asked.first, asked.second)):
        raise InputError(f"views={views!r} makes views inside the encoder, while it learns: there is no text to write")
    timing = Progress(progress)
    where, settings = choose_device(device), Config()

    def load() -> Encoder:
        with timing.stage("load"):
            return load_encoder(encoder, settings.pooling, settings.max_tokens, where)

    with timing.stage("views"):
        rng = np.random.default_rng(random_state)
        # As in training, which draws from a generator of its own: the same seed makes the same versions.
        made = asked.prepared(Tools(load, where, timing.advance), rng.spawn(1)[0]).draw(rng)
    return _spread(made[0], present, len(given)), _spread(made[1], present, len(given))


def _spread(made: Sequence[str], present: Sequence[int], total: int) -> Version:
    """Put texts among those that are missing."""
    found: Version = [None] * total
    for place, text in zip(present, made, strict=True):
        found[place] = text
    return found
