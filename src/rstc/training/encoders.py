"""The encoder of a run: chosen by the languages of its texts where none is named, and loaded as the settings say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rstc.config import Config
from rstc.language.detection import measure_languages
from rstc.representation.encoder import Encoder
from rstc.representation.encoder_choice import EncoderChoice, choose_encoder
from rstc.representation.loading import load_encoder
from rstc.runtime.device import choose_device, choose_precision
from rstc.runtime.distributed import ProcessGroup


def choose_run_encoder(texts: Sequence[str], config: Config, processes: ProcessGroup) -> EncoderChoice | None:
    """Choose the encoder by the languages of the texts of all processes; None if it is named."""
    if config.encoder is not None:
        return None
    parts = processes.gather_objects((measure_languages(texts), len(texts)))
    n_texts = sum(n for _, n in parts)
    shares: dict[str, float] = {}
    for part, n in parts:
        for code, share in part.items():
            shares[code] = shares.get(code, 0.0) + share * n / max(n_texts, 1)
    shares = dict(sorted(shares.items(), key=lambda entry: -entry[1]))
    return processes.run_on_first(lambda: choose_encoder(shares))


def load_run_encoder(config: Config, source: Any = None) -> Encoder:
    """Load the encoder of a run to its device.

    Parameters
    ----------
    config : Config
        The settings.
    source : str, Path or SentenceTransformer, optional
        The encoder, if it is not the one of the settings.
    """
    device = choose_device(config.device)
    precision = choose_precision(config.precision, device)
    source = config.encoder if source is None else source
    return load_encoder(source, config.pooling, config.max_tokens, device, precision, prompt=config.prompt)
