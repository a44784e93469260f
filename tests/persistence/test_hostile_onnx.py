"""Hostile exported models and tokenizers are refused: nothing outside is read, and neither time nor memory runs out."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from rstc import RSTC, InputError
from rstc.io.atomic import compute_checksum, sha256
from rstc.persistence import onnx_model
from rstc.persistence.model_files import list_files
from rstc.persistence.onnx_checks import check_graph
from rstc.persistence.onnx_model import OnnxModel
from rstc.representation.tokenizer_checks import check_tokenizer

pytestmark = [pytest.mark.chaos("models from elsewhere"), pytest.mark.usefixtures("socket_disabled")]
Graph = onnx.GraphProto


@pytest.fixture(scope="module")
def saved(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a model and its export."""
    folder = tmp_path_factory.mktemp("saved")
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 2, "batch_size": 32, "kmeans_starts": 1}
    model = RSTC(4, random_state=0, **settings).fit(texts_and_topics[0])
    model.save(folder / "model")
    model.export_onnx(folder / "onnx")
    return folder


@pytest.fixture
def exported(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved / "onnx", tmp_path / "onnx")
    return tmp_path / "onnx"


def sign(folder: Path) -> None:
    path = folder / "onnx.json"
    description = json.loads(path.read_text())
    description["files"] = {name: sha256(folder / name) for name in description["files"]}
    path.write_text(json.dumps(description))


def add_nodes(graph: Graph, *nodes: onnx.NodeProto) -> None:
    """Add operations whose last result is added to E, so that they are computed."""
    last = graph.output[1]
    for node in graph.node:
        for index, name in enumerate(node.output):
            if name == last.name:
                node.output[index] = "E_before"
        for index, name in enumerate(node.input):
            if name == last.name:
                node.input[index] = "E_before"
    graph.node.extend(nodes)
    graph.node.append(helper.make_node("ReduceMax", [nodes[-1].output[0]], ["m"], keepdims=0))
    graph.node.append(helper.make_node("Mul", ["m", "zero"], ["mz"]))
    graph.node.append(helper.make_node("Add", ["E_before", "mz"], [last.name]))
    graph.initializer.append(numpy_helper.from_array(np.float32(0), "zero"))


def integers(name: str, *values: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def weights_in_another_file(model: onnx.ModelProto) -> None:
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "../secret", "offset": "0"}.items():
        weights.external_data.add(key=key, value=value)


def weights_of_a_constant_in_another_file(model: onnx.ModelProto) -> None:
    tensor = TensorProto(name="c", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/passwd")
    model.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))


def loop(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node.insert(0, helper.make_node("Loop", ["", ""], ["x"], body=body))


def hidden_graph(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node.insert(0, helper.make_node("Identity", ["input_ids"], ["x"], body=body))


def custom_domain(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("com.somebody", 1))


def node_of_a_custom_domain(model: onnx.ModelProto) -> None:
    model.graph.node.insert(0, helper.make_node("Gelu", ["input_ids"], ["x"], domain="com.microsoft"))


def unknown_operator(model: onnx.ModelProto) -> None:
    model.graph.node.insert(0, helper.make_node("ImageDecoder", ["input_ids"], ["x"]))


def function(model: onnx.ModelProto) -> None:
    opset = [helper.make_opsetid("", 20)]
    model.functions.append(helper.make_function("", "Relu", ["a"], ["b"], [], opset))


def described_but_not_held(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[0] = 2**40


def fills_the_memory_by_a_constant(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(integers("sides", 2**20, 2**20))
    add_nodes(model.graph, helper.make_node("Expand", ["zero", "sides"], ["big"]))


def fills_the_memory_by_an_attribute(model: onnx.ModelProto) -> None:
    node = helper.make_node("Constant", [], ["sides"], value_ints=[2**40])
    add_nodes(model.graph, node, helper.make_node("Expand", ["zero", "sides"], ["big"]))


def fills_the_memory_by_sums(model: onnx.ModelProto) -> None:
    """A row and a column of a million numbers, added to each other."""
    model.graph.initializer.extend([integers("row", 2**20), integers("column", 2**20, 1)])
    add_nodes(
        model.graph,
        helper.make_node("Expand", ["E_before_0", "row"], ["r"]),
        helper.make_node("Expand", ["E_before_0", "column"], ["c"]),
        helper.make_node("Add", ["r", "c"], ["big"]),
    )
    first = helper.make_node("ReduceMax", ["E_before"], ["E_before_0"], keepdims=0)
    model.graph.node.insert(len(model.graph.node) - 6, first)


def fills_the_memory_by_sums_of_constants(model: onnx.ModelProto) -> None:
    model.graph.initializer.extend([integers("row", 2**20), integers("column", 2**20, 1)])
    add_nodes(
        model.graph,
        helper.make_node("Expand", ["zero", "row"], ["r"]),
        helper.make_node("Expand", ["zero", "column"], ["c"]),
        helper.make_node("Add", ["r", "c"], ["big"]),
    )


def takes_long(model: onnx.ModelProto) -> None:
    """Products of large matrices, one after the other."""
    model.graph.initializer.append(integers("sides", 2**11, 2**11))
    first = helper.make_node("ReduceMax", ["E_before"], ["E_before_0"], keepdims=0)
    products = [helper.make_node("MatMul", [f"p{i}", "p0"], [f"p{i + 1}"]) for i in range(500)]
    add_nodes(model.graph, helper.make_node("Expand", ["E_before_0", "sides"], ["p0"]), *products)
    model.graph.node.insert(len(model.graph.node) - len(products) - 4, first)


GRAPHS: dict[Callable[[onnx.ModelProto], None], str] = {
    weights_in_another_file: "keeps weights in another file",
    weights_of_a_constant_in_another_file: "keeps weights in another file",
    loop: "uses the operator 'Loop'",
    hidden_graph: "with a graph of its own",
    custom_domain: "needs operators of 'com.somebody'",
    node_of_a_custom_domain: "needs operators of 'com.microsoft'",
    unknown_operator: "uses the operator 'ImageDecoder'",
    function: "holds functions",
    described_but_not_held: "that it does not hold",
    fills_the_memory_by_a_constant: "computes with a tensor of 1048576 x 1048576",
    fills_the_memory_by_an_attribute: "computes with a tensor of 1099511627776",
    fills_the_memory_by_sums: "cannot be (run|opened)",
    fills_the_memory_by_sums_of_constants: "cannot be (run|opened)",
    takes_long: "cannot be run .it takes too long",
}


@pytest.mark.parametrize("change", GRAPHS)
def test_hostile_graph_is_refused(
    change: Callable[[onnx.ModelProto], None], exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_model, "MAX_SECONDS_OF_A_TEXT", 1.0)
    (exported.parent / "secret").write_bytes(b"\0" * 10**6)
    model = onnx.load(exported / "model.onnx", load_external_data=False)
    change(model)
    (exported / "model.onnx").write_bytes(model.SerializeToString())
    sign(exported)
    start = time.monotonic()
    with pytest.raises(InputError, match=GRAPHS[change]):
        OnnxModel(exported)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"\x08\x07", b"\x3a\x7f\x0a", os.urandom(500)])
def test_bytes_that_are_no_graph_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(InputError):
        check_graph(tmp_path / "model.onnx")


def test_checks_take_little_time(exported: Path) -> None:
    start = time.monotonic()
    check_graph(exported / "model.onnx")
    check_tokenizer(exported / "tokenizer.json", json.loads((exported / "tokenizer.json").read_text()))
    assert time.monotonic() - start < 0.5


def replace(**pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": "x"}


GROWING = {"type": "Replace", "pattern": {"String": "e"}, "content": "eeeeeeee"}
TOKENIZERS: list[tuple[dict[str, Any], str]] = [
    ({"normalizer": replace(Regex="(a+)+$")}, "endless time"),
    ({"normalizer": replace(Regex="(a|a)*b")}, "endless time"),
    ({"normalizer": replace(Regex=r"(.*)\1")}, "endless time"),
    ({"normalizer": replace(Regex="a*a*a*a*b")}, "endless time"),
    ({"normalizer": replace(Regex="a?" * 30 + "a" * 30)}, "endless time"),
    ({"normalizer": replace(Regex="(a?){1000}")}, "endless time"),
    ({"normalizer": replace(Regex="x" * 501)}, "501 characters"),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:a*b?)*c"}, "behavior": "Isolated"}}, "endless time"),
    ({"normalizer": {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 10**6}}, "replaces by a text"),
    ({"normalizer": {"type": "Sequence", "normalizers": [GROWING] * 7}}, "times as long"),
    ({"normalizer": {"type": "Prepend", "prepend": "x" * 1000}}, "adds a text"),
    ({"normalizer": {"type": "Trap"}}, "unknown kind: 'Trap'"),
    ({"pre_tokenizer": {"type": "Custom"}}, "unknown kind: 'Custom'"),
    ({"pre_tokenizer": {"type": []}}, "unknown kind: '\\[\\]'"),
    ({"post_processor": {"type": "TemplateProcessing", "single": [{}] * 100}}, "adds 100 tokens"),
    (
        {"post_processor": {"type": "TemplateProcessing", "single": [], "special_tokens": {"a": {"ids": [1] * 10**4}}}},
        "adds 10,000 tokens",
    ),
    ({"padding": {"strategy": {"Fixed": 2**40}}}, "pads each text to 1099511627776"),
    ({"added_tokens": [{}] * 30_000}, "30,000 added tokens"),
    ({"model": []}, "is not a tokenizer"),
    ({"model": {"type": "WordPiece", "vocab": {}, "max_input_chars_per_word": 10**9}}, "words of 1000000000"),
    ({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.5}}, "at random"),
]


@pytest.mark.parametrize(("changes", "message"), TOKENIZERS)
def test_hostile_tokenizer_is_refused(changes: dict[str, Any], message: str, exported: Path, saved: Path) -> None:
    path = exported / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    sign(exported)
    with pytest.raises(InputError, match=message):
        OnnxModel(exported)
    model = exported.parent / "model"
    shutil.copytree(saved / "model", model)
    shutil.copy(path, model / "encoder" / "tokenizer.json")
    description = json.loads((model / "model.json").read_text())
    description["files"] = {name: sha256(model / name) for name in list_files(model) if name != "model.json"}
    (model / "model.json").write_text(json.dumps(description | {"checksum": compute_checksum(description)}))
    with pytest.raises(InputError, match=message):
        RSTC.load(model)


def test_patterns_of_known_tokenizers_are_allowed(tmp_path: Path) -> None:
    patterns = [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        " {2,}",
    ]
    for pattern in patterns:
        check_tokenizer(tmp_path, {"model": {"type": "BPE"}, "normalizer": replace(Regex=pattern)})


def test_a_chat_template_is_left_out_when_a_model_is_saved(saved: Path, tmp_path: Path) -> None:
    model = RSTC.load(saved / "model")
    tokenizer = model._fitted_model.network.encoder.model.tokenizer
    tokenizer.chat_template = "{% for a in range(10**9) %}{% endfor %}"
    model.save(tmp_path / "copy")
    assert tokenizer.chat_template
    assert not list((tmp_path / "copy").rglob("*.jinja"))
    assert RSTC.load(tmp_path / "copy").predict(["late parcel"]).shape == (1,)
