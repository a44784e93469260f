"""SAOTClustering as BERTopic's cluster model: python examples/inside_bertopic.py (needs bertopic).

BERTopic still provides topic words, figures and topics over time. Every text gets a topic, and rare topics are kept.
"""

from __future__ import annotations

from importlib import resources

import pandas as pd
from bertopic import BERTopic
from bertopic.dimensionality import BaseDimensionalityReduction

from rstc import SAOTClustering
from rstc.representation.loading import load_encoder


def main() -> None:
    """Find the topics of the sample."""
    with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as sample:
        texts = pd.read_csv(sample)["text"].tolist()
    encoder = load_encoder(None, "mean", 32)
    embeddings = encoder.embed(encoder.tokenize(texts)).numpy()
    topics = BERTopic(
        hdbscan_model=SAOTClustering(10, unit_length=True, random_state=0),
        umap_model=BaseDimensionalityReduction(),  # SAOTClustering needs no dimensionality reduction
    )
    topics.fit_transform(texts, embeddings=embeddings)
    print(topics.get_topic_info()[["Topic", "Count", "Name"]].to_string(index=False))


if __name__ == "__main__":
    main()
