"""The card of a saved model, README.md in its folder: what it is, how it was made, and where its limits are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FRONT = """---
library_name: rstc
tags:
- short-text-clustering
- text-clustering
- sentence-transformers
---
"""


def card(description: Mapping[str, Any]) -> str:
    """Return the card of a model by its description (model.json)."""
    facts, config, versions = description["facts"], description["config"], description["versions"]
    shares = sorted(facts["class_distribution"], reverse=True)
    trained = facts.get("n_trained", facts["n_texts"])
    lines = [
        FRONT,
        f"# {description['n_clusters']} clusters of short texts",
        "",
        "A sentence encoder with a head that says which cluster a short text belongs to, trained without labels by "
        "rstc (self-adaptive optimal transport; Zheng et al., ACL 2023).",
        "",
        "```python",
        "from rstc import RSTC",
        "",
        'model = RSTC.load("this-folder")  # or its name on the hub',
        'model.predict(["where is my parcel"])',
        "",
        "from sentence_transformers import SentenceTransformer",
        "",
        'SentenceTransformer("this-folder/encoder")  # the learned embedding alone',
        "```",
        "",
        "## How it was made",
        "",
        "| | |",
        "| --- | --- |",
        f"| texts | {facts['n_texts']:,}, of which {trained:,} trained |",
        f"| clusters | {description['n_clusters']}, {_counted(facts)} |",
        f"| shares of the largest and the smallest | {shares[0]:.1%}, {shares[-1]:.2%} |",
        f"| encoder | {config['encoder'] or 'all-MiniLM-L6-v2'}, {config['trainable_layers']} layer(s) learned |",
        f"| steps | {facts['n_iter']}{', the clusters had settled' if facts['settled'] else ''} |",
        f"| preset, seed | {facts['preset']}, {facts['random_state']} |",
        f"| made with | {', '.join(f'{name} {version}' for name, version in versions.items())} |",
    ]
    names = [str(name) for name in facts.get("classes") or [] if name is not None]
    if names:
        lines.append(f"| classes that were given | {', '.join(_plain(name) for name in names)} |")
    settings = "\n".join(f"- {name}: {value}" for name, value in config.items() if name != "encoder")
    return "\n".join(
        [
            *lines,
            "",
            f"All settings:\n\n{settings}",
            "",
            "## Limits",
            "",
            f"- It reads the first {config['max_tokens']} tokens of a text, and gives every text a cluster"
            + ("; strange ones get -1." if config["noise"] else ", also one that belongs nowhere."),
            "- Its clusters are those of the texts it was made from. Texts of another kind, or of a later time, are "
            "sorted into them all the same.",
            "- Its confidence is too sure: good for sorting, not a chance of being right.",
            "- No labels were used unless classes are named above, and nothing here says how right it is: compare with "
            "texts that you know (`rstc evaluate`).",
            "- The texts themselves are not in this folder. What an encoder has learned from them may still tell of "
            "them.",
            "",
        ]
    )


def _counted(facts: Mapping[str, Any]) -> str:
    count = facts.get("count")
    return f"found by the texts themselves ({count['low']} to {count['high']} would serve)" if count else "as asked for"


def _plain(name: str) -> str:
    """Return a name that ends no table and opens no link."""
    return "".join(sign for sign in name if sign not in "|\n\r[]<>`")[:60]
