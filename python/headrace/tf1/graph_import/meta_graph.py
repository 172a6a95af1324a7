"""Imports a graph with its collections from a `MetaGraphDef` message.

Source: `tf.train.import_meta_graph` in TensorFlow 1.15.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headrace.graph import Graph, GraphKeys, TensorLike, get_default_graph
from headrace.protos.library import DecodeError, text_format
from headrace.tf1 import gfile, protos
from headrace.tf1.graph_import.graph_def import import_graph_def
from headrace.tf1.ops import Variable
from headrace.tf1.ops.queues.queue import restored_queue
from headrace.tf1.ops.variables.variable import restored_variable
from headrace.tf1.protos import CollectionDef, MetaGraphDef, VariableDef
from headrace.tf1.queue_runners import QueueRunner, QueueRunnerDef
from headrace.tf1.saver import Saver

__all__ = ["import_meta_graph"]

# The collections whose strings represent variables.
_VARIABLES: Final = frozenset(
    {
        *(GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES),
        *(GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES),
        *(GraphKeys.GLOBAL_STEP, GraphKeys.METRIC_VARIABLES),
    }
)


def import_meta_graph(
    meta_graph_or_file: MetaGraphDef | str | os.PathLike[str],
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Mapping[str, TensorLike] | None = None,
    allow_files: bool = False,
) -> Saver | None:
    """Adds an exported graph with its collections to the default graph.

    Queue runners are imported too, so `start_queue_runners` fills the queues of an imported input.

    Args:
        meta_graph_or_file: The result of `export_meta_graph`, or the file that it wrote. The
            `.meta` file of a `Saver` also works, unless a constant is larger than 64 KiB.
        clear_devices: Whether to remove the devices of operations.
        import_scope: A scope to add before all names (optional).
        input_map: See `import_graph_def`.
        allow_files: See `import_graph_def`.

    Returns:
        A saver for the graph's global variables, by their names in the message, or None if there
        are no variables.

    Raises:
        OSError: If the file does not exist or is not a `MetaGraphDef`.
        OpError: See `import_graph_def`.
        TypeError: See `import_graph_def`.
        ValueError: See `import_graph_def`.
    """
    source = meta_graph_or_file
    message = MetaGraphDef()
    message.CopyFrom(source if isinstance(source, MetaGraphDef) else _read(os.fspath(source)))
    if clear_devices:
        for node in message.graph_def.node:
            node.device = ""
    graph = get_default_graph()
    scope = "" if not import_scope else graph.unique_name(import_scope, mark_as_used=False)
    import_graph_def(message.graph_def, input_map, name=scope, allow_files=allow_files)
    saved: dict[str, Variable] = {}
    for key, collection in sorted(message.collection_def.items()):
        for name, item in _items(graph, key, collection, scope):
            graph.add_to_collection(key, item)
            if key == GraphKeys.GLOBAL_VARIABLES:
                saved[name] = item
    if not saved:
        logging.getLogger("headrace").info(
            "Saver not created because there are no variables in the graph to restore"
        )
        return None
    return Saver(saved)


def _read(path: str) -> MetaGraphDef:
    """Reads a file in binary or text format."""
    if not gfile.Exists(path):
        raise OSError(f"File {path} does not exist.")
    with gfile.Open(path, "rb") as file:
        content = file.read()
    try:
        return MetaGraphDef.FromString(content)
    except DecodeError:
        pass
    try:
        return text_format.Parse(content, MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None


def _items(
    graph: Graph, key: str, collection: CollectionDef, scope: str
) -> Iterator[tuple[str, Any]]:
    """Yields the items of a collection, each with its name in the message."""
    kind = collection.WhichOneof("kind")
    if kind is None:
        return
    values = getattr(collection, kind).value
    if kind == "node_list":
        yield from ((name, _find(graph, name, scope)) for name in values)
    elif kind == "bytes_list" and key in _VARIABLES:
        for value in values:
            described = VariableDef.FromString(value)
            name = described.variable_name.partition(":")[0]
            yield name, _variable(graph, described, scope)
    elif kind == "bytes_list" and key == GraphKeys.QUEUE_RUNNERS:
        for value in values:
            yield "", _runner(graph, protos.QueueRunnerDef.FromString(value), scope)
    else:
        yield from (("", value) for value in values)


def _find(graph: Graph, name: str, scope: str) -> Any:
    return graph.as_graph_element(f"{scope}/{name}" if scope else name)


def _variable(graph: Graph, described: VariableDef, scope: str) -> Variable:
    initializer = _find(graph, described.initializer_name, scope)
    initial = described.initial_value_name
    return restored_variable(
        _find(graph, described.variable_name, scope),
        initializer,
        _find(graph, described.snapshot_name, scope),
        _find(graph, initial, scope) if initial else initializer.inputs[1],
        described.trainable,
    )


def _runner(graph: Graph, described: protos.QueueRunnerDef, scope: str) -> QueueRunner:
    definition = QueueRunnerDef(
        described.queue_name,
        list(described.enqueue_op_name),
        described.close_op_name,
        described.cancel_op_name,
        list(described.queue_closed_exception_types),
    )
    runner = QueueRunner.from_proto(definition, scope or None)
    restored_queue(_find(graph, described.queue_name, scope)).add_runner(runner)
    return runner
