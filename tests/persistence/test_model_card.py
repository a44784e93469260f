"""The card of a model: the metadata that the hub reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rstc import RSTC
from rstc.persistence.fitted_model import FittedModel
from rstc.persistence.model_card import TAGS, render_card


@pytest.fixture(scope="module")
def model(finished_run: Path) -> FittedModel:
    return RSTC.load(finished_run / "model")._fitted_model


def read_metadata(card: str) -> dict[str, Any]:
    """Return what stands between the two lines at the top of a card."""
    _, metadata, _ = card.split("---\n", 2)
    return dict(yaml.safe_load(metadata))


def test_metadata_of_a_model_of_the_bundled_encoder(model: FittedModel) -> None:
    model = replace(model, config=replace(model.config, encoder=None), languages=["en", "no"])
    assert read_metadata(render_card(model, {})) == {
        "library_name": "rstc",
        "pipeline_tag": "text-classification",
        "language": ["en", "no"],
        "license": "apache-2.0",
        "base_model": "sentence-transformers/all-MiniLM-L6-v2",
        "tags": list(TAGS),
    }


@pytest.mark.parametrize(
    ("encoder", "base_model", "license"),
    [
        ("intfloat/multilingual-e5-small", "intfloat/multilingual-e5-small", None),
        ("multilingual", None, "apache-2.0"),
        ("/srv/somebody/encoders/own", None, None),
        ("SentenceTransformer", None, None),  # an object's type
    ],
)
def test_base_model_and_license_are_those_of_the_encoder(
    encoder: str, base_model: str | None, license: str | None, model: FittedModel
) -> None:
    card = render_card(replace(model, config=replace(model.config, encoder=encoder)), {})
    metadata = read_metadata(card)
    assert metadata.get("base_model") == base_model
    assert metadata.get("license") == license
    assert "/srv/somebody" not in card


def test_given_license_is_in_the_metadata(model: FittedModel) -> None:
    assert read_metadata(render_card(model, {}, "mit"))["license"] == "mit"


def test_languages_of_the_texts_are_saved_with_the_model(quick: dict[str, Any], tmp_path: Path) -> None:
    texts = ["where is my parcel", "the parcel is late", "I forgot my password", "please reset the password"] * 10
    RSTC(2, random_state=0, **quick).fit(texts).save(tmp_path / "model")
    assert RSTC.load(tmp_path / "model")._fitted_model.languages == ["en"]
    assert read_metadata((tmp_path / "model" / "README.md").read_text(encoding="utf-8"))["language"] == ["en"]


def test_a_completed_card_is_no_altered_model(finished_run: Path, run_folder: Path) -> None:
    card = run_folder / "model" / "README.md"
    card.write_text(card.read_text(encoding="utf-8") + "\n## Intended use\n", encoding="utf-8")
    assert RSTC.load(run_folder / "model").n_clusters_ == RSTC.load(finished_run / "model").n_clusters_
