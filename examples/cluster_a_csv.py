"""Cluster a CSV file, print cluster names, and predict new texts: python examples/cluster_a_csv.py [FILE COLUMN]."""

from __future__ import annotations

import sys
from importlib import resources

import pandas as pd

from rstc import RSTC


def main() -> None:
    """Cluster a column of a CSV file."""
    if len(sys.argv) == 3:
        texts = pd.read_csv(sys.argv[1])[sys.argv[2]]
    else:
        with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
            texts = pd.read_csv(sample)["text"]

    model = RSTC(n_clusters=10, random_state=0).fit(texts)
    for cluster, row in model.cluster_info_.iterrows():
        print(f"{cluster:>3}  {row['size']:>4}  {row['name']:<40}  {row['typical'][0]}")

    doubtful = model.to_frame().nsmallest(3, "confidence")
    print("\nLeast confident, to check by hand:")
    print(doubtful[["cluster", "confidence", "text"]].to_string())

    new = ["where is my parcel", "the app crashes again"]
    print("\nNew texts:", dict(zip(new, model.predict(new).tolist(), strict=True)))
    model.save("model")  # RSTC.load("model") predicts the same


if __name__ == "__main__":
    main()
