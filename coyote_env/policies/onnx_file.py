"""What may be in a `policy.onnx`, checked before any runtime sees the file.

An ONNX file is a program. A runtime follows its references to other files, runs whatever operators it knows, and takes
the memory it is told to take. So the file is read here first, by a reader of our own (Protocol Buffers are a simple
format), on one principle: **whatever this reader does not understand is refused**. Then the bytes that were read, not
the path, go to the runtime. No optional package is needed for the check, so none can be missing for it.

What passes is a feed-forward network of the standard operators listed below, with `observation` and `action_mask` in
and `logits` out, all weights in the file. Sizes are followed through the graph for every batch size before that size is
run (`OnnxFile.check_batch`): a file of a few bytes that asks for terabytes by broadcasting fails there, by name.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_BYTES = 100_000_000  # of the file
MAX_FIELDS = 200_000  # parts of the file, so that reading takes at most a second or two
MAX_NODES = 4_096
MAX_NAME = 1_024  # bytes of a name
MAX_RANK = 8
MAX_ELEMENTS = 2**27  # of all intermediate results of one run together: 0.5 GiB of float32
MAX_MULTIPLY_ADDS = 2**37  # of one run: some seconds on one core
MAX_BATCH = 512  # rows handed to the runtime at once
MAX_VALUES = 64  # longest whole-number tensor whose values are followed (shapes, axes, slices)
OPSETS = (11, 28)  # oldest and newest version of the standard operators whose shapes are known below

INPUTS = ("observation", "action_mask")
OUTPUT = "logits"

# TensorProto.DataType -> numpy type. What is not here (strings, complex, quantised types) is refused.
_DTYPES: dict[int, str] = {
    1: "float32", 2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
}  # fmt: skip
_MASK_DTYPES = ("int8", "bool", "uint8", "int32", "int64", "float32")


# --- Protocol Buffers ------------------------------------------------------------------------------------------------
# A message is described by {field number: _Field}; a string instead is the reason why that field is refused.


@dataclass(frozen=True)
class _Field:
    name: str
    kind: Any  # "int", "float", "text", "bytes", "skip" (not looked at), or the description of a message
    repeated: bool = False


_Spec = dict[int, "_Field | str"]

_PAIR: _Spec = {1: _Field("key", "text"), 2: _Field("value", "skip")}
_TENSOR: _Spec = {
    1: _Field("dims", "int", True),
    2: _Field("data_type", "int"),
    4: _Field("float_data", "bytes"),  # the four *_data are packed arrays: kept as bytes
    5: _Field("int32_data", "bytes"),
    7: _Field("int64_data", "bytes"),
    8: _Field("name", "text"),
    9: _Field("raw_data", "bytes"),
    10: _Field("double_data", "bytes"),
    12: _Field("doc_string", "skip"),
    14: _Field("data_location", "int"),
    16: _Field("metadata_props", "skip", True),
    3: "a segmented tensor",
    6: "a tensor of strings",
    11: "a tensor of uint64",
    13: "external data (weights in another file)",
}
_DIMENSION: _Spec = {1: _Field("dim_value", "int"), 2: _Field("dim_param", "text"), 3: _Field("denotation", "skip")}
_SHAPE: _Spec = {1: _Field("dim", _DIMENSION, True)}
_TENSOR_TYPE: _Spec = {1: _Field("elem_type", "int"), 2: _Field("shape", _SHAPE)}
_TYPE: _Spec = {
    1: _Field("tensor_type", _TENSOR_TYPE),
    6: _Field("denotation", "skip"),
    **dict.fromkeys((4, 5, 7, 8, 9), "a value that is no plain tensor"),
}
_VALUE_INFO: _Spec = {
    1: _Field("name", "text"),
    2: _Field("type", _TYPE),
    3: _Field("doc_string", "skip"),
    4: _Field("metadata_props", "skip", True),
}
_ATTRIBUTE: _Spec = {
    1: _Field("name", "text"),
    2: _Field("f", "float"),
    3: _Field("i", "int"),
    4: _Field("s", "bytes"),
    5: _Field("t", _TENSOR),
    7: _Field("floats", "float", True),
    8: _Field("ints", "int", True),
    13: _Field("doc_string", "skip"),
    20: _Field("type", "int"),
    9: "an attribute of strings",
    21: "a reference to a function's attribute",
    **dict.fromkeys((6, 11), "a graph inside an operator"),
    **dict.fromkeys((10, 14, 15, 22, 23), "an attribute that is no number, string or tensor"),
}
_NODE: _Spec = {
    1: _Field("input", "text", True),
    2: _Field("output", "text", True),
    3: _Field("name", "text"),
    4: _Field("op_type", "text"),
    5: _Field("attribute", _ATTRIBUTE, True),
    6: _Field("doc_string", "skip"),
    7: _Field("domain", "text"),
    8: _Field("overload", "text"),
    9: _Field("metadata_props", "skip", True),
    10: "instructions for several devices",
}
_GRAPH: _Spec = {
    1: _Field("node", _NODE, True),
    2: _Field("name", "text"),
    5: _Field("initializer", _TENSOR, True),
    10: _Field("doc_string", "skip"),
    11: _Field("input", _VALUE_INFO, True),
    12: _Field("output", _VALUE_INFO, True),
    13: _Field("value_info", _VALUE_INFO, True),
    16: _Field("metadata_props", "skip", True),
    14: "quantisation",
    15: "a sparse tensor",
}
_OPSET: _Spec = {1: _Field("domain", "text"), 2: _Field("version", "int")}
_MODEL: _Spec = {
    1: _Field("ir_version", "int"),
    2: _Field("producer_name", "text"),
    3: _Field("producer_version", "text"),
    4: _Field("domain", "text"),
    5: _Field("model_version", "int"),
    6: _Field("doc_string", "skip"),
    7: _Field("graph", _GRAPH),
    8: _Field("opset_import", _OPSET, True),
    14: _Field("metadata_props", _PAIR, True),
    20: "training instructions",
    25: "functions of its own",
    26: "instructions for several devices",
}
# Attribute type -> the field that holds its value, the only one that may be set.
_ATTRIBUTE_TYPES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints"}


class _Reader:
    """Reads messages, counting fields: reading costs time by the field, not by the byte."""

    def __init__(self) -> None:
        self.fields = 0

    def message(self, data: memoryview, spec: _Spec) -> dict[str, Any]:
        """One message as {field name: value}; a repeated field is a list and always present."""
        result: dict[str, Any] = {f.name: [] for f in spec.values() if isinstance(f, _Field) and f.repeated}
        for number, wire, value in self._fields(data):
            field = spec.get(number)
            if not isinstance(field, _Field):
                raise ValueError(f"it holds {field}" if field else f"unknown field {number}")
            for item in self._values(field, wire, value):
                if field.repeated:
                    result[field.name].append(item)
                elif field.name in result:
                    # Other readers merge or overwrite here: then they would see a file that we did not check.
                    raise ValueError(f"the field {field.name} comes twice")
                else:
                    result[field.name] = item
        return result

    def _values(self, field: _Field, wire: int, value: Any) -> Iterator[Any]:
        kind = field.kind
        if kind == "int" and wire == 0:
            yield _signed(value)
        elif kind == "int" and wire == 2 and field.repeated:
            yield from self._packed(value)
        elif kind == "float" and wire == 5:
            yield struct.unpack("<f", value)[0]
        elif kind == "float" and wire == 2 and field.repeated and len(value) % 4 == 0:
            self._count(len(value) // 4)
            yield from np.frombuffer(value, "<f4").tolist()
        elif wire != 2 or kind in ("int", "float"):
            raise ValueError(f"the field {field.name} has wire type {wire}")
        elif kind == "bytes":
            yield value
        elif kind == "text":
            if len(value) > MAX_NAME:
                raise ValueError(f"the field {field.name} has {len(value):,} bytes; allowed: at most {MAX_NAME:,}")
            yield bytes(value).decode("utf-8")
        elif kind == "skip":
            yield None
        else:
            yield self.message(value, kind)

    def _packed(self, data: memoryview) -> Iterator[int]:
        at = 0
        while at < len(data):
            self._count(1)
            value, at = _varint(data, at)
            yield _signed(value)

    def _fields(self, data: memoryview) -> Iterator[tuple[int, int, Any]]:
        """(field number, wire type, int or memoryview) of each field of a message."""
        at, end = 0, len(data)
        while at < end:
            self._count(1)
            tag, at = _varint(data, at)
            number, wire = tag >> 3, tag & 7
            if wire == 0:
                value, at = _varint(data, at)
                yield number, wire, value
                continue
            if wire == 2:
                size, at = _varint(data, at)
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
            else:
                raise ValueError(f"wire type {wire} of field {number}")
            if size > end - at:
                raise ValueError(f"field {number} claims {size:,} bytes where {end - at:,} are left")
            yield number, wire, data[at : at + size]
            at += size

    def _count(self, number: int) -> None:
        self.fields += number
        if self.fields > MAX_FIELDS:
            raise ValueError(f"more than {MAX_FIELDS:,} fields")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The unsigned number at `at`, and where the next thing begins."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("the file ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, at
    raise ValueError("a number of more than 64 bits")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


# --- Tensors and shapes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Value:
    """What is known of a tensor before the network runs."""

    shape: tuple[int, ...]
    numbers: np.ndarray | None = None  # int64, the values of a short whole-number tensor that is known in advance

    @property
    def size(self) -> int:
        return math.prod(self.shape)  # Python's integers: no overflow


def _tensor(message: dict[str, Any]) -> _Value:
    """Shape (and values, if short and whole) of a TensorProto whose data is all there."""
    if message.get("data_location", 0) != 0:
        raise ValueError("it holds external data (weights in another file)")
    dtype = _DTYPES.get(message.get("data_type", 0))
    if dtype is None:
        raise ValueError(f"data type {message.get('data_type', 0)}; allowed: {', '.join(_DTYPES.values())}")
    shape = tuple(message["dims"])
    if len(shape) > MAX_RANK or any(not 0 <= n <= MAX_BYTES for n in shape):
        raise ValueError(f"shape {list(shape)[: MAX_RANK + 1]}; allowed: {MAX_RANK} dimensions up to {MAX_BYTES:,}")
    size = math.prod(shape)
    store, stored, itemsize = {
        "float32": ("float_data", "<f4", 4),
        "float64": ("double_data", "<f8", 8),
        "int64": ("int64_data", "varint", 8),
    }.get(dtype, ("int32_data", "varint", np.dtype(dtype).itemsize))
    present = [n for n in ("raw_data", "float_data", "int32_data", "int64_data", "double_data") if n in message]
    if present not in ([], ["raw_data"], [store]):
        raise ValueError(f"a tensor of {dtype} with its values in {', '.join(present)}")
    data = message[present[0]] if present else memoryview(b"")
    if present == ["raw_data"]:
        count, rest = divmod(len(data), itemsize)
    elif stored == "varint":
        # A varint ends at each byte under 128.
        ends = np.frombuffer(data, np.uint8) < 128
        count, rest = int(ends.sum()), int(len(data) > 0 and not ends[-1])
    else:
        count, rest = divmod(len(data), itemsize)
    if count != size or rest:
        raise ValueError(f"a tensor of shape {list(shape)} needs {size:,} values; the file holds {count:,}")
    numbers = None
    if dtype in ("int32", "int64") and size <= MAX_VALUES:
        if present == ["raw_data"]:
            numbers = np.frombuffer(data, f"<i{itemsize}").astype(np.int64).reshape(shape)
        else:
            values = list(_Reader()._packed(data))
            if dtype == "int32" and any(not -(2**31) <= v < 2**31 for v in values):
                raise ValueError("a value of more than 32 bits in a tensor of int32")
            numbers = np.array(values, np.int64).reshape(shape)
    return _Value(shape, numbers)


class _Node:
    """One operator with its attributes as plain values."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.op: str = message.get("op_type", "")
        self.inputs: list[str] = message["input"]
        self.outputs: list[str] = message["output"]
        self.attributes: dict[str, Any] = {}
        domain = message.get("domain", "")
        if domain not in ("", "ai.onnx"):
            raise ValueError(f"operator {self.op!r} of domain {domain!r}; allowed: the standard domain only")
        if message.get("overload"):
            raise ValueError(f"operator {self.op!r} with overload {message['overload']!r}")
        if self.op not in _RULES:
            raise ValueError(f"operator {self.op!r}; allowed: {', '.join(sorted(_RULES))}")
        for attribute in message["attribute"]:
            name = attribute.get("name", "")
            field = _ATTRIBUTE_TYPES.get(attribute.get("type", 0))
            values = {f for f in _ATTRIBUTE_TYPES.values() if attribute.get(f) not in (None, [])}
            if field is None or name in self.attributes or values - {field}:
                raise ValueError(f"operator {self.op!r}: attribute {name!r} is malformed")
            value = attribute.get(field)
            self.attributes[name] = _tensor(value) if field == "t" and value is not None else value

    def attribute(self, name: str, kind: type, default: Any) -> Any:
        """The attribute's value, checked for its type; `default` where the node has none."""
        value = self.attributes.get(name, default)
        if value is not default and not isinstance(value, kind):
            raise ValueError(f"attribute {name!r} is no {kind.__name__}")
        return value


class _Sizes:
    """Follows the sizes of every intermediate result through the graph, for one batch size."""

    def __init__(self) -> None:
        self.elements = 0
        self.multiply_adds = 0

    def node(self, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
        results = _RULES[node.op](self, node, inputs)
        if len(results) != len(node.outputs):
            raise ValueError(f"{len(node.outputs)} outputs; allowed: {len(results)}")
        for result in results:
            if len(result.shape) > MAX_RANK or min(result.shape, default=0) < 0:
                raise ValueError(f"a result of shape {list(result.shape)[: MAX_RANK + 1]}")
            self.elements += result.size
        if self.elements > MAX_ELEMENTS:
            raise ValueError(f"its results come to {self.elements:,} numbers; allowed: {MAX_ELEMENTS:,} in one run")
        if self.multiply_adds > MAX_MULTIPLY_ADDS:
            raise ValueError(f"{self.multiply_adds:,} multiplications; allowed: {MAX_MULTIPLY_ADDS:,} in one run")
        return results


_Rule = Callable[[_Sizes, _Node, Sequence["_Value | None"]], list[_Value]]


def _need(inputs: Sequence[_Value | None], at: int) -> _Value:
    value = inputs[at] if at < len(inputs) else None
    if value is None:
        raise ValueError(f"input {at} is missing")
    return value


def _numbers(inputs: Sequence[_Value | None], at: int) -> list[int] | None:
    """Values of an input that steers a shape; None where the node has no such input."""
    value = inputs[at] if at < len(inputs) else None
    if value is None:
        return None
    if value.numbers is None or value.numbers.ndim > 1:
        raise ValueError(f"the values of input {at} decide a shape and are not known in advance")
    return [int(n) for n in value.numbers.reshape(-1)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of {rank} dimensions")
    return axis % rank


def _broadcast(values: Sequence[_Value]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(v.shape for v in values))
    except ValueError:
        raise ValueError(f"the shapes {', '.join(str(list(v.shape)) for v in values)} do not fit") from None


def _same(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    """Element by element, or along an axis: the result is as large as the first input."""
    return [_Value(_need(inputs, 0).shape)]


def _carry(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    """Identity and Cast: as `_same`, and known whole numbers stay known as long as they stay whole."""
    value = _need(inputs, 0)
    if node.op == "Cast":
        dtype = _DTYPES.get(node.attribute("to", int, 0))
        if dtype is None:
            raise ValueError(f"a cast to type {node.attributes.get('to')}; allowed: {', '.join(_DTYPES.values())}")
        if dtype not in ("int32", "int64") or value.numbers is None or not _fits(value.numbers):
            return [_Value(value.shape)]
    return [value]


def _fits(numbers: np.ndarray) -> bool:
    """Whether all numbers fit in 32 bits. Others are not computed with: the runtime's may wrap around."""
    return bool((np.abs(numbers.astype(np.float64)) < 2**31).all())


def _elementwise(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    values = [_need(inputs, i) for i in range(len(inputs))]
    if not values:
        raise ValueError("no input")
    shape = _broadcast(values)
    function: np.ufunc | None = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}.get(node.op)
    known = [v.numbers for v in values if v.numbers is not None and _fits(v.numbers)]
    if not len(known) == len(values) == 2 or math.prod(shape) > MAX_VALUES:
        return [_Value(shape)]
    a, b = known
    if node.op == "Div" and (a >= 0).all() and (b > 0).all():
        function = np.floor_divide
    if function is None:
        return [_Value(shape)]
    result = np.asarray(function(a, b), np.int64)
    return [_Value(shape, result if _fits(result) else None)]


def _matmul(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    a, b = _need(inputs, 0), _need(inputs, 1)
    if not a.shape or not b.shape:
        raise ValueError("a factor without dimensions")
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if left[-1] != right[-2]:
        raise ValueError(f"the shapes {list(a.shape)} and {list(b.shape)} do not fit")
    shape = (*_broadcast([_Value(left[:-2]), _Value(right[:-2])]), left[-2], right[-1])
    sizes.multiply_adds += math.prod(shape) * left[-1]
    if len(a.shape) == 1:
        shape = (*shape[:-2], shape[-1])
    if len(b.shape) == 1:
        shape = shape[:-1]
    return [_Value(shape)]


def _gemm(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    a, b = _need(inputs, 0).shape, _need(inputs, 1).shape
    if len(a) != 2 or len(b) != 2:
        raise ValueError(f"the shapes {list(a)} and {list(b)} are no matrices")
    rows, inner = a[::-1] if node.attribute("transA", int, 0) else a
    inner_b, columns = b[::-1] if node.attribute("transB", int, 0) else b
    if inner != inner_b:
        raise ValueError(f"the shapes {list(a)} and {list(b)} do not fit")
    sizes.multiply_adds += rows * inner * columns
    return [_Value((rows, columns))]


def _reshape(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    value, target = _need(inputs, 0), _numbers(inputs, 1)
    if target is None:
        raise ValueError("input 1 is missing")
    if not node.attribute("allowzero", int, 0):
        target = [_need_dim(value, i) if n == 0 else n for i, n in enumerate(target)]
    if target.count(-1) == 1:
        others = math.prod(n for n in target if n != -1)
        target = [value.size // others if n == -1 and others > 0 else n for n in target]
    if min(target, default=0) < 0 or math.prod(target) != value.size:
        raise ValueError(f"{list(value.shape)} cannot take the shape {target}")
    return [_Value(tuple(target), None if value.numbers is None else value.numbers.reshape(target))]


def _need_dim(value: _Value, at: int) -> int:
    if at >= len(value.shape):
        raise ValueError(f"dimension {at} of {list(value.shape)}")
    return value.shape[at]


def _flatten(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    shape = _need(inputs, 0).shape
    axis = node.attribute("axis", int, 1)
    if not -len(shape) <= axis <= len(shape):
        raise ValueError(f"axis {axis} of {len(shape)} dimensions")
    axis = axis + len(shape) if axis < 0 else axis
    return [_Value((math.prod(shape[:axis]), math.prod(shape[axis:])))]


def _axes(node: _Node, inputs: Sequence[_Value | None]) -> list[int] | None:
    """Axes as an attribute (older versions of an operator) or as input 1."""
    axes = node.attribute("axes", list, None)
    return axes if axes is not None else _numbers(inputs, 1)


def _squeeze(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    value, axes = _need(inputs, 0), _axes(node, inputs)
    rank = len(value.shape)
    gone = [i for i, n in enumerate(value.shape) if n == 1] if axes is None else [_axis(a, rank) for a in axes]
    if any(value.shape[i] != 1 for i in gone):
        raise ValueError(f"axes {gone} of {list(value.shape)} are not all 1")
    shape = tuple(n for i, n in enumerate(value.shape) if i not in gone)
    return [_Value(shape, None if value.numbers is None else value.numbers.reshape(shape))]


def _unsqueeze(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    value, axes = _need(inputs, 0), _axes(node, inputs)
    if axes is None:
        raise ValueError("no axes")
    rank = len(value.shape) + len(axes)
    new = {_axis(a, rank) for a in axes}
    if rank > MAX_RANK or len(new) != len(axes):
        raise ValueError(f"axes {axes[: MAX_RANK + 1]} for {list(value.shape)}")
    old = iter(value.shape)
    shape = tuple(1 if i in new else next(old) for i in range(rank))
    return [_Value(shape, None if value.numbers is None else value.numbers.reshape(shape))]


def _transpose(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    shape = _need(inputs, 0).shape
    order = node.attribute("perm", list, None) or list(range(len(shape)))[::-1]
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"order {order[: MAX_RANK + 1]} of {len(shape)} dimensions")
    return [_Value(tuple(shape[i] for i in order))]


def _concat(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    values = [_need(inputs, i) for i in range(len(inputs))]
    if not values:
        raise ValueError("no input")
    first = values[0].shape
    if "axis" not in node.attributes:
        raise ValueError("no axis")
    axis = _axis(node.attribute("axis", int, 0), len(first))
    for value in values:
        if len(value.shape) != len(first) or any(
            n != m for i, (n, m) in enumerate(zip(value.shape, first, strict=True)) if i != axis
        ):
            raise ValueError(f"the shapes {list(first)} and {list(value.shape)} do not fit")
    shape = (*first[:axis], sum(v.shape[axis] for v in values), *first[axis + 1 :])
    known = [v.numbers for v in values if v.numbers is not None]
    numbers = np.concatenate(known, axis) if len(known) == len(values) and math.prod(shape) <= MAX_VALUES else None
    return [_Value(shape, numbers)]


def _split(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    shape = _need(inputs, 0).shape
    axis = _axis(node.attribute("axis", int, 0), len(shape))
    parts = node.attribute("split", list, None)
    parts = parts if parts is not None else _numbers(inputs, 1)
    if parts is None:
        pieces = node.attribute("num_outputs", int, len(node.outputs))
        if not 1 <= pieces == len(node.outputs):
            raise ValueError(f"{pieces} parts for {len(node.outputs)} outputs")
        part = -(-shape[axis] // pieces)
        parts = [part] * (pieces - 1) + [shape[axis] - part * (pieces - 1)]
    if min(parts, default=-1) < 0 or sum(parts) != shape[axis]:
        raise ValueError(f"{list(shape)} cannot be split into {parts[:MAX_RANK]} along axis {axis}")
    return [_Value((*shape[:axis], n, *shape[axis + 1 :])) for n in parts]


def _slice(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    value = _need(inputs, 0)
    starts, ends = _numbers(inputs, 1), _numbers(inputs, 2)
    if starts is None or ends is None:
        raise ValueError("starts or ends are missing")
    axes = _numbers(inputs, 3) or list(range(len(starts)))
    steps = _numbers(inputs, 4) or [1] * len(starts)
    axes = [_axis(a, len(value.shape)) for a in axes]
    if not len(starts) == len(ends) == len(axes) == len(set(axes)) == len(steps) or 0 in steps:
        raise ValueError("starts, ends, axes and steps do not fit")
    cuts = [slice(None)] * len(value.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        cuts[axis] = slice(start, end, step)
    shape = tuple(len(range(*cut.indices(n))) for cut, n in zip(cuts, value.shape, strict=True))
    return [_Value(shape, None if value.numbers is None else value.numbers[tuple(cuts)])]


def _gather(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    value, index = _need(inputs, 0), _need(inputs, 1)
    axis = _axis(node.attribute("axis", int, 0), len(value.shape))
    shape = (*value.shape[:axis], *index.shape, *value.shape[axis + 1 :])
    numbers = None
    if value.numbers is not None and index.numbers is not None and math.prod(shape) <= MAX_VALUES:
        size = value.shape[axis]
        if index.numbers.size and not (-size <= index.numbers.min() and index.numbers.max() < size):
            raise ValueError(f"an index beyond {size} elements")
        numbers = np.take(value.numbers, index.numbers, axis)
    return [_Value(shape, numbers)]


def _shape(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    shape = _need(inputs, 0).shape[slice(node.attribute("start", int, 0), node.attribute("end", int, None))]
    return [_Value((len(shape),), np.array(shape, np.int64))]


def _constant(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    if len(node.attributes) != 1:
        raise ValueError(f"attributes {sorted(node.attributes)}; allowed: one value")
    name, value = next(iter(node.attributes.items()))
    if name == "value" and isinstance(value, _Value):
        return [value]
    if name == "value_int" and isinstance(value, int):
        return [_Value((), np.array(value, np.int64))]
    if name == "value_ints" and isinstance(value, list):
        return [_Value((len(value),), np.array(value, np.int64) if len(value) <= MAX_VALUES else None)]
    if name == "value_float":
        return [_Value(())]
    if name == "value_floats" and isinstance(value, list):
        return [_Value((len(value),))]
    raise ValueError(f"attribute {name!r}")


def _filled(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    """ConstantOfShape and Expand: a shape given as values."""
    target = _numbers(inputs, len(inputs) - 1)
    if target is None or min(target, default=0) < 0:
        raise ValueError(f"the shape {target}")
    if node.op == "Expand":
        return [_Value(_broadcast([_need(inputs, 0), _Value(tuple(target))]))]
    return [_Value(tuple(target))]


def _reduce(sizes: _Sizes, node: _Node, inputs: Sequence[_Value | None]) -> list[_Value]:
    shape, axes = _need(inputs, 0).shape, _axes(node, inputs)
    if not axes and node.attribute("noop_with_empty_axes", int, 0):
        return [_Value(shape)]
    gone = {_axis(a, len(shape)) for a in axes} if axes else set(range(len(shape)))
    if node.attribute("keepdims", int, 1):
        return [_Value(tuple(1 if i in gone else n for i, n in enumerate(shape)))]
    return [_Value(tuple(n for i, n in enumerate(shape) if i not in gone))]


def _all(rule: _Rule, *names: str) -> dict[str, _Rule]:
    return dict.fromkeys(names, rule)


# fmt: off
_RULES: dict[str, _Rule] = {
    **_all(
        _same,
        "Abs", "Ceil", "Celu", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
        "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax", "Mish", "Neg", "Not", "RMSNormalization", "Reciprocal",
        "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh",
        "ThresholdedRelu",
    ),
    **_all(
        _elementwise,
        "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod",
        "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
    ),
    **_all(
        _reduce,
        "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    ),
    "Cast": _carry,
    "Identity": _carry,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Expand": _filled,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Reshape": _reshape,
    "Shape": _shape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
# fmt: on
OPERATORS: tuple[str, ...] = tuple(sorted(_RULES))


# --- The file --------------------------------------------------------------------------------------------------------


class OnnxFile:
    """A network that has passed the checks. If it does not: ValueError, saying what is wrong and what is allowed.

    Attributes: `mask_dtype`, the numpy type that the network wants for `action_mask`; `num_actions` and
    `observation_size`, the widths of `logits` (and the mask) and of `observation`.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            raise ValueError(f"{len(data):,} bytes; allowed: {MAX_BYTES:,}")
        try:
            model = _Reader().message(memoryview(data), _MODEL)
        except ValueError as error:  # UnicodeDecodeError is one
            raise ValueError(f"not an ONNX network as allowed here: {error}") from None
        if "graph" not in model:
            raise ValueError("not an ONNX network as allowed here: it holds no graph")
        if any(pair.get("key") == "ort_config" for pair in model["metadata_props"]):
            raise ValueError("it holds settings for the runtime (ort_config)")
        self._check_opsets(model["opset_import"])
        graph = model["graph"]
        if len(graph["node"]) > MAX_NODES:
            raise ValueError(f"{len(graph['node']):,} operators; allowed: {MAX_NODES:,}")
        self._constants: dict[str, _Value] = {}
        for message in graph["initializer"]:
            name = message.get("name", "")
            if not name or name in self._constants:
                raise ValueError(f"a weight named {name!r} without a name of its own")
            try:
                self._constants[name] = _tensor(message)
            except ValueError as error:
                raise ValueError(f"weight {name!r}: {error}") from None
        self._nodes = [_Node(message) for message in graph["node"]]
        self._declared = [(v.get("name", ""), _declared_type(v)) for v in graph["value_info"]]
        # Weights may be listed among the inputs (older files); what is left must be exactly ours.
        inputs = [(v.get("name", ""), _declared_type(v)) for v in graph["input"]]
        outputs = [(v.get("name", ""), _declared_type(v)) for v in graph["output"]]
        names = [name for name, _ in inputs if name not in self._constants]
        if sorted(names) != sorted(INPUTS):
            raise ValueError(f"inputs {names}; allowed: {list(INPUTS)}")
        if [name for name, _ in outputs] != [OUTPUT]:
            raise ValueError(f"outputs {[name for name, _ in outputs]}; allowed: [{OUTPUT!r}]")
        types = dict(inputs + outputs)
        self.observation_size = _width(types, "observation", ("float32",))
        self.num_actions = _width(types, OUTPUT, ("float32", "float64"))
        mask_size = _width(types, "action_mask", _MASK_DTYPES)
        if mask_size != self.num_actions:
            raise ValueError(f"{OUTPUT} for {self.num_actions} actions and action_mask for {mask_size}")
        self.mask_dtype = np.dtype(types["action_mask"][0])
        self._declared += inputs + outputs
        self._checked: set[int] = set()
        self.check_batch(1)
        self.check_batch(MAX_BATCH)

    @staticmethod
    def _check_opsets(opsets: list[dict[str, Any]]) -> None:
        domains = [o.get("domain", "") for o in opsets]
        if any(domain not in ("", "ai.onnx") for domain in domains):
            raise ValueError(f"operators of the domains {domains}; allowed: the standard domain only")
        if len(domains) != 1 or not OPSETS[0] <= opsets[0].get("version", 0) <= OPSETS[1]:
            versions = [o.get("version", 0) for o in opsets]
            raise ValueError(f"operator set versions {versions}; allowed: one, from {OPSETS[0]} to {OPSETS[1]}")

    def check_batch(self, rows: int) -> None:
        """Follow all sizes for a batch of `rows` (1..MAX_BATCH). ValueError if a limit is passed or shapes do not fit.

        Cheap, and remembered: a graph may compute its sizes from the batch's in any way, so each size is checked
        before it is first run.
        """
        if rows in self._checked:
            return
        if not 1 <= rows <= MAX_BATCH:
            raise ValueError(f"a batch of {rows} rows; allowed: 1 to {MAX_BATCH}")
        values = dict(self._constants)
        values["observation"] = _Value((rows, self.observation_size))
        values["action_mask"] = _Value((rows, self.num_actions))
        sizes = _Sizes()
        for node in self._nodes:
            try:
                inputs = []
                for name in node.inputs:
                    if name and name not in values:
                        raise ValueError(f"its input {name!r} does not exist at this point")
                    inputs.append(values[name] if name else None)
                for name, value in zip(node.outputs, sizes.node(node, inputs), strict=True):
                    if not name or name in values:
                        raise ValueError(f"its result {name!r} has no name of its own")
                    values[name] = value
            except ValueError as error:
                raise ValueError(f"operator {node.op!r} giving {node.outputs[:4]}: {error}") from None
        if OUTPUT not in values or values[OUTPUT].shape != (rows, self.num_actions):
            found = list(values[OUTPUT].shape) if OUTPUT in values else "nothing"
            raise ValueError(f"{OUTPUT} is {found} for {rows} rows; allowed: {[rows, self.num_actions]}")
        # Runtimes plan memory by the declared shapes, so those must not lie.
        for name, (_, shape) in self._declared:
            if name in values and shape is not None:
                real = values[name].shape
                if len(shape) != len(real) or any(n is not None and n != m for n, m in zip(shape, real, strict=True)):
                    raise ValueError(f"{name!r} is declared as {shape}; it is {list(real)}")
        self._checked.add(rows)


_Declared = tuple[str, "list[int | None] | None"]  # numpy type name, dimensions (None: free), or None: no shape given


def _declared_type(message: dict[str, Any]) -> _Declared:
    tensor = message.get("type", {}).get("tensor_type", {})
    if "shape" not in tensor:
        return _DTYPES.get(tensor.get("elem_type", 0), ""), None
    shape: list[int | None] = []
    for dimension in tensor["shape"]["dim"]:
        if "dim_value" in dimension and "dim_param" in dimension:
            raise ValueError(f"{message.get('name', '')!r} has a dimension that is both fixed and free")
        shape.append(dimension.get("dim_value"))
    return _DTYPES.get(tensor.get("elem_type", 0), ""), shape


def _width(types: dict[str, _Declared], name: str, dtypes: Sequence[str]) -> int:
    """The width of an input or output (batch, width) whose batch is free."""
    dtype, shape = types[name]
    if dtype not in dtypes:
        raise ValueError(f"{name} of type {dtype or 'unknown'}; allowed: {', '.join(dtypes)}")
    if shape is None or len(shape) != 2 or shape[0] is not None or shape[1] is None or not 1 <= shape[1] <= 1_000_000:
        raise ValueError(
            f"{name} of shape {shape}; allowed: [batch, width], the batch free (a dynamic axis) and the width fixed"
        )
    return shape[1]
