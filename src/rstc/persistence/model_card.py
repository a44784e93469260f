"""The card of a saved model, README.md in its folder: what the model is, how it was trained, and its limits."""

from __future__ import annotations

from collections.abc import Mapping

from rstc.persistence.fitted_model import FittedModel

MAX_CLASS_LENGTH = 60  # characters of a class name
MARKUP = frozenset("|\n\r[]<>`")  # characters that would end a table row or begin a link

HEADER = """---
library_name: rstc
tags:
- short-text-clustering
- text-clustering
- sentence-transformers
---
"""


def render_card(model: FittedModel, versions: Mapping[str, str]) -> str:
    """Render the card of a model as Markdown.

    Parameters
    ----------
    model : FittedModel
        The model.
    versions : mapping
        Versions of Python and of the packages, by name.

    Returns
    -------
    str
    """
    config = model.config.to_dict()
    shares = sorted(model.class_distribution.tolist(), reverse=True)
    rows = {
        "texts": f"{model.n_texts:,}, of which {model.n_trained:,} were trained on",
        "clusters": f"{model.n_clusters}, {_describe_n_clusters(model)}",
        "shares of the largest and the smallest cluster": f"{shares[0]:.1%}, {shares[-1]:.2%}",
        "encoder": f"{model.config.encoder or 'all-MiniLM-L6-v2'}, {model.config.trainable_layers} layer(s) trained",
        "steps": f"{model.n_iter}{', converged' if model.converged else ''}",
        "preset, seed": f"{model.preset}, {model.random_state}",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    classes = [str(label) for label in model.classes or [] if label is not None]
    if classes:
        rows["given classes"] = ", ".join(_remove_markup(label) for label in classes)
    confidence = (
        "Its confidence is the head's own probability and far too high: use it to rank texts."
        if model.confidence_model is None
        else "Its confidence estimates how likely the same cluster is if the analysis is repeated on other texts of "
        "the same kind, not how likely it is that the cluster is what you would call right."
    )
    outliers = "outliers get -1" if model.config.noise else "including texts that fit none"
    return "\n".join(
        [
            HEADER,
            f"# {model.n_clusters} clusters of short texts",
            "",
            "A sentence encoder with a head that predicts the cluster of a short text, trained by rstc (robust short "
            "text clustering with self-adaptive optimal transport; Zheng et al., ACL 2023).",
            "",
            "```python",
            "from rstc import RSTC",
            "",
            'model = RSTC.load("this-folder")  # or its name on the hub',
            'model.predict(["where is my parcel"])',
            "",
            "from sentence_transformers import SentenceTransformer",
            "",
            f'SentenceTransformer("this-folder/encoder"{_name_options(model)})  # the learned embedding alone',
            "```",
            "",
            "## Training",
            "",
            "| | |",
            "| --- | --- |",
            *(f"| {name} | {value} |" for name, value in rows.items()),
            "",
            "All settings:",
            "",
            *(f"- {name}: {value}" for name, value in config.items() if name != "encoder"),
            "",
            "## Limits",
            "",
            f"- It reads the first {model.network.encoder.max_tokens} tokens of a text and assigns every text to a "
            f"cluster ({outliers}).",
            "- Its clusters are those of the texts it was trained on. Texts of another kind or of a later time are "
            "assigned to the same clusters.",
            f"- {confidence}",
            "- No labels were used unless classes are given above, and its accuracy was not measured: compare it with "
            "labelled texts (`rstc evaluate`).",
            "- The texts are not stored in this folder, but the names of the clusters are made of their words, and the "
            "encoder may have memorized parts of them.",
            "",
        ]
    )


def _describe_n_clusters(model: FittedModel) -> str:
    search = model.n_clusters_search
    return "as given" if search is None else f"estimated from the texts ({search.low} to {search.high} fit as well)"


def _name_options(model: FittedModel) -> str:
    """Return what `SentenceTransformer` needs to open the encoder; an encoder of n-grams has classes of rstc."""
    is_own = type(model.network.encoder.model[0]).__module__.startswith("rstc.")
    return ", trust_remote_code=True" if is_own else ""


def _remove_markup(label: str) -> str:
    """Return a class name that neither ends a table row nor begins a link."""
    return "".join(character for character in label if character not in MARKUP)[:MAX_CLASS_LENGTH]
