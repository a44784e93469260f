"""The fingerprint of a run: runs with equal texts, settings, random state and encoder have equal results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from rstc.config import Config
from rstc.representation.encoder import Encoder, fingerprint_weights
from rstc.representation.views import PrecomputedViews
from rstc.runtime.distributed import ProcessGroup
from rstc.training.inputs import TrainingInputs


def fingerprint_run(
    inputs: TrainingInputs, config: Config, rng: np.random.Generator, processes: ProcessGroup
) -> dict[str, Any]:
    """Compute the fingerprint of a run, which is independent of the number of processes.

    Parameters
    ----------
    inputs : TrainingInputs
        What the run is trained on, with the texts of this process.
    config : Config
        The settings.
    rng : numpy.random.Generator
        The generator of the run before its first draw.
    processes : ProcessGroup
        The processes that share the texts.

    Returns
    -------
    dict
        JSON values by the name of what they identify, such as "texts" or "settings".
    """
    views, encoder = inputs.views, inputs.encoder
    first_row = sum(processes.gather_objects(len(inputs.texts))[: processes.rank])
    precomputed = (views.first, views.second) if isinstance(views, PrecomputedViews) else ()
    augmented = () if isinstance(views, PrecomputedViews) else (views.first, views.second)
    labels = None
    if inputs.partial_labels is not None:
        labels = _sum_digests([_digest([str(label) for label in inputs.partial_labels], first_row)], processes)
    features = None
    if inputs.features is not None:
        features = _sum_digests([_digest([row.tobytes().hex() for row in inputs.features], first_row)], processes)
    return {
        "texts": _sum_digests([_digest(list(inputs.texts), first_row)], processes),
        "views": _sum_digests([_digest(view, first_row) for view in precomputed], processes),
        "labels": labels,
        "features": features,
        "clusters": inputs.n_clusters,
        "settings": config.to_dict(),
        "seed": _to_json(rng.bit_generator.state),
        "augmenters": [_describe_augmenter(view.augmenter) for view in augmented],
        "encoder": f"{fingerprint_weights(encoder.named_weights())} {_digest_tokenizer(encoder)}",
        "device": encoder.device.type,
        "precision": str(encoder.precision),
        "rstc": version("rstc"),
    }


def _describe_augmenter(augmenter: Any) -> str:
    """Describe an augmenter; a function by its name and a hash of its code."""
    function = getattr(augmenter, "function", augmenter)
    code = getattr(function, "__code__", None)
    if code is None:
        return re.sub(r" at 0x[0-9a-f]+", "", repr(augmenter))
    constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
    source = f"{code.co_code!r} {code.co_names} {constants}"
    return f"{function.__module__}.{function.__qualname__} {hashlib.sha256(source.encode()).hexdigest()[:16]}"


def _digest_tokenizer(encoder: Encoder) -> str:
    """Hash the encoder's tokenizer and the modules after the transformer."""
    tokenizer = getattr(encoder.model.tokenizer, "backend_tokenizer", None)
    vocabulary = tokenizer.to_str() if tokenizer is not None else repr(encoder.model.tokenizer)
    modules = [f"{type(module).__name__} {module.get_config_dict()}" for module in list(encoder.model)[1:]]
    prompt = f" {encoder.prompt}" if encoder.prompt else ""
    return hashlib.sha256(f"{vocabulary} {modules}{prompt}".encode()).hexdigest()[:16]


def _digest(texts: Sequence[str], first_row: int) -> int:
    """Hash texts and their rows; the hash is a sum over texts, so the hashes of several processes can be added."""
    return sum(
        int.from_bytes(hashlib.blake2b(f"{row} {text}".encode(errors="surrogatepass"), digest_size=16).digest(), "big")
        for row, text in enumerate(texts, start=first_row)
    )


def _sum_digests(digests: list[int], processes: ProcessGroup) -> str:
    """Add up the digests of all processes."""
    sums = [sum(parts) % 2**128 for parts in zip(*processes.gather_objects(digests), strict=True)]
    return " ".join(f"{total:032x}" for total in sums)


def _to_json(state: Any) -> Any:
    """Turn arrays inside a generator's state into lists."""
    if isinstance(state, dict):
        return {key: _to_json(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state
