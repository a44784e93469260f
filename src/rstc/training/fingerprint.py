"""What makes a run what it is: with the same texts, settings, draws and encoder, the result is the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.validation.n_clusters import Within
from rstc.training.checkpoint_file import draws_state
from rstc.config import Config
from rstc.runtime.distributed import Ranks
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
    drawn = () if isinstance(views, GivenViews) else (views.first, views.second)
    return {
        "texts": _sum_of_all([_digest(list(texts), first)], ranks),
        "views": _sum_of_all([_digest(view, first) for view in given], ranks),
        "labels": None if known is None else _sum_of_all([_digest([str(one) for one in known], first)], ranks),
        "clusters": n_clusters,
        "settings": config.to_dict(),
        "seed": draws_state(rng),
        "makers": [_maker(view.augmenter) for view in drawn],
        "encoder": f"{fingerprint(encoder.named_parameters())} {_reading(encoder)}",
        "device": encoder.device.type,
        "precision": str(encoder.precision),
        "rstc": version("rstc"),
    }


def _maker(augmenter: Any) -> str:
    """Return what tells an augmenter from another, a function by what it is made of."""
    function = getattr(augmenter, "function", augmenter)
    code = getattr(function, "__code__", None)
    if code is None:
        return re.sub(r" at 0x[0-9a-f]+", "", repr(augmenter))
    made_of = f"{code.co_code!r} {code.co_names} {[one for one in code.co_consts if not hasattr(one, 'co_code')]}"
    return f"{function.__module__}.{function.__qualname__} {hashlib.sha256(made_of.encode()).hexdigest()[:16]}"


def _reading(encoder: Encoder) -> str:
    """Return what tells how an encoder reads texts, beside its weights: its tokenizer and its modules."""
    tokenizer = getattr(encoder.model.tokenizer, "backend_tokenizer", None)
    words = tokenizer.to_str() if tokenizer is not None else repr(encoder.model.tokenizer)
    modules = [f"{type(module).__name__} {module.get_config_dict()}" for module in list(encoder.model)[1:]]
    return hashlib.sha256(f"{words} {modules}".encode()).hexdigest()[:16]


def _digest(texts: Sequence[str], first: int) -> int:
    """Return what tells texts from others by what they say and where they stand, as a sum over them."""
    return sum(
        int.from_bytes(hashlib.blake2b(f"{row} {text}".encode(errors="surrogatepass"), digest_size=16).digest(), "big")
        for row, text in enumerate(texts, start=first)
    )


def _sum_of_all(digests: list[int], ranks: Ranks) -> str:
    sums = [sum(one) % 2**128 for one in zip(*ranks.every(digests), strict=True)]
    return " ".join(f"{one:032x}" for one in sums)
