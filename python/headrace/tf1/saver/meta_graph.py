"""Writes the description of a graph: the `.meta` file of a checkpoint.

The file contains the name, type and inputs of each operation, the attributes that TensorFlow also
has, and the dtypes and static shapes of the outputs. It also contains the tensors, operations,
variables, queue runners, numbers and strings in the collections. TensorFlow's message classes can
read the file, and `headrace.tf1.graph_import` rebuilds the graph from it.

Source: `tf.train.export_meta_graph` in TensorFlow 1.15.
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from headrace.graph import Graph, Operation, Tensor, get_default_graph
from headrace.graph.node_defs import make_node_def, output_attrs
from headrace.graph.versions import GRAPH_DEF_VERSION
from headrace.io.atomic_file import replacing
from headrace.protos import GraphDef, NodeDef, VersionDef
from headrace.protos.library import text_format
from headrace.tf1 import protos
from headrace.tf1.ops.variables.variable import Variable
from headrace.tf1.protos import CollectionDef, MetaGraphDef, VariableDef
from headrace.tf1.queue_runners import QueueRunner

__all__ = ["export_meta_graph"]


def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: MetaGraphDef.MetaInfoDef | None = None,
    collection_list: Collection[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    clear_devices: bool = False,
    most_constant_bytes: int | None = None,
) -> MetaGraphDef:
    """Exports a graph as a `MetaGraphDef`, and optionally writes it to a file.

    Args:
        filename: The file to write (optional).
        meta_info_def: Information about the graph as a whole.
        collection_list: The keys of the collections to export. Defaults to all. Collections are
            skipped if they contain anything other than graph elements, queue runners, numbers and
            strings.
        as_text: Whether to write text instead of bytes.
        graph: The graph. Defaults to the default graph.
        clear_devices: Whether to omit the devices of operations.
        most_constant_bytes: Only in headrace. Values of larger constants are omitted, so that the
            graph cannot be imported. By default, no values are omitted.

    Returns:
        A `MetaGraphDef`, which you can import with `import_meta_graph`.
    """
    graph = get_default_graph() if graph is None else graph
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    meta_graph = MetaGraphDef(
        meta_info_def=meta_info_def,
        graph_def=GraphDef(
            node=[_node(op, most_constant_bytes) for op in graph.get_operations()],
            versions=VersionDef(producer=GRAPH_DEF_VERSION),
        ),
        collection_def={
            key: collection
            for key in keys
            if (collection := _collection(graph.get_collection(key))) is not None
        },
    )
    if clear_devices:
        for node in meta_graph.graph_def.node:
            node.device = ""
    if filename is not None:
        with replacing(filename) as file:
            if as_text:
                file.write(text_format.MessageToString(meta_graph).encode())
            else:
                file.write(meta_graph.SerializeToString(deterministic=True))
    return meta_graph


def _node(op: Operation, most_constant_bytes: int | None) -> NodeDef:
    return make_node_def(op, output_attrs(op), most_constant_bytes)


def _collection(items: Iterable[Any]) -> CollectionDef | None:
    """Converts a collection to a message. Returns None if no message can represent its items."""
    items = list(items)
    if _are(items, Tensor, Operation):
        names = [item.name for item in items]
        return CollectionDef(node_list=CollectionDef.NodeList(value=names))
    if _are(items, int):
        return CollectionDef(int64_list=CollectionDef.Int64List(value=items))
    if _are(items, float):
        return CollectionDef(float_list=CollectionDef.FloatList(value=items))
    texts: list[bytes] = []
    if _are(items, Variable):
        texts = [_variable(item).SerializeToString(deterministic=True) for item in items]
    elif _are(items, QueueRunner):
        texts = [_runner(item).SerializeToString(deterministic=True) for item in items]
    elif _are(items, str, bytes):
        texts = [item.encode() if isinstance(item, str) else item for item in items]
    else:
        return None
    return CollectionDef(bytes_list=CollectionDef.BytesList(value=texts))


def _are(items: list[Any], *kinds: type) -> bool:
    return all(isinstance(item, kinds) for item in items)


def _runner(runner: QueueRunner) -> protos.QueueRunnerDef:
    described = runner.to_proto()
    assert described is not None
    return protos.QueueRunnerDef(**asdict(described))


def _variable(variable: Variable) -> VariableDef:
    return VariableDef(
        variable_name=variable.name,
        initializer_name=variable.initializer.name,
        snapshot_name=variable.value().name,
        initial_value_name=variable.initial_value.name,
        trainable=variable.trainable,
    )
