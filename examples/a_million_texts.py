"""Train on some, label a stream of many: python examples/a_million_texts.py [HOW_MANY].

Memory does not grow with the number of texts: a piece is read, labelled and written at a time. On the command line it
is `rstc predict run many.parquet --out labelled.parquet`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rstc import RSTC

WORDS = {"parcel": ["late", "lost", "courier", "depot"], "password": ["reset", "login", "locked", "code"]}
ROWS_A_PIECE = 10_000


def made_up(size: int, rng: np.random.Generator) -> list[str]:
    """Return texts of three words."""
    topics = rng.choice(list(WORDS), size)
    return [f"{topic} {' '.join(rng.choice(WORDS[topic], 2))}" for topic in topics]


def main() -> None:
    """Write many texts, train on a sample, and label all of them piece by piece."""
    many, rng = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, np.random.default_rng(0)
    with pq.ParquetWriter("many.parquet", pa.schema([("text", pa.string())])) as file:
        for start in range(0, many, ROWS_A_PIECE):
            file.write_table(pa.table({"text": made_up(min(ROWS_A_PIECE, many - start), rng)}))

    model = RSTC(2, random_state=0).fit(made_up(1000, rng))
    done = 0
    with pq.ParquetFile("many.parquet") as source:
        schema = model.predict_batch(pa.table({"text": ["late parcel"]})).schema
        with pq.ParquetWriter("labelled.parquet", schema) as target:
            for batch in source.iter_batches(ROWS_A_PIECE):
                target.write_table(model.predict_batch(pa.Table.from_batches([batch])))
                done += len(batch)
                print(f"\r{done:,} texts", end="", flush=True)
    print(f", {Path('labelled.parquet').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
