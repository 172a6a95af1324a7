"""The default graph, and the module-level functions that use it.

Source: the functions of the same names in `tf`, TensorFlow 1.15.
"""

import threading
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Final

from headrace.core.function_threads import check_makes_nodes
from headrace.graph.control import ControlScope
from headrace.graph.devices import DeviceLike
from headrace.graph.graph import Graph
from headrace.graph.nodes import GraphElementLike, HasOperation, Operation
from headrace.graph.stacks import default_graphs

__all__ = [
    "add_to_collection",
    "add_to_collections",
    "call_at_reset",
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "get_all_collection_keys",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_seed",
    "graph_of",
    "name_scope",
    "reset_default_graph",
    "set_random_seed",
]

_DEFAULT_GRAPH_SEED: Final = 87654321
_SEED_LIMIT: Final = 2**31 - 1

_process_lock = threading.Lock()
# The default graph of all threads that have not entered another one. Guarded by `_process_lock`.
_process_graph: list[Graph] = []
_reset_callbacks: list[Callable[[Graph], object]] = []


def get_default_graph() -> Graph:
    """Returns this thread's innermost default graph, or else the default graph of the process.

    Raises:
        TypeError: If called in a pipeline's Python function, outside `with graph.as_default():`.
    """
    innermost: Graph | None = default_graphs.innermost()
    if innermost is not None:
        return innermost
    check_makes_nodes()
    with _process_lock:
        if not _process_graph:
            _process_graph.append(Graph())
        return _process_graph[0]


def reset_default_graph() -> None:
    """Replaces the default graph of the process with an empty one.

    Sessions of the old graph stay open, but their queue runners stop. This lets you run a notebook
    cell again without leaving threads behind.

    Raises:
        AssertionError: If this thread is inside a `with graph.as_default():` block.
    """
    if default_graphs.innermost() is not None:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    with _process_lock:
        replaced, _process_graph[:] = list(_process_graph), [Graph()]
    for graph in replaced:
        for callback in _reset_callbacks:
            callback(graph)


def call_at_reset(callback: Callable[[Graph], object]) -> None:
    """Registers a function to call with each graph that `reset_default_graph` replaces."""
    _reset_callbacks.append(callback)


def graph_of(values: Iterable[object]) -> Graph:
    """Returns the graph in which to create an operation on these values.

    Args:
        values: Tensors, operations and variables. Other objects are ignored.

    Returns:
        The values' graph, or the default graph if no value has one.

    Raises:
        ValueError: If the values belong to different graphs.
    """
    graph_so_far: Graph | None = None
    first: object = None
    for value in values:
        graph = getattr(value, "graph", None)
        if not isinstance(graph, Graph):
            continue
        if graph_so_far is None:
            graph_so_far, first = graph, value
        elif graph is not graph_so_far:
            raise ValueError(f"{value} must be from the same graph as {first}.")
    return get_default_graph() if graph_so_far is None else graph_so_far


class name_scope:
    """A name scope in the graph of some values, which becomes the default graph inside the scope.

    Args:
        name: The name of the scope; see `Graph.name_scope`.
        default_name: The name to use if `name` is None.
        values: The inputs of the operations inside the scope.

    Raises:
        TypeError: If `default_name` is not a string.
        ValueError: On entering the scope, if values are passed without a name.
    """

    def __init__(
        self,
        name: str | None,
        default_name: str | None = None,
        values: Iterable[object] | None = None,
    ) -> None:
        if default_name is not None and not isinstance(default_name, str):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely "
                "meant to pass this into the `values` kwarg."
            )
        self._name = default_name if name is None else name
        self._default_name = default_name
        self._values = values
        self._exits: list[ExitStack] = []

    @property
    def name(self) -> str | None:
        """The name as passed, before it is made unique."""
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError(
                f"At least one of name ({self._name}) and default_name ({self._default_name}) "
                "must be provided."
            )
        graph = graph_of(() if self._values is None else self._values)
        with ExitStack() as exits:
            exits.enter_context(graph.as_default())
            scope = exits.enter_context(graph.name_scope(self._name))
            self._exits.append(exits.pop_all())
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exits.pop().__exit__(kind, error, trace)


def control_dependencies(control_inputs: Iterable[GraphElementLike] | None) -> ControlScope:
    """Calls `Graph.control_dependencies` on the default graph."""
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: DeviceLike) -> AbstractContextManager[None]:
    """Calls `Graph.device` on the default graph."""
    return get_default_graph().device(device_name_or_function)


def colocate_with(
    op: HasOperation | Operation | None, ignore_existing: bool = False
) -> AbstractContextManager[None]:
    """Calls `Graph.colocate_with` on the default graph."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Calls `Graph.container` on the default graph."""
    return get_default_graph().container(container_name)


def add_to_collection(name: Hashable, value: object) -> None:
    """Calls `Graph.add_to_collection` on the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Iterable[Hashable], value: object) -> None:
    """Calls `Graph.add_to_collections` on the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """Calls `Graph.get_collection` on the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """Calls `Graph.get_collection_ref` on the default graph."""
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys() -> list[str]:
    """Calls `Graph.get_all_collection_keys` on the default graph."""
    return get_default_graph().get_all_collection_keys()


def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's seed. Operations without a seed derive their own from it."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Combines the default graph's seed with an operation's seed.

    Args:
        op_seed: The operation's own seed, or None.

    Returns:
        The two halves of the operation's seed. If neither seed is set, both halves are None, and
        every session draws a different sequence. Operations store 0 for None.

    Source:
        `tf.get_seed` in TensorFlow 1.15, where an operation without a seed uses the number of
        operations created so far.
    """
    graph = get_default_graph()
    if graph.seed is not None:
        op_seed = graph.version if op_seed is None else op_seed
        seeds = graph.seed % _SEED_LIMIT, int(op_seed % _SEED_LIMIT)
    elif op_seed is not None:
        seeds = _DEFAULT_GRAPH_SEED, int(op_seed % _SEED_LIMIT)
    else:
        return None, None
    return (0, _SEED_LIMIT) if seeds == (0, 0) else seeds
