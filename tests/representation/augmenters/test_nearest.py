"""Similar words and similar texts, by the real encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rstc.representation.augmenters.base import AugmenterResources
from rstc.representation.augmenters.nearest import NearestTexts, SynonymReplacement, Synonyms
from rstc.representation.loading import load_encoder


@pytest.fixture(scope="module")
def resources() -> AugmenterResources:
    return AugmenterResources(lambda: load_encoder(None, "mean", 32), torch.device("cpu"))


def test_synonyms_are_similar_words_of_the_texts(resources: AugmenterResources) -> None:
    texts = ["cars on the road", "a car on the motorway", "refund my money", "refunds of money", "doctor and physician"]
    replacement = Synonyms(0.99, k=3, min_similarity=0.6).prepare(texts, resources)
    assert isinstance(replacement, SynonymReplacement)
    assert "cars" in replacement.synonyms["car"]
    assert "refunds" in replacement.synonyms["refund"]
    assert "physician" in replacement.synonyms["doctor"]
    assert "money" not in replacement.synonyms["car"]
    assert replacement(["Refund it"], np.random.default_rng(0)) == ["Refunds it"]


def test_nearest_text_is_another_text_of_the_same_topic(resources: AugmenterResources) -> None:
    texts = ["my parcel is late", "the parcel did not come", "I forgot my password", "cannot log in, wrong password"]
    views = NearestTexts(k=1).prepare([*texts, texts[0]], resources)(
        [*texts, "something new"], np.random.default_rng(0)
    )
    assert views == [texts[1], texts[0], texts[3], texts[2], "something new"]


def test_single_text_is_its_own_neighbour(resources: AugmenterResources) -> None:
    assert NearestTexts().prepare(["alone"], resources)(["alone"], np.random.default_rng(0)) == ["alone"]


def test_deprecated_name_of_the_smallest_similarity_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="min_similarity"):
        assert Synonyms(0.2, least=0.6) == Synonyms(0.2, min_similarity=0.6)
