"""What you know of a few texts helps with the others: python examples/few_labels.py.

Here the topics of one text in ten are known, and one topic is not known at all: it is found.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
import pandas as pd

from rstc import RSTC
from rstc.metrics import evaluate


def main() -> None:
    """Cluster the sample with and without what is known."""
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        table = pd.read_csv(sample)
    asked = np.random.default_rng(0).random(len(table)) < 0.1
    hidden = table["topic"].value_counts().index[2]
    known = table["topic"].where(asked & (table["topic"] != hidden))  # missing: not known

    truth = table["topic"].tolist()
    for name, y in (("nothing", None), ("a tenth", known)):
        model = RSTC(10, random_state=0).fit(table["text"], y)
        print(f"knowing {name}: {evaluate(truth, model.labels_.tolist()).acc:.0%} are where they belong")
    print("clusters by the names you gave:", model.classes_)


if __name__ == "__main__":
    main()
