"""The encoder split in two: frozen lower layers, whose output can be cached, and trainable upper layers.

The split works for any architecture. The lower part is the model's own forward pass, stopped by a hook at the first
trainable layer. The upper part is the same pass with the frozen layers replaced by the identity, and the hidden states
injected by a hook in front of the first trainable layer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rstc.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FLOAT16_MAX = torch.finfo(torch.float16).max
MAX_RELATIVE_ERROR = 0.01  # of the two parts against the whole model; half precision is good to a thousandth

# Hooks change the layers for all threads, so that only one thread may register them at a time.
_hook_lock = threading.RLock()
_local = threading.local()  # hidden states at which the forward pass of this thread starts


class LayerSplit:
    """A Sentence-Transformers model whose last transformer layers run separately from the layers below.

    Without trainable layers, the split is above the transformer: the upper part is the pooling alone. `run_lower` is
    called inside `stop_at_split`, and `run_upper` inside `start_at_split`, by the thread that entered it or by workers
    of that thread.

    Parameters
    ----------
    model : SentenceTransformer
        The model.
    n_trainable : int
        Number of trainable layers, which are the last ones of the transformer.
    further_features : mapping, optional
        What the model's modules get beside hidden states and attention mask.

    Attributes
    ----------
    frozen_layers, trainable_layers : list of nn.Module
        The transformer layers below and above the split.
    """

    def __init__(
        self, model: SentenceTransformer, n_trainable: int, further_features: Mapping[str, Any] | None = None
    ) -> None:
        layers = list(find_transformer_layers(model))
        if n_trainable > len(layers):
            raise InputError(f"trainable_layers={n_trainable}, but the encoder has {len(layers)} layers")
        self._model, self._further_features = model, further_features or {}
        split = len(layers) - n_trainable
        self.frozen_layers, self.trainable_layers = layers[:split], layers[split:]
        self._layers_return_tuple = False

    @torch.no_grad()
    def run_lower(self, features: dict[str, Tensor]) -> Tensor:
        """Return the hidden states (B, L, D) at the split, in half precision."""
        states: Tensor
        if not self.trainable_layers:
            states = self._model[0](features.copy())["token_embeddings"]
        else:
            try:
                self._model(features.copy())
            except _SplitReached as reached:
                states = reached.states
            else:
                raise RuntimeError("the model's forward pass does not run its list of layers")
        return states.float().clamp(-FLOAT16_MAX, FLOAT16_MAX).half()

    def run_upper(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the embeddings (B, D) of texts by their hidden states (B, L, D) and attention mask (B, L)."""
        features = {"attention_mask": mask, **self._further_features}
        if self.trainable_layers:
            _local.states = states.float()
            features["input_ids"] = torch.zeros_like(mask)  # arbitrary: the output of the lower layers is replaced
            E: Tensor = self._model(features)["sentence_embedding"]
            return E
        features["token_embeddings"] = states.float()
        for module in list(self._model)[1:]:
            features = module(features)
        return features["sentence_embedding"]

    def matches_whole_model(self, features: dict[str, Tensor]) -> bool:
        """Check that the two parts in sequence return the embeddings of the whole model."""
        try:
            with torch.no_grad():
                whole = self._model(features.copy())["sentence_embedding"].float()
                with self.stop_at_split():
                    states = self.run_lower(features)
                with self.start_at_split():
                    parts = self.run_upper(states, features["attention_mask"]).float()
        except Exception:  # a model that cannot be split may raise anything
            return False
        return bool((whole - parts).norm() < MAX_RELATIVE_ERROR * whole.norm())

    @contextmanager
    def stop_at_split(self) -> Iterator[None]:
        """Stop forward passes at the split, for `run_lower`."""
        with _hook_lock, ExitStack() as stack:
            if self.trainable_layers:
                hook = self.trainable_layers[0].register_forward_pre_hook(_stop_forward, with_kwargs=True)
                stack.callback(hook.remove)
            if self.trainable_layers and self.frozen_layers:
                stack.callback(self.frozen_layers[-1].register_forward_hook(self._record_output_type).remove)
            yield

    @contextmanager
    def start_at_split(self) -> Iterator[None]:
        """Start forward passes at the split, for `run_upper`: the frozen layers return their input."""

        def identity(*args: Any, **kwargs: Any) -> Any:
            return (_get_states(args, kwargs),) if self._layers_return_tuple else _get_states(args, kwargs)

        with _hook_lock, ExitStack() as stack:
            if self.trainable_layers:
                hook = self.trainable_layers[0].register_forward_pre_hook(_inject_states, with_kwargs=True)
                stack.callback(hook.remove)
                for layer in self.frozen_layers:
                    stack.enter_context(_replace_forward(layer, identity))
            yield

    def _record_output_type(self, layer: nn.Module, args: Any, output: Any) -> None:
        """Record whether the model's layers return hidden states alone or as the first item of a tuple."""
        self._layers_return_tuple = isinstance(output, tuple)


def find_transformer_layers(model: SentenceTransformer) -> nn.ModuleList:
    """Return the transformer's stack of layers: its first list of modules of one type."""
    for module in model[0].modules():
        if isinstance(module, nn.ModuleList) and len({type(layer) for layer in module}) == 1:
            return module
    raise InputError("trainable_layers needs a transformer with a list of layers; this encoder has none: use 'all'")


@contextmanager
def _replace_forward(layer: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Replace a layer's forward method and restore it at the end."""
    original = vars(layer).get("forward")
    layer.forward = forward
    try:
        yield
    finally:
        del layer.forward
        if original is not None:
            layer.forward = original


class _SplitReached(Exception):  # noqa: N818, it is no error
    """Carries the hidden states out of a forward pass that is stopped at the split."""

    def __init__(self, states: Tensor) -> None:
        self.states = states


def _stop_forward(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Stop the forward pass in front of a layer."""
    raise _SplitReached(_get_states(args, kwargs))


def _inject_states(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Replace the hidden states among a layer's arguments by this thread's."""
    if args:
        return (_local.states, *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": _local.states}


def _get_states(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return the hidden states among a layer's arguments."""
    states: Tensor = args[0] if args else kwargs["hidden_states"]
    return states
