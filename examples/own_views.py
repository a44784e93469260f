"""Your own functions as views: python examples/own_views.py.

The encoder is trained to embed two versions of a text alike. A view changes what does not matter for the meaning: here
the digits of numbers, and capital letters.
"""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pandas as pd

from rstc import RSTC


def replace_digits(texts: list[str], rng: np.random.Generator) -> list[str]:
    """Replace the digits of each text by random ones."""
    return [re.sub(r"\d", lambda _: str(rng.integers(10)), text) for text in texts]


def capitalize(texts: list[str]) -> list[str]:
    """Write each text in capital letters."""
    return [text.upper() for text in texts]


def main() -> None:
    """Cluster the sample with these views, one function for each."""
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        texts = pd.read_csv(sample)["text"]
    model = RSTC(10, views=(replace_digits, capitalize), training="always", random_state=0).fit(texts)
    print(model.cluster_info_[["name", "size"]])

    # A view specification names built-in methods, here one for each view.
    print(RSTC(10, views="deletion@0.2,typos", random_state=0).config().views)


if __name__ == "__main__":
    main()
