"""Data frames and the notebook view of a fitted model, and the kinds of input it takes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rstc import RSTC, InputError, MissingTextWarning
from rstc.io.columns import to_text_list


def of_polars(texts: list[str | None]) -> Any:
    return pytest.importorskip("polars").DataFrame({"id": list(range(len(texts))), "text": texts})


def of_datasets(texts: list[str | None]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({"id": list(range(len(texts))), "text": texts})


KINDS: dict[str, Callable[[list[str | None]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": lambda texts: np.array(texts, dtype=object),
    "pandas column": pd.Series,
    "pandas strings": lambda texts: pd.Series(texts, dtype="string"),
    "pandas table": lambda texts: pd.DataFrame({"id": range(len(texts)), "text": texts}),
    "polars column": lambda texts: of_polars(texts)["text"],
    "polars table": of_polars,
    "pyarrow column": lambda texts: pa.table({"text": texts})["text"],
    "pyarrow array": pa.array,
    "pyarrow table": lambda texts: pa.table({"id": range(len(texts)), "text": texts}),
    "datasets column": lambda texts: of_datasets(texts)["text"],
    "datasets table": of_datasets,
}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_may_come_in_any_container(kind: str) -> None:
    texts = ["where is my parcel", None, "cancel it, please", " "]
    assert to_text_list(KINDS[kind](texts)) == ["where is my parcel", None, "cancel it, please", None]


def test_table_with_several_text_columns_is_refused() -> None:
    table = pd.DataFrame({"title": ["late parcel", "no refund"], "body": ["it is late", "where is it"]})
    with pytest.raises(InputError, match=r"title, body; choose one and pass it as X\['name'\]"):
        to_text_list(table)


@pytest.fixture(scope="module")
def model(tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]]) -> RSTC:
    texts: list[str | None] = [*texts_and_topics[0]]
    texts[7] = None
    texts[8] = "<script>alert('parcel')</script> late courier"
    table = pd.DataFrame({"text": texts}, index=[f"row {i}" for i in range(len(texts))])
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 6, "batch_size": 32, "kmeans_starts": 2}
    with pytest.warns(MissingTextWarning):
        return RSTC(4, random_state=0, **settings).fit(table)


def test_to_frame_has_a_row_per_text(model: RSTC) -> None:
    frame = model.to_frame()
    assert frame.columns.tolist() == ["text", "cluster", "cluster_name", "confidence", "confidence_level"]
    assert frame.index[3] == "row 3"
    assert frame.drop(index="row 7")["cluster"].tolist() == model.labels_[np.arange(120) != 7].tolist()
    assert frame.loc["row 7"].isna().all()
    assert model.text_column_ == "text"


def test_cluster_info_has_a_row_per_cluster(model: RSTC) -> None:
    info = model.cluster_info_
    assert info.index.name == "cluster"
    assert info["size"].sum() == 119
    assert info["share"].sum() == pytest.approx(1)
    assert info["estimated_share"].sum() == pytest.approx(1)
    assert all(isinstance(row["keywords"], list) and row["typical"] for _, row in info.iterrows())
    assert set(model.to_frame()["cluster_name"].dropna()) == set(info["name"])


def test_notebook_view_shows_clusters_and_a_map(model: RSTC, tiny_encoder: str) -> None:
    shown = model._repr_mimebundle_()["text/html"]
    assert shown.count("<circle") == 119
    assert "119 texts in 4 clusters" in shown
    assert "<script>" not in shown
    assert "text/html" in RSTC(4, encoder=tiny_encoder)._repr_mimebundle_(), "unfitted, as scikit-learn shows it"


def test_coarser_model_has_cluster_info_of_its_own(model: RSTC) -> None:
    assert len(model.cluster_info_) == 4
    coarse = model.merge_to(2)
    assert len(coarse.cluster_info_) == 2
    assert len(model.cluster_info_) == 4


def test_renamed_clusters_keep_their_names_when_saved_and_merged(model: RSTC, tmp_path: Path) -> None:
    named = copy(model)
    named.rename_clusters({0: "deliveries"}, {0: "Parcels that are late."})
    assert named.cluster_info_["description"][0] == "Parcels that are late."
    assert named.cluster_info_["name"][0] == "deliveries"
    assert named.cluster_names_[1:] == model.cluster_names_[1:]
    assert set(named.to_frame().query("cluster == 0")["cluster_name"]) == {"deliveries"}
    assert named.merge_to(1).cluster_names_ == ["deliveries"], "the name of the largest part"
    named.save(tmp_path / "model")
    loaded = RSTC.load(tmp_path / "model")
    assert loaded.cluster_names_ == named.cluster_names_
    assert loaded.predict_batch(pd.DataFrame({"text": [named._texts[0]]}))["cluster_name"][0] in named.cluster_names_
    with pytest.raises(InputError, match="no cluster 9"):
        named.rename_clusters({9: "x"})


def test_loaded_model_has_no_frames(model: RSTC, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="does not hold the texts"):
        RSTC.load(tmp_path / "model").to_frame()


def test_feature_names(model: RSTC) -> None:
    assert model.get_feature_names_out().tolist()[:2] == ["rstc0", "rstc1"]
