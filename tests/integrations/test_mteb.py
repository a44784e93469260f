"""RSTC as an MTEB encoder, scored on a task with local data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC
from tiny_encoder import make_texts

mteb = pytest.importorskip("mteb")


def local_task() -> Any:
    """Return a clustering task with local texts."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.clustering import AbsTaskClustering
    from mteb.abstasks.task_metadata import TaskMetadata

    class LocalClustering(AbsTaskClustering):
        metadata = TaskMetadata(
            name="LocalClustering",
            description="Made-up messages in four topics.",
            dataset={"path": "local/messages", "revision": "1"},
            type="Clustering",
            category="t2c",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="v_measure",
        )
        max_fraction_of_documents_to_embed = None
        max_documents_per_cluster = 100
        n_clusters = 3

        def load_data(self, **_: Any) -> None:
            texts, topics = make_texts({"parcel": 50, "password": 30, "refund": 20, "recipe": 15})
            rows = Dataset.from_dict({"sentences": texts, "labels": topics})
            self.dataset, self.data_loaded = DatasetDict({"test": rows}), True

    return LocalClustering()


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.usefixtures("socket_disabled")
def test_local_task_is_scored(clusters: bool, quick: dict[str, Any], tmp_path: Path) -> None:
    from rstc.integrations.mteb import RSTCEncoder

    encoder = RSTCEncoder(RSTC(4, random_state=0, **quick), clusters)
    cache = mteb.ResultCache(cache_path=tmp_path)
    results = mteb.evaluate(encoder, local_task(), cache=cache, show_progress_bar=False)
    assert results.task_results[0].get_score() > 0.7


def test_fitted_model_encodes_without_another_fit(quick: dict[str, Any]) -> None:
    from rstc.integrations.mteb import RSTCEncoder

    texts = make_texts({"parcel": 20, "password": 20, "refund": 9, "recipe": 9})[0]
    model = RSTC(4, random_state=0, **quick).fit(texts)
    batches = [{"text": texts[:30]}, {"text": texts[30:]}]
    assert (RSTCEncoder(model).encode(batches) == model.transform(texts)).all()
    assert RSTCEncoder(model, clusters=True).encode(batches).shape == (58, 4)
