"""Checks of an ONNX graph from elsewhere, before a library opens it: known operators, no loops, no other files.

The file is a protocol buffer: a sequence of fields, each with a number, a type and a value. The few fields that matter
are read here, because the library that knows them all is needed for the export only. The numbers are those of
`onnx.proto`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

from rstc.errors import InputError

MAX_NODES = 100_000
MAX_SIZE = 2**20  # of an integer constant of few elements, which can be the side of a tensor
MAX_ELEMENTS = 2**26  # of the tensor whose sides a constant gives
MAX_SIDES = 16

# fmt: off
OPERATORS = frozenset({
    "Abs", "Add", "And", "ArgMax", "Cast", "CastLike", "Clip", "Concat", "Constant", "ConstantOfShape", "Cos", "CumSum",
    "Div", "Einsum", "Elu", "Equal", "Erf", "Exp", "Expand", "Flatten", "Floor", "Gather", "GatherElements", "GatherND",
    "Gelu", "Gemm", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN",
    "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max", "Mean", "Min",
    "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pad", "Pow", "RMSNormalization", "Range", "Reciprocal",
    "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape",
    "RotaryEmbedding", "Round", "ScatterElements", "ScatterND", "Selu", "Shape", "Sigmoid", "Sign", "Sin", "Size",
    "Slice", "Softmax", "Softplus", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Swish", "Tanh", "Tile", "Transpose",
    "Trilu", "Unsqueeze", "Where", "Xor",
})
# fmt: on

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # types of fields
_MODEL_GRAPH, _MODEL_OPSET, _MODEL_TRAINING, _MODEL_FUNCTION = 7, 8, 20, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 5, 15
_NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE, _ATTRIBUTE_INTS = (5, 10), (6, 11), (22, 23), 8
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_INT64, _TENSOR_RAW, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 1, 2, 7, 9, 13, 14
_TENSOR_OTHER_DATA = {4: 4, 5: 4, 10: 8, 11: 8}  # and the bytes of a value
_ITEM_BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}
_INT64 = 7
_OWN_DOMAINS = (b"", b"ai.onnx")
_UNLIMITED = {2**31 - 1, 2**31, 2**63 - 1, 2**63}  # in slices: as far as there is something

Value = int | memoryview


def check_graph(path: Path) -> None:
    """Raise an error unless a model.onnx is a graph of known operators that holds all of its weights.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        If the graph is refused.
    """
    try:
        _check_model(path, memoryview(path.read_bytes()))
    except (OSError, ValueError, IndexError, struct.error) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path} is not a model in the format ONNX") from problem


def _check_model(path: Path, model: memoryview) -> None:
    n_graphs = 0
    for number, value in _iter_fields(model):
        if number in (_MODEL_TRAINING, _MODEL_FUNCTION):
            raise InputError(f"{path} holds functions or training steps, which no exported model has")
        if number == _MODEL_OPSET:
            domain = next((bytes(v) for n, v in _iter_fields(value) if n == 1 and isinstance(v, memoryview)), b"")
            if domain not in _OWN_DOMAINS:
                raise InputError(f"{path} needs operators of {domain[:40].decode(errors='replace')!r}")
        elif number == _MODEL_GRAPH:
            n_graphs += 1
            _check_main_graph(path, value)
    if n_graphs != 1:
        raise InputError(f"{path} is not a model in the format ONNX")


def _check_main_graph(path: Path, graph: Value) -> None:
    n_nodes = 0
    for number, value in _iter_fields(graph):
        if number == _GRAPH_SPARSE:
            raise InputError(f"{path} holds sparse weights, which no exported model has")
        if number == _GRAPH_INITIALIZER:
            _check_tensor(path, value)
        elif number == _GRAPH_NODE:
            n_nodes += 1
            _check_node(path, value)
    if n_nodes > MAX_NODES:
        raise InputError(f"{path} has {n_nodes:,} operations, but at most {MAX_NODES:,} are computed")


def _check_node(path: Path, node: Value) -> None:
    """Check the operator of a node and the tensors among its attributes."""
    for number, value in _iter_fields(node):
        if number == _NODE_DOMAIN and _to_bytes(value) not in _OWN_DOMAINS:
            raise InputError(f"{path} needs operators of {_to_text(value)!r}")
        if number == _NODE_OPERATOR and _to_text(value) not in OPERATORS:
            raise InputError(f"{path} uses the operator {_to_text(value)!r}, which no exported model has")
        if number == _NODE_ATTRIBUTE:
            _check_attribute(path, value)


def _check_attribute(path: Path, attribute: Value) -> None:
    sides: list[int] = []
    for number, value in _iter_fields(attribute):
        if number in _ATTRIBUTE_GRAPHS or number in _ATTRIBUTE_SPARSE:
            raise InputError(f"{path} has an operation with a graph of its own, which no exported model has")
        if number in _ATTRIBUTE_TENSORS:
            _check_tensor(path, value)
        if number == _ATTRIBUTE_INTS:
            sides += _read_integers(value)
    _check_sides(path, sides)


def _check_tensor(path: Path, tensor: Value) -> None:
    """Check that a tensor is in the file, as large as its shape, and gives no extreme size to another one."""
    dims: list[int] = []
    integers: list[int] = []
    kind, n_bytes = 0, 0
    for number, value in _iter_fields(tensor):
        if number == _TENSOR_EXTERNAL or (number == _TENSOR_LOCATION and value):
            raise InputError(f"{path} keeps weights in another file, which no exported model does")
        if number == _TENSOR_DIMS:
            dims += _read_integers(value)
        elif number == _TENSOR_TYPE and isinstance(value, int):
            kind = value
        elif number == _TENSOR_INT64:
            integers += _read_integers(value)
        elif isinstance(value, memoryview) and number == _TENSOR_RAW:
            n_bytes = len(value)
            if kind == _INT64 and n_bytes <= 8 * MAX_SIDES:
                integers += struct.unpack(f"<{n_bytes // 8}q", value)
        elif number in _TENSOR_OTHER_DATA:
            n_bytes = max(n_bytes, 1)
    if len(dims) > MAX_SIDES or any(side < 0 for side in dims) or kind not in _ITEM_BYTES:
        raise InputError(f"{path} holds a tensor of an unknown kind")
    n_described = math.prod(dims)
    if n_bytes > 1 and n_described * _ITEM_BYTES[kind] != n_bytes:
        raise InputError(f"{path} describes a tensor of {n_described:,} elements that it does not hold")
    if n_bytes <= 1 and n_described > MAX_ELEMENTS:
        raise InputError(f"{path} describes a tensor of {n_described:,} elements that it does not hold")
    if n_described <= MAX_SIDES:
        _check_sides(path, integers)


def _check_sides(path: Path, values: list[int]) -> None:
    """Refuse integers that would make an enormous tensor if they were its sides."""
    if len(values) > MAX_SIDES:
        return
    sides = [abs(value) for value in values if abs(value) not in _UNLIMITED]
    if any(side > MAX_SIZE for side in sides) or math.prod(max(side, 1) for side in sides) > MAX_ELEMENTS:
        raise InputError(f"{path} computes with a tensor of {' x '.join(map(str, sides))} elements")


def _iter_fields(message: Value) -> Iterator[tuple[int, Value]]:
    """Yield the number and the value of each field of a message."""
    if not isinstance(message, memoryview):
        raise ValueError("a number in place of a message")
    position, end = 0, len(message)
    while position < end:
        key, position = _read_varint(message, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, position = _read_varint(message, position)
            yield number, value
        elif kind in (_FIXED32, _FIXED64):
            position += 4 if kind == _FIXED32 else 8
        elif kind == _BYTES:
            length, position = _read_varint(message, position)
            if position + length > end:
                raise ValueError("a field that is longer than its message")
            yield number, message[position : position + length]
            position += length
        else:
            raise ValueError("a field of an unknown type")


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    """Return an integer of variable length, and the position after it."""
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("an integer that is too long")


def _read_integers(value: Value) -> list[int]:
    """Return a repeated field of integers, packed or not; of a long one only the first elements."""
    values, position = [], 0
    if isinstance(value, int):
        values = [value]
    else:
        while position < len(value) and len(values) <= MAX_SIDES:
            found, position = _read_varint(value, position)
            values.append(found)
    return [found - 2**64 if found >= 2**63 else found for found in values]


def _to_bytes(value: Value) -> bytes:
    return bytes(value) if isinstance(value, memoryview) else b"?"


def _to_text(value: Value) -> str:
    return _to_bytes(value)[:40].decode(errors="replace")
