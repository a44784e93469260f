"""Train on a sample and predict a stream of texts: python examples/a_million_texts.py [N_TEXTS].

Memory does not grow with the number of texts: one batch at a time is read, predicted and written. The same on the
command line: `rstc predict run many.parquet --out labelled.parquet`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rstc import RSTC

WORDS = {"parcel": ["late", "lost", "courier", "depot"], "password": ["reset", "login", "locked", "code"]}
BATCH_ROWS = 10_000


def make_texts(size: int, rng: np.random.Generator) -> list[str]:
    """Make texts of three words."""
    topics = rng.choice(list(WORDS), size)
    return [f"{topic} {' '.join(rng.choice(WORDS[topic], 2))}" for topic in topics]


def main() -> None:
    """Write many texts, train on others of the same kind, and predict all of them batch by batch."""
    n_texts, rng = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, np.random.default_rng(0)
    with pq.ParquetWriter("many.parquet", pa.schema([("text", pa.string())])) as file:
        for start in range(0, n_texts, BATCH_ROWS):
            file.write_table(pa.table({"text": make_texts(min(BATCH_ROWS, n_texts - start), rng)}))

    model = RSTC(2, random_state=0).fit(make_texts(1000, rng))
    n_done = 0
    with pq.ParquetFile("many.parquet") as source:
        schema = model.predict_batch(pa.table({"text": ["late parcel"]})).schema
        with pq.ParquetWriter("labelled.parquet", schema) as target:
            for batch in source.iter_batches(BATCH_ROWS):
                target.write_table(model.predict_batch(pa.Table.from_batches([batch])))
                n_done += len(batch)
                print(f"\r{n_done:,} texts", end="", flush=True)
    print(f", {Path('labelled.parquet').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
