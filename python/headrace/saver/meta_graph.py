"""Writes a graph down: the file `.meta` beside a checkpoint.

It says what the graph was: each operation's name, type, inputs, those attributes that TensorFlow
has too, and the types and static shapes of its outputs; and which tensors, operations and variables
the collections hold. TensorFlow's messages read it. It is not enough to make the graph again, here
or in TensorFlow: that would take Python functions, and each attribute of each operation as
TensorFlow defines it. So there is no `import_meta_graph`.

Source: `tf.train.export_meta_graph` of TensorFlow 1.15.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from headrace.atomic_file import replacing
from headrace.dtypes import DType, as_dtype
from headrace.graph import Graph, Operation, Tensor, get_default_graph
from headrace.ops.variables import Variable
from headrace.protos import (
    AttrValue,
    CollectionDef,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    VariableDef,
    VersionDef,
)
from headrace.shapes import TensorShape

__all__ = ["export_meta_graph"]

# The version of graphs that TensorFlow 1.15 writes.
_PRODUCER: Final = 134
# The values of larger constants are left out: every checkpoint would hold them again.
_MOST_CONSTANT_BYTES: Final = 1 << 16


def export_meta_graph(
    filename: str | os.PathLike[str] | None = None, graph: Graph | None = None
) -> MetaGraphDef:
    """Describes a graph as a message and writes it to a file.

    Args:
        filename: The file; None for none.
        graph: The graph; None for the default graph.

    Returns:
        The message, a `MetaGraphDef`. There is no way back from it to a graph.
    """
    graph = get_default_graph() if graph is None else graph
    meta_graph = MetaGraphDef(
        graph_def=GraphDef(
            node=[_node(op) for op in graph.get_operations()],
            versions=VersionDef(producer=_PRODUCER),
        ),
        collection_def={
            key: collection
            for key in graph.get_all_collection_keys()
            if (collection := _collection(graph.get_collection(key))) is not None
        },
    )
    if filename is not None:
        with replacing(filename) as file:
            file.write(meta_graph.SerializeToString(deterministic=True))
    return meta_graph


def _node(op: Operation) -> NodeDef:
    items = {
        **op.attrs,
        "_output_types": [tensor.dtype for tensor in op.outputs],
        "_output_shapes": [tensor.shape for tensor in op.outputs],
    }
    attrs = {name: value for name, item in items.items() if (value := _attr(item)) is not None}
    return NodeDef(name=op.name, op=op.type, input=op.node_def.input, attr=attrs)


def _attr(value: Any) -> AttrValue | None:
    """An attribute as a message; None if it has no form there."""
    if not isinstance(value, (list, tuple)):
        field = _field(value)
        return None if field is None else AttrValue(**dict([field]))
    fields = [field for item in value if (field := _field(item)) is not None]
    kinds = {kind for kind, _ in fields}
    if len(fields) < len(value) or len(kinds) > 1:
        return None
    values = {kind: [item for _, item in fields] for kind in kinds}
    return AttrValue(list=AttrValue.ListValue(**values))


def _field(value: Any) -> tuple[str, Any] | None:
    """The field of `AttrValue` for a value that is no list, and what it holds."""
    if isinstance(value, np.ndarray):
        return ("tensor", _tensor(value)) if value.nbytes <= _MOST_CONSTANT_BYTES else None
    for kind, name, convert in _FIELDS:
        if isinstance(value, kind):
            return name, convert(value)
    return None


def _tensor(value: np.ndarray[Any, Any]) -> TensorProto:
    is_text = value.dtype == object
    return TensorProto(
        dtype=as_dtype(value.dtype).as_datatype_enum,
        tensor_shape=_shape(TensorShape(value.shape)),
        string_val=value.ravel().tolist() if is_text else (),
        tensor_content=b"" if is_text else value.tobytes(),
    )


def _shape(shape: TensorShape) -> TensorShapeProto:
    if shape.rank is None:
        return TensorShapeProto(unknown_rank=True)
    sizes = (-1 if size is None else size for size in shape.as_list())
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def _collection(items: Iterable[Any]) -> CollectionDef | None:
    """A collection as a message; None if it holds anything else than graphs do."""
    items = list(items)
    if all(isinstance(item, Variable) for item in items):
        variables = [_variable(item).SerializeToString(deterministic=True) for item in items]
        return CollectionDef(bytes_list=CollectionDef.BytesList(value=variables))
    if all(isinstance(item, (Tensor, Operation)) for item in items):
        names = [item.name for item in items]
        return CollectionDef(node_list=CollectionDef.NodeList(value=names))
    return None


def _variable(variable: Variable) -> VariableDef:
    return VariableDef(
        variable_name=variable.name,
        initializer_name=variable.initializer.name,
        snapshot_name=variable.value().name,
        initial_value_name=variable.initial_value.name,
        trainable=variable.trainable,
    )


# The fields of `AttrValue` by the types of attributes here; a bool is also an int, so it is first.
_FIELDS: Final[tuple[tuple[type, str, Callable[[Any], Any]], ...]] = (
    (DType, "type", int),
    (TensorShape, "shape", _shape),
    (bool, "b", bool),
    (int, "i", int),
    (float, "f", float),
    (str, "s", str.encode),
    (bytes, "s", bytes),
)
