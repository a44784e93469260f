"""Partial labels: python examples/few_labels.py.

The topics of one text in ten are known. No text of one topic is labelled; its cluster is found without labels.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
import pandas as pd

from rstc import RSTC
from rstc.metrics import evaluate


def main() -> None:
    """Cluster the sample with and without partial labels."""
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        table = pd.read_csv(sample)
    is_labelled = np.random.default_rng(0).random(len(table)) < 0.1
    unlabelled_topic = table["topic"].value_counts().index[2]
    partial_labels = table["topic"].where(is_labelled & (table["topic"] != unlabelled_topic))  # missing: not known

    truth = table["topic"].tolist()
    for name, y in (("without labels", None), ("with partial labels", partial_labels)):
        model = RSTC(10, random_state=0).fit(table["text"], y)
        print(f"{name}: ACC {evaluate(truth, model.labels_.tolist()).acc:.0%}")
    print("known class of each cluster:", model.classes_)


if __name__ == "__main__":
    main()
