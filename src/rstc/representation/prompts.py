"""The prompt that a model expects in front of each text that is clustered, such as "query: "."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

AUTO = "auto"
CLUSTERING = "clustering"  # the name of the prompt for clustering, where a model has one
E5_PROMPT = "query: "  # what its authors say that clustering takes
_E5 = re.compile(r"(^|[/\\])(multilingual-)?e5-(small|base|large)(-v2)?[/\\]?$", re.IGNORECASE)


def choose_prompt(model: SentenceTransformer, source: str, prompt: str = AUTO) -> str:
    """Choose the prompt of a model, and make it the one that the model is saved with.

    Parameters
    ----------
    model : SentenceTransformer
        The model; its prompts are those of its config_sentence_transformers.json.
    source : str
        The folder or the hub name that the model was loaded from.
    prompt : str
        The prompt, or "auto": the model's prompt for clustering, else its default one, else "query: " for a model that
        is named as those of the E5 family, which came without prompts in their files.

    Returns
    -------
    str
        Empty for a model without a prompt.
    """
    if prompt == AUTO:
        prompt = _find_prompt(model, source)
    # A saved model has one prompt for clustering, which is its default one, or none.
    model.prompts = {name: text for name, text in model.prompts.items() if name.lower() != CLUSTERING}
    model.prompts |= {CLUSTERING: prompt} if prompt else {}
    model.default_prompt_name = CLUSTERING if prompt else None
    return prompt


def _find_prompt(model: SentenceTransformer, source: str) -> str:
    """Return the prompt that the model declares, or that its name tells."""
    named = {name.lower(): text for name, text in model.prompts.items() if text}
    if named.get(CLUSTERING):
        return str(named[CLUSTERING])
    if model.default_prompt_name is not None:
        return str(model.prompts.get(model.default_prompt_name) or "")
    return E5_PROMPT if _E5.search(source) else ""


def count_prompt_tokens(model: SentenceTransformer, prompt: str) -> int:
    """Return the number of tokens that a pooling leaves out, because it does not pool those of the prompt; mostly 0."""
    leaves_out = any(getattr(module, "include_prompt", True) is False for module in model)
    if not prompt or not leaves_out:
        return 0
    tokenizer = model.tokenizer
    with_ends, alone = (len(tokenizer(prompt, add_special_tokens=ends)["input_ids"]) for ends in (True, False))
    return alone + (with_ends - alone) // 2  # with the special token in front
