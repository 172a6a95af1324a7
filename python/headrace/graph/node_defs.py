"""Converts operations to protocol buffer messages for `op.node_def` and `graph.as_graph_def()`.

Each message is new, so changing it does not change the graph. It contains each operation's name,
type, inputs and device, and the attributes that TensorFlow also has. `_branch` lists an operation's
branches. Each entry is "+" for true or "-" for false, followed by the name of the condition. If
TensorFlow does not have an operation's type, `_output_types` and `_output_shapes` describe its
outputs. `headrace.tf1.graph_import` reads these messages.

Source: `tf.Operation.node_def` and `tf.make_tensor_proto` in TensorFlow 1.15.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import TensorShape
from headrace.graph.op_def import OpDef
from headrace.graph.versions import GRAPH_DEF_VERSION
from headrace.protos import (
    AttrValue,
    GraphDef,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)

__all__ = [
    "array_of",
    "attr_value",
    "make_graph_def",
    "make_node_def",
    "message_of",
    "output_attrs",
    "public_value",
    "python_value",
]

# Attributes that only headrace has.
_INTERNAL: Final = frozenset({"python_function"})


class DescribedTensor(Protocol):
    """The description of a tensor."""

    value_index: int
    dtype: DType

    @property
    def name(self) -> str: ...
    @property
    def op(self) -> "DescribedOperation": ...
    @property
    def shape(self) -> TensorShape: ...


class DescribedOperation(Protocol):
    """The parts of an operation that are needed to describe it.

    The class `Operation` is defined in a higher layer.
    """

    name: str
    type: str
    attrs: dict[str, Any]
    colocation: tuple[str, ...]

    @property
    def definition(self) -> OpDef: ...
    @property
    def branch(self) -> Any: ...
    @property
    def device(self) -> str: ...
    @property
    def inputs(self) -> Sequence[DescribedTensor]: ...
    @property
    def outputs(self) -> Sequence[DescribedTensor]: ...
    @property
    def control_inputs(self) -> Sequence["DescribedOperation"]: ...


def make_graph_def(ops: Iterable[DescribedOperation], add_shapes: bool = False) -> GraphDef:
    """Converts operations to a message.

    Args:
        ops: The operations.
        add_shapes: Whether to add the static shapes of each node's outputs as the attribute
            "_output_shapes".
    """
    nodes = []
    for op in ops:
        shapes = {"_output_shapes": [tensor.shape for tensor in op.outputs]} if add_shapes else {}
        nodes.append(make_node_def(op, shapes))
    return GraphDef(node=nodes, versions=VersionDef(producer=GRAPH_DEF_VERSION))


def make_node_def(
    op: DescribedOperation, more: Mapping[str, Any] | None = None, most_bytes: int | None = None
) -> NodeDef:
    """Converts an operation to a message.

    Args:
        op: The operation.
        more: Additional attributes.
        most_bytes: Values of constants with more bytes than this are omitted. If None, all values
            are stored.
    """
    inputs = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
    inputs += [f"^{control.name}" for control in op.control_inputs]
    items = {**op.attrs, **(more or {})}
    if op.definition.is_own:
        items |= output_attrs(op)
    if op.branch is not None:
        signs = {True: "+", False: "-"}
        items["_branch"] = [
            signs[part.is_taken_if] + part.predicate.name for part in op.branch.path
        ]
    if op.colocation:
        items["_class"] = list(op.colocation)
    attrs = {
        name: message
        for name, item in items.items()
        if name not in _INTERNAL
        and not _is_larger(item, most_bytes)
        and (message := attr_value(item)) is not None
    }
    return NodeDef(name=op.name, op=op.type, input=inputs, device=op.device, attr=attrs)


def output_attrs(op: DescribedOperation) -> dict[str, Any]:
    """Returns the attributes that describe an operation's outputs."""
    return {
        "_output_types": [tensor.dtype for tensor in op.outputs],
        "_output_shapes": [tensor.shape for tensor in op.outputs],
    }


def _is_larger(value: object, most_bytes: int | None) -> bool:
    return most_bytes is not None and isinstance(value, np.ndarray) and value.nbytes > most_bytes


def attr_value(value: object) -> AttrValue | None:
    """Converts an attribute to a message. Returns None if a message cannot store the attribute."""
    if not isinstance(value, (list, tuple)):
        field = _field(value)
        return None if field is None else AttrValue(**dict([field]))
    fields = [field for item in value if (field := _field(item)) is not None]
    kinds = {kind for kind, _ in fields}
    if len(fields) < len(value) or len(kinds) > 1:
        return None
    values = {kind: [item for _, item in fields] for kind in kinds}
    return AttrValue(list=AttrValue.ListValue(**values))


def public_value(value: object) -> Any:
    """Converts an attribute to the form that `Operation.get_attr` returns.

    As in TensorFlow, types are `DType`s, strings are bytes, and shapes and constants are messages.
    """
    if isinstance(value, (list, tuple)):
        return [public_value(item) for item in value]
    if isinstance(value, DType):
        return value.base_dtype
    field = _field(value)
    return value if field is None else field[1]


def python_value(message: AttrValue) -> Any:
    """Converts a message back to an attribute; the inverse of `attr_value`.

    Strings are `str` if they are valid UTF-8, and otherwise bytes.
    """
    kind = message.WhichOneof("value")
    if kind is None:
        return []
    if kind != "list":
        return _value(kind, getattr(message, kind))
    lists = message.list
    return [_value(field.name, item) for field, items in lists.ListFields() for item in items]


def _value(kind: str, item: Any) -> Any:
    if kind == "type":
        return as_dtype(item)
    if kind == "shape":
        return _static_shape(item)
    if kind == "tensor":
        return array_of(item)
    if kind == "s":
        try:
            return item.decode()
        except UnicodeDecodeError:
            return item
    return item


def _static_shape(message: TensorShapeProto) -> TensorShape:
    if message.unknown_rank:
        return TensorShape(None)
    return TensorShape([None if dim.size < 0 else dim.size for dim in message.dim])


def array_of(message: TensorProto) -> np.ndarray[Any, Any]:
    """Returns the array in a message.

    Raises:
        ResourceExhaustedError: If the array can never fit into the memory of this machine.
        ValueError: If the message contains more elements than its shape allows, or the wrong number
            of bytes.
    """
    dtype = as_dtype(message.dtype)
    sizes = [dim.size for dim in message.tensor_shape.dim]
    if any(size < 0 for size in sizes):
        raise ValueError(
            f"a tensor in a message has the shape {sizes}, but sizes cannot be negative."
        )
    check_array(sizes, dtype.as_numpy_dtype)
    count = math.prod(sizes)
    if dtype.as_numpy_dtype is np.object_:
        values = np.array([*message.string_val, None], dtype=object)[:-1]
    elif message.tensor_content:
        values = np.frombuffer(message.tensor_content, dtype.as_numpy_dtype)
    else:
        values = _elements(message, dtype)
    if 0 < len(values) < count and not message.tensor_content:
        # Elements that are omitted at the end equal the last element.
        values = np.concatenate([values, np.repeat(values[-1:], count - len(values))])
    elif not len(values) and count and not message.tensor_content:
        values = np.zeros(count, dtype.as_numpy_dtype)
    if len(values) != count:
        raise ValueError(
            f"a tensor of shape {sizes} in a message has {len(values)} elements, expected {count}."
        )
    return values.reshape(sizes).copy()


def _elements(message: TensorProto, dtype: DType) -> np.ndarray[Any, Any]:
    """Returns the elements of a message that lists them one by one."""
    field, _ = _VALUES[dtype.name]
    numbers = getattr(message, field)
    if dtype.name == "float16":
        return np.array(numbers, np.uint16).view(np.float16)
    if dtype.is_complex:
        parts = np.array(numbers, dtype.real_dtype.as_numpy_dtype)
        return parts.view(dtype.as_numpy_dtype)
    return np.array(numbers, dtype.as_numpy_dtype)


def _field(value: object) -> tuple[str, Any] | None:
    """Returns the field of `AttrValue` for a value that is not a list, and the field's value."""
    for kind, name, convert in _FIELDS:
        if isinstance(value, kind):
            return name, convert(value)
    return None


def message_of(value: np.ndarray[Any, Any], shape: Sequence[int] | None = None) -> TensorProto:
    """Converts an array to a message. One element is stored as a number, several elements as bytes.

    Args:
        value: The elements.
        shape: The shape, or None for the array's own shape. If elements are missing, the last
            element is repeated.
    """
    sizes = value.shape if shape is None else tuple(shape)
    is_text = value.dtype == object
    dtype = as_dtype(value.dtype)
    field, convert = ("string_val", _as_is) if is_text else _VALUES[dtype.name]
    is_whole = not is_text and value.size != 1 and value.size == math.prod(sizes)
    by_itself = {} if is_whole else {field: convert(value.ravel()).tolist()}
    return TensorProto(
        dtype=dtype.as_datatype_enum,
        tensor_shape=_shape(TensorShape(sizes)),
        tensor_content=value.tobytes() if is_whole else b"",
        **by_itself,
    )


def _shape(shape: TensorShape) -> TensorShapeProto:
    if shape.rank is None:
        return TensorShapeProto(unknown_rank=True)
    sizes = (-1 if size is None else size for size in shape.as_list())
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def _as_is(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values


def _parts(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ravel(np.column_stack([values.real, values.imag]))


# The fields of `TensorProto` for each tensor type, and how elements are stored in them.
_VALUES: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "float32": ("float_val", _as_is),
    "float64": ("double_val", _as_is),
    **dict.fromkeys(("int32", "int16", "int8", "uint8", "uint16"), ("int_val", _as_is)),
    "int64": ("int64_val", _as_is),
    "bool": ("bool_val", _as_is),
    "uint32": ("uint32_val", _as_is),
    "uint64": ("uint64_val", _as_is),
    "float16": ("half_val", lambda values: values.view(np.uint16)),
    "complex64": ("scomplex_val", _parts),
    "complex128": ("dcomplex_val", _parts),
}

# The fields of `AttrValue` for each attribute type. bool comes first, because a bool is also an
# int.
_FIELDS: Final[tuple[tuple[type, str, Callable[[Any], Any]], ...]] = (
    (DType, "type", lambda dtype: int(dtype.base_dtype)),
    (TensorShape, "shape", _shape),
    (np.ndarray, "tensor", message_of),
    (bool, "b", bool),
    (int, "i", int),
    (float, "f", float),
    (str, "s", str.encode),
    (bytes, "s", bytes),
)
