"""Writes the description of a graph to a file.

Source: `tf.train.write_graph` in TensorFlow 1.15.
"""

import os

from headrace.graph import Graph
from headrace.io.atomic_file import replacing
from headrace.protos import GraphDef
from headrace.protos.library import text_format
from headrace.tf1 import gfile

__all__ = ["write_graph"]


def write_graph(
    graph_or_graph_def: Graph | GraphDef,
    logdir: str | os.PathLike[str],
    name: str,
    as_text: bool = True,
) -> str:
    """Writes a graph to a file as a `GraphDef`.

    Args:
        graph_or_graph_def: The graph, or its `GraphDef`.
        logdir: The directory, which is created if it does not exist.
        name: Name of the file.
        as_text: Whether to write text instead of bytes.

    Returns:
        The path of the file.
    """
    argument = graph_or_graph_def
    graph_def = argument.as_graph_def() if isinstance(argument, Graph) else argument
    directory = os.fspath(logdir)
    gfile.MakeDirs(directory)
    path = os.path.join(directory, name)
    with replacing(path) as file:
        if as_text:
            file.write(text_format.MessageToString(graph_def).encode())
        else:
            file.write(graph_def.SerializeToString(deterministic=True))
    return path
