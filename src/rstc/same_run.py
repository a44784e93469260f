"""What makes a run what it is: with the same texts, settings, draws and encoder, the result is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.asked import Within
from rstc.checkpoints import draws_state
from rstc.config import Config
from rstc.ranks import Ranks
from rstc.representation.encoder import Encoder
from rstc.representation.shelf import fingerprint
from rstc.representation.views import GivenViews, Views


def run_facts(
    texts: Sequence[str],
    views: Views,
    encoder: Encoder,
    n_clusters: int | Within,
    config: Config,
    rng: np.random.Generator,
    ranks: Ranks,
    known: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Return what a run is made of, as JSON can hold it, however many processes share the texts."""
    first = sum(ranks.every(len(texts))[: ranks.rank])
    given = (views.first, views.second) if isinstance(views, GivenViews) else ()
    return {
        "texts": _sum_of_all([_digest(list(texts), first)], ranks),
        "views": _sum_of_all([_digest(view, first) for view in given], ranks),
        "labels": None if known is None else _sum_of_all([_digest([str(one) for one in known], first)], ranks),
        "clusters": n_clusters,
        "settings": config.to_dict(),
        "seed": draws_state(rng),
        "encoder": fingerprint(encoder.named_parameters()),
        "device": encoder.device.type,
        "precision": str(encoder.precision),
        "rstc": version("rstc"),
    }


def _digest(texts: Sequence[str], first: int) -> int:
    """Return what tells texts from others by what they say and where they stand, as a sum over them."""
    return sum(
        int.from_bytes(hashlib.blake2b(f"{row} {text}".encode(errors="surrogatepass"), digest_size=16).digest(), "big")
        for row, text in enumerate(texts, start=first)
    )


def _sum_of_all(digests: list[int], ranks: Ranks) -> str:
    sums = [sum(one) % 2**128 for one in zip(*ranks.every(digests), strict=True)]
    return " ".join(f"{one:032x}" for one in sums)
