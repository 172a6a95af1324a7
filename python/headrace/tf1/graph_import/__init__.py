"""Graph import from messages: the inverse of `Graph.as_graph_def` and `export_meta_graph`."""

from headrace.tf1.graph_import.graph_def import import_graph_def
from headrace.tf1.graph_import.meta_graph import import_meta_graph

__all__ = ["import_graph_def", "import_meta_graph"]
