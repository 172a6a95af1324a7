"""Graphs of operations: what is to be computed, described before it is run."""

from headrace.graph.control import ControlScope
from headrace.graph.current import (
    add_to_collection,
    add_to_collections,
    call_at_reset,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_all_collection_keys,
    get_collection,
    get_collection_ref,
    get_default_graph,
    get_seed,
    graph_of,
    name_scope,
    reset_default_graph,
    set_random_seed,
)
from headrace.graph.devices import DeviceLike, DeviceSpec
from headrace.graph.evaluation import session_for_operation, session_for_tensor
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.graph.nodes import (
    Branch,
    GraphElementLike,
    HasOperation,
    IndexLike,
    IndexPart,
    Loop,
    Operation,
    SupportsTensor,
    Tensor,
    TensorLike,
)
from headrace.graph.op_def import Computed, Known, OpDef, Role, define, defined_types, definition_of
from headrace.graph.origin import find_place, is_own_file
from headrace.graph.stacks import SessionLike, default_session, get_default_session

__all__ = [
    "Branch",
    "Computed",
    "ControlScope",
    "DeviceLike",
    "DeviceSpec",
    "Graph",
    "GraphElementLike",
    "GraphKeys",
    "HasOperation",
    "IndexLike",
    "IndexPart",
    "Known",
    "Loop",
    "OpDef",
    "Operation",
    "Role",
    "SessionLike",
    "SupportsTensor",
    "Tensor",
    "TensorLike",
    "add_to_collection",
    "add_to_collections",
    "call_at_reset",
    "colocate_with",
    "container",
    "control_dependencies",
    "default_session",
    "define",
    "defined_types",
    "definition_of",
    "device",
    "find_place",
    "get_all_collection_keys",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_seed",
    "graph_of",
    "is_own_file",
    "name_scope",
    "reset_default_graph",
    "session_for_operation",
    "session_for_tensor",
    "set_random_seed",
]
