"""Views of one's own: python examples/own_views.py.

The encoder learns that two versions of a text mean the same. Say what may differ without changing the meaning: here
order numbers, and capital letters.
"""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pandas as pd

from rstc import RSTC


def other_numbers(texts: list[str], rng: np.random.Generator) -> list[str]:
    """Return the texts with other digits in their numbers."""
    return [re.sub(r"\d", lambda _: str(rng.integers(10)), text) for text in texts]


def loud(texts: list[str]) -> list[str]:
    """Return the texts in capital letters."""
    return [text.upper() for text in texts]


def main() -> None:
    """Cluster the sample with these views, one for each side."""
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        texts = pd.read_csv(sample)["text"]
    model = RSTC(10, views=(other_numbers, loud), random_state=0).fit(texts)
    print(model.cluster_info_[["name", "size"]])

    # A recipe names ways that are there already, one for each view.
    print(RSTC(10, views="deletion@0.2,typos", random_state=0).config().views)


if __name__ == "__main__":
    main()
