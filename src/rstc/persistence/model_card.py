"""The card of a saved model, README.md in its folder: what the model is, how it was trained, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from rstc.persistence.fitted_model import FittedModel
from rstc.representation.bundled_files import HUB_NAME
from rstc.representation.encoder_choice import BUNDLED_NAME
from rstc.representation.multilingual_files import MULTILINGUAL_NAME
from rstc.runtime.hub import find_hub_name

MAX_CLASS_LENGTH = 60  # characters of a class name
MARKUP = frozenset("|\n\r[]<>`")  # characters that would end a table row or begin a link

TAGS = ("short-text-clustering", "text-clustering", "sentence-transformers")
ENCODER_LICENSE = "apache-2.0"  # of the encoders that rstc brings, whose weights the model holds


def render_card(model: FittedModel, versions: Mapping[str, str], license: str | None = None) -> str:
    """Render the card of a model as Markdown.

    Parameters
    ----------
    model : FittedModel
        The model.
    versions : mapping
        Versions of Python and of the packages, by name.
    license : str, optional
        The model's license; by default that of its encoder, if rstc brought it.

    Returns
    -------
    str
    """
    config, encoder = model.config.to_dict(), show_encoder(model.config.encoder) or BUNDLED_NAME
    shares = sorted(model.class_distribution.tolist(), reverse=True)
    rows = {
        "texts": f"{model.n_texts:,}, of which {model.n_trained:,} were trained on",
        "clusters": f"{model.n_clusters}, {_describe_n_clusters(model)}",
        "shares of the largest and the smallest cluster": f"{shares[0]:.1%}, {shares[-1]:.2%}",
        "encoder": f"{encoder}, {model.config.trainable_layers} layer(s) trained",
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
            render_metadata(model, license),
            "",
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


def render_metadata(model: FittedModel, license: str | None = None) -> str:
    """Render the metadata that the hub reads at the top of a card, as YAML.

    Parameters
    ----------
    model : FittedModel
        The model.
    license : str, optional
        The model's license; by default that of its encoder, if rstc brought it.
    """
    encoder = model.config.encoder
    license = license or (ENCODER_LICENSE if encoder in (None, BUNDLED_NAME, MULTILINGUAL_NAME) else None)
    base_model = find_base_model(encoder)
    lines = ["library_name: rstc", "pipeline_tag: text-classification"]
    if model.languages:
        # In quotes: Norwegian's code would be the word for false.
        lines += ["language:", *(f"- '{code}'" for code in model.languages)]
    if license:
        lines.append(f"license: {license}")
    if base_model:
        lines.append(f"base_model: {base_model}")
    return "\n".join(["---", *lines, "tags:", *(f"- {tag}" for tag in TAGS), "---"])


def find_base_model(encoder: str | None) -> str | None:
    """Return the name on the hub of the model that the setting `encoder` means; None if it has none.

    >>> find_base_model(None), find_base_model("intfloat/e5-small"), find_base_model("/srv/encoders/own")
    ('sentence-transformers/all-MiniLM-L6-v2', 'intfloat/e5-small', None)
    """
    if encoder in (None, BUNDLED_NAME):
        return HUB_NAME
    name = find_hub_name(str(encoder))
    return name if name and "/" in name else None  # other words name the type of an object


def show_encoder(encoder: str | None) -> str | None:
    """Return the setting `encoder` without the path of a folder, which says how a machine is laid out.

    >>> show_encoder("/home/somebody/encoders/own"), show_encoder("intfloat/e5-small"), show_encoder(None)
    ('own', 'intfloat/e5-small', None)
    """
    return encoder if encoder is None or find_hub_name(encoder) else PurePath(encoder).name


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
