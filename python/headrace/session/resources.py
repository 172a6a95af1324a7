"""What a session holds for its graph, made when first used: queues, readers, generators and more.

A resource belongs to the operation that names it, or to all operations with the same `shared_name`
in the same container.
"""

import itertools
import threading
from typing import Any, TypeAlias

from headrace import engine, errors
from headrace.dtypes import DType, int64, kernel_name
from headrace.graph import Operation, Role
from headrace.shapes import TensorShape, bracketed

__all__ = ["Resource", "Resources", "make_fresh"]

Resource: TypeAlias = (
    engine.Barrier
    | engine.LookupTable
    | engine.MutableTable
    | engine.Queue
    | engine.RandomGenerator
    | engine.Reader
    | engine.SparseTable
    | engine.StagingArea
    | engine.Variable
)


class Resources:
    """The resources of one session, by operation. May be used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._by_op: dict[Operation, Resource] = {}
        self._shared: dict[tuple[bool, str, str], tuple[Operation, Resource]] = {}
        self._generators: dict[Operation, engine.RandomGenerator] = {}
        self._numbers = itertools.count()

    def get(self, op: Operation) -> Resource:
        """Returns the resource that an operation stands for, made if it is not there yet.

        Raises:
            InvalidArgumentError: If it cannot be made, or another one shares its name.
        """
        with self._lock:
            resource = self._by_op.get(op)
            if resource is None:
                resource = self._by_op[op] = self._find_or_make(op)
            return resource

    def generator(self, op: Operation) -> engine.RandomGenerator:
        """Returns the random generator of an operation, made if it is not there yet."""
        with self._lock:
            generator = self._generators.get(op)
            if generator is None:
                generator = self._generators[op] = _make_generator(op)
            return generator

    def held(self, op: Operation) -> Resource:
        """Returns what the session holds for an operation, made if it is not there yet."""
        return self.generator(op) if op.definition.is_random else self.get(op)

    def made(self) -> dict[Operation, Resource]:
        """Returns all that was made so far, each once, by the first operation it belongs to."""
        with self._lock:
            by_op: dict[Operation, Resource] = {**self._by_op, **self._generators}
        first = {id(resource): op for op, resource in reversed(by_op.items())}
        return {op: resource for op, resource in by_op.items() if first[id(resource)] is op}

    def _find_or_make(self, op: Operation) -> Resource:
        shared_name = op.attrs.get("shared_name")
        if not shared_name:
            return _make(op, f"_{next(self._numbers)}_{op.name}")
        # Staging areas have names of their own.
        is_area = op.definition.uses_staging_area
        key = (is_area, op.attrs.get("container", ""), shared_name)
        if key in self._shared:
            existing, resource = self._shared[key]
            _check_same(existing, op, shared_name)
            return resource
        resource = _make(op, shared_name)
        self._shared[key] = (op, resource)
        return resource


def make_fresh(op: Operation) -> Resource:
    """Returns what an operation stands for, as it is in a session that has not run."""
    if op.definition.is_random:
        return _make_generator(op)
    return _make(op, op.name)


def _make_generator(op: Operation) -> engine.RandomGenerator:
    return engine.RandomGenerator(*_seeds(op.attrs))


def _make(op: Operation, name: str) -> Resource:
    role = op.definition.role
    if role is Role.VARIABLE:
        return engine.Variable(op.name)
    if op.definition.uses_staging_area:
        limits = op.attrs["capacity"] or None, op.attrs["memory_limit"] or None
        return engine.StagingArea(name, *limits)
    if role is Role.SPARSE_TABLE:
        return engine.SparseTable()
    try:
        if role is Role.BARRIER:
            return engine.Barrier(name, *_types_and_shapes(op))
        if role is Role.LOOKUP_TABLE:
            return _make_table(op)
        if role is Role.READER:
            return engine.Reader(op.name, op.type, op.attrs)
        return _make_queue(op, name)
    except engine.EngineError as error:
        code, message, _, cause = error.args
        engine.raise_op_error(engine.EngineError(code, message, op.name, cause), op.graph)


def _make_table(op: Operation) -> engine.LookupTable | engine.MutableTable:
    types = [op.attrs[key].as_datatype_enum for key in ("key_dtype", "value_dtype")]
    if op.type == "HashTableV2":
        return engine.LookupTable(*types)
    shape: TensorShape = op.attrs.get("value_shape", TensorShape([]))
    return engine.MutableTable(*types, [size or 0 for size in shape.as_list()])


def _types_and_shapes(op: Operation) -> tuple[list[int], list[list[int | None]]]:
    """The components of a barrier. TensorFlow takes a shape that is not known for a scalar's."""
    types: list[DType] = op.attrs["component_types"]
    shapes: list[TensorShape] = op.attrs["shapes"]
    return (
        [dtype.as_datatype_enum for dtype in types],
        [[] if shape.rank is None else shape.as_list() for shape in shapes],
    )


def _make_queue(op: Operation, name: str) -> engine.Queue:
    attrs = op.attrs
    dtypes = [dtype.as_datatype_enum for dtype in _component_types(op)]
    shapes = [shape.as_list() for shape in _component_shapes(op)] or None
    order: str | tuple[int, int, int] = op.definition.queue_class
    if order == "RandomShuffleQueue":
        if attrs["min_after_dequeue"] < 0:
            text = f"min_after_dequeue {attrs['min_after_dequeue']} must be >= 0"
            raise errors.InvalidArgumentError(None, op, text)
        order = (attrs["min_after_dequeue"], attrs["seed"], attrs["seed2"])
    return engine.Queue(name, _capacity(op), dtypes, shapes, order)


def _check_same(existing: Operation, op: Operation, name: str) -> None:
    """Raises unless two operations describe the same resource."""
    if op.definition.uses_staging_area:
        return  # As in TensorFlow, the first one says how large it is.
    if existing.type != op.type:
        found = existing.definition.queue_class or existing.type
        raise errors.InvalidArgumentError(
            None,
            op,
            f"Trying to access resource '{name}': Expected {found}, found {op.type}",
        )
    if op.definition.role is Role.LOOKUP_TABLE:
        has_types, wanted_types = (
            [kernel_name(one.attrs[key]) for key in ("key_dtype", "value_dtype")]
            for one in (existing, op)
        )
        if has_types != wanted_types:
            raise errors.InvalidArgumentError(
                None,
                op,
                f"Shared table '{name}' is from {' to '.join(has_types)}, but one from "
                f"{' to '.join(wanted_types)} was requested.",
            )
    if op.definition.role is Role.BARRIER:
        if existing.attrs["component_types"] != op.attrs["component_types"]:
            text = (
                f"component types {_type_names(existing)} but requested component types were "
                f"{_type_names(op)}"
            )
        elif _types_and_shapes(existing) != _types_and_shapes(op):
            text = (
                f"component shapes {_shape_names(existing)} but requested component shapes were "
                f"{_shape_names(op)}"
            )
        else:
            return
        raise errors.InvalidArgumentError(None, op, f"Shared barrier '{name}' has {text}")
    if op.definition.role is not Role.QUEUE:
        return
    has, wants = existing.attrs, op.attrs
    text = None
    if _capacity(op) != _capacity(existing):
        text = f"has capacity {has['capacity']} but requested capacity was {wants['capacity']}."
    elif _component_types(op) != _component_types(existing):
        text = (
            f"has component types {_type_names(existing)} but requested component types were "
            f"{_type_names(op)}."
        )
    elif not _have_same_shapes(existing, op):
        text = (
            f"has component shapes {_shape_names(existing)} but requested component shapes were "
            f"{_shape_names(op)}."
        )
    elif has.get("min_after_dequeue") != wants.get("min_after_dequeue"):
        text = (
            f"has min_after_dequeue {has['min_after_dequeue']} but requested min_after_dequeue was "
            f"{wants['min_after_dequeue']}."
        )
    elif _seeds(wants) not in {(0, 0), _seeds(has)}:
        text = f"has random seeds {_seeds(has)} but requested seeds are {_seeds(wants)}."
    if text is not None:
        raise errors.InvalidArgumentError(None, op, f"Shared queue '{name}' {text}")


def _seeds(attrs: dict[str, Any]) -> tuple[int, int]:
    return attrs.get("seed", 0), attrs.get("seed2", 0)


def _capacity(op: Operation) -> int | None:
    """The largest number of elements; None for any number."""
    capacity: int = op.attrs["capacity"]
    return capacity if capacity >= 0 else None


def _component_types(op: Operation) -> list[DType]:
    """The types of all components, including the priority of a priority queue."""
    types: list[DType] = op.attrs["component_types"]
    return [int64, *types] if op.definition.queue_class == "PriorityQueue" else types


def _component_shapes(op: Operation) -> list[TensorShape]:
    """One shape for each component; empty if components may have any shape."""
    shapes: list[TensorShape] = op.attrs["shapes"]
    return [TensorShape([]), *shapes] if op.definition.queue_class == "PriorityQueue" else shapes


def _have_same_shapes(existing: Operation, op: Operation) -> bool:
    has, wants = _component_shapes(existing), _component_shapes(op)
    if op.definition.queue_class == "PaddingFIFOQueue":
        return all(map(TensorShape.is_compatible_with, has, wants))
    return has == wants


def _type_names(op: Operation) -> str:
    return ", ".join(kernel_name(dtype) for dtype in _component_types(op))


def _shape_names(op: Operation) -> str:
    return f"[{', '.join(bracketed(shape) for shape in _component_shapes(op))}]"
