"""Writes the description of a graph: the file `.meta` beside a checkpoint.

It says what the graph was: each operation's name, type, inputs, those attributes that TensorFlow
has too, and the types and static shapes of its outputs; and which tensors, operations and variables
the collections hold. TensorFlow's messages read it. It is not enough to make the graph again, here
or in TensorFlow: that would take Python functions, and each attribute of each operation as
TensorFlow defines it. So there is no `import_meta_graph`.

Source: `tf.train.export_meta_graph` of TensorFlow 1.15.
"""

import os
from collections.abc import Iterable
from typing import Any, Final

from headrace.atomic_file import replacing
from headrace.graph import Graph, Operation, Tensor, get_default_graph
from headrace.graph.node_defs import make_node_def
from headrace.ops.variables.variable import Variable
from headrace.protos import (
    CollectionDef,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    VariableDef,
    VersionDef,
)

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
    outputs = {
        "_output_types": [tensor.dtype for tensor in op.outputs],
        "_output_shapes": [tensor.shape for tensor in op.outputs],
    }
    return make_node_def(op, outputs, _MOST_CONSTANT_BYTES)


def _collection(items: Iterable[Any]) -> CollectionDef | None:
    """Returns a collection as a message; None if it holds anything but elements of graphs."""
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
