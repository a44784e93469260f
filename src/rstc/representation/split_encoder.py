"""The encoder cut in two: the lower layers, which stay as they are, and the upper ones, which learn.

The two parts run apart, so that what the lower one gives can be kept. No architecture is spelled out here: the lower
part is the model's own forward pass, left at the layer above the cut; the upper part is the same pass with the layers
below the cut handing on what they get, and the kept states slipped in above them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from rstc.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

HALF_MAX = torch.finfo(torch.float16).max

# While a part runs apart, the model's layers behave differently, for whoever uses them: one caller at a time.
_one_at_a_time = threading.RLock()
_mine = threading.local()  # the states that this thread's pass is entered with


class Cut:
    """A Sentence-Transformers model whose last `learning` transformer layers run apart from what is below.

    With no learning layer the cut is above the transformer: the upper part is the pooling alone. Passes through a part
    are made inside `parting` or `entering`, by the thread that opened it or by workers of its.
    """

    def __init__(self, model: SentenceTransformer, learning: int) -> None:
        layers = list(transformer_layers(model))
        if learning > len(layers):
            raise InputError(f"trainable_layers={learning}, but the encoder has {len(layers)} layers")
        self._model = model
        self.frozen, self.learning = layers[: len(layers) - learning], layers[len(layers) - learning :]
        self._gives_tuple = False

    @torch.no_grad()
    def lower(self, features: dict[str, Tensor]) -> Tensor:
        """Return the states (B, L, D) that arrive at the cut, in half precision."""
        states: Tensor
        if not self.learning:
            states = self._model[0](features.copy())["token_embeddings"]
        else:
            try:
                self._model(features.copy())
            except _AtCut as arrived:
                states = arrived.states
            else:
                raise RuntimeError("the model's forward pass does not come through its list of layers")
        return states.float().clamp(-HALF_MAX, HALF_MAX).half()

    def upper(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the embeddings (B, D) that the upper part makes of states (B, L, D)."""
        features = {"attention_mask": mask}
        if self.learning:
            _mine.states = states.float()
            features["input_ids"] = torch.zeros_like(mask)  # read by nobody: the embeddings' output is replaced
            E: Tensor = self._model(features)["sentence_embedding"]
            return E
        features["token_embeddings"] = states.float()
        for module in list(self._model)[1:]:
            features = module(features)
        return features["sentence_embedding"]

    def works(self, features: dict[str, Tensor]) -> bool:
        """Tell whether both parts, one after the other, do what the whole model does."""
        try:
            with torch.no_grad():
                whole = self._model(features.copy())["sentence_embedding"].float()
                with self.parting():
                    states = self.lower(features)
                with self.entering():
                    parts = self.upper(states, features["attention_mask"]).float()
        except Exception:  # whatever a model that is not made this way may raise
            return False
        return bool((whole - parts).norm() < 0.01 * whole.norm())  # half precision is good to a thousandth

    @contextmanager
    def parting(self) -> Iterator[None]:
        """Let passes end at the cut, for `lower`."""
        with _one_at_a_time, ExitStack() as hooks:
            if self.learning:
                hooks.enter_context(_hook(self.learning[0].register_forward_pre_hook(_leave, with_kwargs=True)))
            if self.learning and self.frozen:
                hooks.enter_context(_hook(self.frozen[-1].register_forward_hook(self._note_kind)))
            yield

    @contextmanager
    def entering(self) -> Iterator[None]:
        """Let passes begin at the cut, for `upper`: the layers below it hand on what they get."""

        def hand_on(*args: Any, **kwargs: Any) -> Any:
            return (_states_of(args, kwargs),) if self._gives_tuple else _states_of(args, kwargs)

        with _one_at_a_time, ExitStack() as hooks:
            if self.learning:
                hooks.enter_context(_hook(self.learning[0].register_forward_pre_hook(_slip_in, with_kwargs=True)))
                for layer in self.frozen:
                    hooks.enter_context(_in_place_of_forward(layer, hand_on))
            yield

    def _note_kind(self, layer: nn.Module, args: Any, output: Any) -> None:
        """Note whether layers of this model give their states alone or as the first of several things."""
        self._gives_tuple = isinstance(output, tuple)


@contextmanager
def _hook(handle: RemovableHandle) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _in_place_of_forward(layer: nn.Module, other: Callable[..., Any]) -> Iterator[None]:
    own = vars(layer).get("forward")
    layer.forward = other
    try:
        yield
    finally:
        del layer.forward
        if own is not None:
            layer.forward = own


class _AtCut(Exception):  # noqa: N818, it is no error
    """Leaves a forward pass at the cut."""

    def __init__(self, states: Tensor) -> None:
        self.states = states


def _leave(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise _AtCut(_states_of(args, kwargs))


def _slip_in(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args:
        return (_mine.states, *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": _mine.states}


def _states_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return the states among a layer's arguments."""
    states: Tensor = args[0] if args else kwargs["hidden_states"]
    return states


def transformer_layers(model: SentenceTransformer) -> nn.ModuleList:
    """Find the stack of layers: the first list of modules of one kind inside the transformer."""
    for module in model[0].modules():
        if isinstance(module, nn.ModuleList) and len({type(layer) for layer in module}) == 1:
            return module
    raise InputError("trainable_layers needs a transformer with a list of layers; this encoder has none: use 'all'")
