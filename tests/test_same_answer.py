"""The same texts get the same clusters, whatever the order of the rows and the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC

SAMPLE = str(resources.files("rstc.samples") / "customer_messages.csv")
FIT_SAMPLE = """
import sys
import numpy as np, pandas as pd
from rstc import RSTC
model = RSTC(10, random_state=0).fit(pd.read_csv(sys.argv[2])["text"].tolist())
np.savez(sys.argv[1], labels=model.labels_, probabilities=model.probabilities_, confidence=model.confidence_)
"""


@pytest.mark.filterwarnings("ignore::rstc.errors.MissingTextWarning")
def test_shuffled_rows_get_the_same_clusters(
    texts_and_topics: tuple[list[str], list[str]], quick: dict[str, object], few_head_steps: None
) -> None:
    texts = [*texts_and_topics[0], "", texts_and_topics[0][0]]  # with an empty row and a repeated text
    model = RSTC(4, random_state=0, **quick).fit(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = RSTC(4, random_state=0, **quick).fit([texts[row] for row in order])
    assert np.array_equal(shuffled.labels_, model.labels_[order])
    assert np.array_equal(shuffled.probabilities_, model.probabilities_[order])
    assert np.array_equal(shuffled.confidence_, model.confidence_[order])


def test_rows_of_features_and_labels_follow_their_texts(
    texts_and_topics: tuple[list[str], list[str]], quick: dict[str, object], few_head_steps: None
) -> None:
    texts, topics = texts_and_topics
    features = (np.array(topics)[:, None] == np.unique(topics)).astype(np.float32)
    y = [topic if row % 10 == 0 else None for row, topic in enumerate(topics)]
    order = np.random.default_rng(1).permutation(len(texts))
    model = RSTC(4, random_state=0, **quick).fit(texts, y, features=features)
    shuffled = RSTC(4, random_state=0, **quick).fit(
        [texts[row] for row in order], [y[row] for row in order], features=features[order]
    )
    assert np.array_equal(shuffled.labels_, model.labels_[order])


def test_order_of_the_input_matters_if_it_is_asked_for(
    texts_and_topics: tuple[list[str], list[str]], quick: dict[str, object], few_head_steps: None
) -> None:
    texts = texts_and_topics[0]
    order = np.random.default_rng(0).permutation(len(texts))
    model = RSTC(4, random_state=0, row_order="given", **quick).fit(texts)
    shuffled = RSTC(4, random_state=0, row_order="given", **quick).fit([texts[row] for row in order])
    assert not np.array_equal(shuffled.probabilities_, model.probabilities_[order])


@pytest.mark.slow
def test_twenty_shuffles_of_the_sample_get_the_same_clusters(tmp_path: Path) -> None:
    texts = pd.read_csv(SAMPLE)["text"].tolist()
    expected = RSTC(10, random_state=0).fit(texts, cache=tmp_path).labels_
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(texts))
        model = RSTC(10, random_state=0).fit([texts[row] for row in order], cache=tmp_path)
        assert np.array_equal(model.labels_, expected[order]), f"shuffle {seed}"


@pytest.mark.slow
def test_one_thread_and_two_get_the_same_clusters(tmp_path: Path) -> None:
    results = []
    for threads in ("1", "2"):
        file = tmp_path / f"{threads}.npz"
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", FIT_SAMPLE, file, SAMPLE], check=True, timeout=250, env=environment)
        results.append(np.load(file))
    for name in ("labels", "confidence"):
        assert np.array_equal(results[0][name], results[1][name]), name
    assert results[0]["probabilities"] == pytest.approx(results[1]["probabilities"], abs=1e-5)
