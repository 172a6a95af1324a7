"""Creates a session's resources for operations, in their initial state."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace.core import engine, errors
from headrace.core.dtypes import DType, int64
from headrace.core.shapes import TensorShape
from headrace.graph import Operation, Role, SessionResource
from headrace.io.glob import matching_paths

__all__ = [
    "Resource",
    "capacity_of",
    "component_shapes",
    "component_types",
    "make",
    "make_generator",
    "seeds_of",
]

Resource: TypeAlias = (
    engine.Barrier
    | engine.LookupTable
    | engine.MutableTable
    | engine.Queue
    | engine.RandomGenerator
    | engine.Reader
    | engine.RecordInput
    | engine.SparseTable
    | engine.StagingArea
    | engine.Variable
)


def make(op: Operation, name: str) -> Resource:
    """Creates the resource of an operation.

    Args:
        op: The operation.
        name: The name of the resource, for messages.

    Raises:
        InvalidArgumentError: If the resource cannot be created.
    """
    kept = op.definition.kept
    maker = _MAKERS[op.definition.role] if kept is None else _KEEPERS[kept]
    try:
        return maker(op, name)
    except engine.EngineError as error:
        code, message, _, cause = error.args
        engine.raise_op_error(engine.EngineError(code, message, op.name, cause), op.graph)


def make_generator(op: Operation) -> engine.RandomGenerator:
    """Creates the random generator of an operation."""
    return engine.RandomGenerator(*seeds_of(op.attrs))


def _make_area(op: Operation, name: str) -> engine.StagingArea:
    limits = op.attrs["capacity"] or None, op.attrs["memory_limit"] or None
    return engine.StagingArea(name, *limits)


def _make_record_input(op: Operation, _: str) -> engine.RecordInput:
    patterns = op.attrs["file_pattern"].split(",")
    files = [name for pattern in patterns for name in sorted(matching_paths(pattern.encode()))]
    return engine.RecordInput(op.name, files, op.attrs)


def _make_barrier(op: Operation, name: str) -> engine.Barrier:
    types = [dtype.as_datatype_enum for dtype in component_types(op)]
    # TensorFlow treats an unknown shape as that of a scalar.
    shapes = [[] if shape.rank is None else shape.as_list() for shape in component_shapes(op)]
    return engine.Barrier(name, types, shapes)


def _make_table(op: Operation, _: str) -> engine.LookupTable | engine.MutableTable:
    types = [op.attrs[key].as_datatype_enum for key in ("key_dtype", "value_dtype")]
    if op.type == "HashTableV2":
        return engine.LookupTable(*types)
    shape: TensorShape = op.attrs.get("value_shape", TensorShape([]))
    key, value = types
    return engine.MutableTable(key, value, [size or 0 for size in shape.as_list()])


def _make_queue(op: Operation, name: str) -> engine.Queue:
    attrs = op.attrs
    dtypes = [dtype.as_datatype_enum for dtype in component_types(op)]
    shapes = [shape.as_list() for shape in component_shapes(op)] or None
    order: str | engine.ShuffleOrder = op.definition.queue_class
    if order == "RandomShuffleQueue":
        if attrs["min_after_dequeue"] < 0:
            text = f"min_after_dequeue {attrs['min_after_dequeue']} must be >= 0"
            raise errors.InvalidArgumentError(None, op, text)
        order = engine.ShuffleOrder(attrs["min_after_dequeue"], attrs["seed"], attrs["seed2"])
    return engine.Queue(name, capacity_of(op), dtypes, shapes, order)


_KEEPERS: Final[dict[SessionResource, Callable[[Operation, str], Resource]]] = {
    SessionResource.RECORD_INPUT: _make_record_input,
    SessionResource.STAGING_AREA: _make_area,
}
_MAKERS: Final[dict[Role, Callable[[Operation, str], Resource]]] = {
    Role.BARRIER: _make_barrier,
    Role.LOOKUP_TABLE: _make_table,
    Role.QUEUE: _make_queue,
    Role.READER: lambda op, _: engine.Reader(op.name, op.type, op.attrs),
    Role.SPARSE_TABLE: lambda *_: engine.SparseTable(),
    Role.VARIABLE: lambda op, _: engine.Variable(op.name),
}


def seeds_of(attrs: dict[str, Any]) -> tuple[int, int]:
    """Returns the graph's seed and the operation's seed, with 0 for a seed that is not set."""
    return attrs.get("seed", 0), attrs.get("seed2", 0)


def capacity_of(op: Operation) -> int | None:
    """Returns the maximum number of elements in a queue, or None for no limit."""
    capacity: int = op.attrs["capacity"]
    return capacity if capacity >= 0 else None


def component_types(op: Operation) -> list[DType]:
    """Returns the component types of a queue or barrier, including the priority of a queue."""
    types: list[DType] = op.attrs["component_types"]
    return [int64, *types] if op.definition.queue_class == "PriorityQueue" else types


def component_shapes(op: Operation) -> list[TensorShape]:
    """Returns one shape per component, or an empty list if components can have any shape."""
    shapes: list[TensorShape] = op.attrs["shapes"]
    return [TensorShape([]), *shapes] if op.definition.queue_class == "PriorityQueue" else shapes
