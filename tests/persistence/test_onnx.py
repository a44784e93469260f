"""Models exported as ONNX: the same predictions, without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError, OnnxModel
from rstc.io.atomic import sha256
from rstc.pipelines.predict import predict_file, predict_files

TEXTS = ["my parcel is late", "", "refund", "reset the password of my account please, it does not work any more " * 4]


@pytest.fixture(scope="module")
def model(finished_run: Path) -> RSTC:
    return RSTC.load(finished_run / "model")


@pytest.fixture(scope="module")
def exported(model: RSTC, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx") / "exported"
    model.export_onnx(folder)
    return folder


def check_same(exported_model: OnnxModel, model: RSTC, texts: list[str]) -> None:
    """Check that predictions agree up to the rounding of cached hidden states to half precision."""
    assert exported_model.predict_proba(texts) == pytest.approx(model.predict_proba(texts), abs=0.02)
    confidences = [m.assign(texts).confidence for m in (exported_model, model)]
    assert confidences[0] == pytest.approx(confidences[1], abs=0.05)
    assert exported_model.transform(texts) == pytest.approx(model.transform(texts), abs=0.02)
    assert (exported_model.predict(texts) == model.predict(texts)).all()


def test_exported_model_predicts_as_the_original(
    exported: Path, model: RSTC, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    exported_model = OnnxModel(exported)
    check_same(exported_model, model, [*texts_and_topics[0], *TEXTS])
    assert exported_model.predict(TEXTS)[1] == -1
    assert (exported_model.predict([]).shape, exported_model.predict_proba([]).shape) == ((0,), (0, 4))
    assert exported_model.class_distribution_ == pytest.approx(model.class_distribution_)
    assert exported_model.text_column_ == "text"


def test_prediction_does_not_depend_on_the_batch(exported: Path, texts_and_topics: tuple[list[str], list[str]]) -> None:
    exported_model, texts = OnnxModel(exported, threads=1), texts_and_topics[0][:20]
    alone = np.concatenate([exported_model.predict_proba([text]) for text in texts])
    assert exported_model.predict_proba(texts) == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("kind", ["merged", "centroids"])
def test_every_kind_of_head_is_exported(
    kind: str, model: RSTC, quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    other = model.merge_to(2) if kind == "merged" else RSTC(4, random_state=0, class_contrast=False, **quick).fit(texts)
    other.export_onnx(tmp_path / "exported")
    check_same(OnnxModel(tmp_path / "exported"), other, texts)


def test_pipelines_accept_an_exported_model(exported: Path, finished_run: Path, tmp_path: Path) -> None:
    pd.DataFrame({"text": TEXTS, "id": range(4)}).to_csv(tmp_path / "new.csv", index=False)
    for name, folder in (("onnx", exported), ("torch", finished_run)):
        assert predict_file(folder, str(tmp_path / "new.csv"), tmp_path / f"{name}.csv") == (4, 3)
    onnx, torch = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("onnx", "torch"))
    assert onnx["cluster"].equals(torch["cluster"])
    assert predict_files(exported, str(tmp_path / "new*.csv"), str(tmp_path / "many")).n_rows == 4
    assert pd.read_csv(tmp_path / "many" / "new.csv")["cluster"].equals(onnx["cluster"])


def test_torch_is_not_imported(exported: Path) -> None:
    program = (
        "import sys\n"
        "from rstc import OnnxModel\n"
        "print(OnnxModel(sys.argv[1]).predict(['my parcel is late']).tolist())\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", program, str(exported)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    assert len(json.loads(process.stdout)) == 1


def test_altered_or_invalid_folder_is_refused(exported: Path, model: RSTC, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"onnx\.json is missing"):
        OnnxModel(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not an exported model"):
        model.export_onnx(tmp_path)
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in exported.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"tokenizer\.json is missing or was changed"):
        OnnxModel(copy)
    description = json.loads((exported / "onnx.json").read_text())
    changes = [{"n_clusters": 10**12}, {"files": []}, {"dim": None}, {"class_distribution": [1]}, {"text_column": 3}]
    for content in ([], {}, *(description | change for change in changes)):
        (copy / "onnx.json").write_text(json.dumps(content))
        with pytest.raises(InputError, match="not the description"):
            OnnxModel(copy)
    files = description["files"] | {"tokenizer.json": sha256(copy / "tokenizer.json")}
    (copy / "onnx.json").write_text(json.dumps(description | {"files": files}))
    with pytest.raises(InputError, match="is not a tokenizer"):
        OnnxModel(copy)
    (copy / "tokenizer.json").write_bytes((exported / "tokenizer.json").read_bytes())
    (copy / "onnx.json").write_text(json.dumps(description | {"dim": description["dim"] + 1}))
    with pytest.raises(InputError, match="are not those that"):
        OnnxModel(copy)


def test_other_folders_are_not_replaced(model: RSTC, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_text("mine")
    with pytest.raises(InputError, match="is not an exported model"):
        model.export_onnx(tmp_path)
    assert (tmp_path / "model.onnx").read_text() == "mine"
