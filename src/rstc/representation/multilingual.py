"""The multilingual encoder: the weights of `multilingual_files` in the network of `ngram_encoder`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from rstc.io.atomic import read_json
from rstc.representation.folder_checks import MODULES_FILE, OWN_MODULES
from rstc.representation.multilingual_files import VOCABULARY, WEIGHTS, find_multilingual_files

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from rstc.representation.ngram_encoder import NgramEncoder, NgramPooling

PROMPTS_FILE = "config_sentence_transformers.json"
N_GROUPS = 17  # of tokens, which are quantized separately
_DENSE_LAYERS = {  # names of the pooling's matrices in the file
    "first.inner": "d0",
    "first.outer": "d1",
    "first.shortcut": "p1",
    "second.inner": "d2",
    "second.outer": "d3",
    "second.shortcut": "p3",
}


def open_multilingual(device: str) -> SentenceTransformer:
    """Build the multilingual encoder from the files of its package."""
    from sentence_transformers import SentenceTransformer

    from rstc.representation.ngram_encoder import NgramEncoder, NgramPooling
    from rstc.representation.unigram_tokenizer import convert_unigram, parse_sentencepiece

    files = find_multilingual_files()
    tokenizer = convert_unigram(parse_sentencepiece(files[VOCABULARY].read_bytes()))
    with np.load(files[WEIGHTS], allow_pickle=False) as stored:
        groups = [stored[f"q{number}"] for number in range(1, N_GROUPS + 1)]
        vocab_size, dim = sum(map(len, groups)), groups[0].shape[1]
        encoder, pooling = NgramEncoder(tokenizer, vocab_size, dim, n_groups=N_GROUPS), NgramPooling()
        arrays = {name: stored[name] for name in stored.files if not name.startswith("q")}
    with torch.no_grad():
        for number, values in enumerate(groups):
            encoder.table[number::N_GROUPS] = torch.from_numpy(values)
        _copy_encoder_weights(encoder, arrays)
        _copy_pooling_weights(pooling, arrays)
    return SentenceTransformer(modules=[encoder, pooling], device=device)


def open_ngram_folder(folder: Path, device: str) -> SentenceTransformer:
    """Open a folder that an encoder of n-grams was saved to; `SentenceTransformer` opens its own modules only."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import import_from_string

    from rstc.representation.ngram_encoder import NgramEncoder, NgramPooling

    modules: list[Any] = [NgramEncoder.load(str(folder))]
    for entry in read_json(folder / MODULES_FILE)[1:]:
        is_own = entry["type"] in OWN_MODULES
        modules.append((NgramPooling if is_own else import_from_string(entry["type"])).load(str(folder), entry["path"]))
    path = folder / PROMPTS_FILE
    settings = read_json(path) if path.is_file() else {}
    prompts, default = settings.get("prompts"), settings.get("default_prompt_name")
    return SentenceTransformer(modules=modules, device=device, prompts=prompts, default_prompt_name=default)


def _copy_encoder_weights(encoder: NgramEncoder, arrays: dict[str, np.ndarray]) -> None:
    """Copy the weights of a text's n-grams; those of all lengths lie in one matrix."""
    from rstc.representation.ngram_encoder import N_GRAMS

    def join(name: str) -> Tensor:
        return torch.from_numpy(np.concatenate([arrays[name.format(n)] for n in N_GRAMS], axis=-1))

    encoder.scale.copy_(torch.from_numpy(arrays["scale"]))
    encoder.offset.copy_(torch.from_numpy(arrays["lo"]))
    encoder.projection.weight.copy_(join("proj{}").T)
    encoder.projection.bias.copy_(join("proj_b{}"))
    _copy(encoder.projection_norm, join("ln_g{}"), join("ln_b{}"))
    for number, layer in enumerate(encoder.layers, start=1):
        for n, product in zip(N_GRAMS, layer.products, strict=True):  # type: ignore[arg-type]
            weights, bias = arrays[f"w{number}_{n}"], arrays[f"b{number}_{n}"]
            _copy(product, torch.from_numpy(weights).T, torch.from_numpy(bias))
    _copy(encoder.norm, torch.from_numpy(arrays["ln_g"]), torch.from_numpy(arrays["ln_b"]))


def _copy_pooling_weights(pooling: NgramPooling, arrays: dict[str, np.ndarray]) -> None:
    """Copy the weights of the layers above the sum over a text's tokens."""
    _copy(pooling.projection, torch.from_numpy(arrays["cnn_W"]).T, torch.from_numpy(arrays["cnn_b"]))
    for layer, name in _DENSE_LAYERS.items():
        pooling.get_submodule(layer).weight.copy_(torch.from_numpy(arrays[name]).T)  # type: ignore[operator]


def _copy(layer: nn.Module, weight: Tensor, bias: Tensor) -> None:
    """Copy weight and bias of a layer; shapes that differ raise an error."""
    for parameter, values in ((layer.weight, weight), (layer.bias, bias)):
        assert isinstance(parameter, Tensor)
        parameter.copy_(values)
