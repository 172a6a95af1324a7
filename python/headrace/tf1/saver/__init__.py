"""Checkpoints: the values of variables, in files that TensorFlow can also read and write."""

from headrace.tf1.saver.graph_file import write_graph
from headrace.tf1.saver.meta_graph import export_meta_graph
from headrace.tf1.saver.reader import (
    CheckpointReader,
    NewCheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from headrace.tf1.saver.saver import Saver
from headrace.tf1.saver.state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)

__all__ = [
    "CheckpointReader",
    "NewCheckpointReader",
    "Saver",
    "checkpoint_exists",
    "export_meta_graph",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "remove_checkpoint",
    "update_checkpoint_state",
    "write_graph",
]
