"""Checks that operations with the same shared name describe the same resource."""

from headrace.core import errors
from headrace.core.dtypes import kernel_name
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Operation, Role
from headrace.graph.lowering.creation import (
    capacity_of,
    component_shapes,
    component_types,
    seeds_of,
)

__all__ = ["check_same"]


def check_same(existing: Operation, op: Operation, name: str) -> None:
    """Raises an error unless two operations describe the same resource.

    Args:
        existing: The operation for which the resource was created.
        op: Another operation.
        name: The name that the operations share.

    Raises:
        InvalidArgumentError: If the operations differ.
    """
    if op.definition.kept is not None:
        return  # As in TensorFlow, the first operation determines the size.
    if existing.type != op.type:
        kind = existing.definition.queue_class or existing.type
        raise errors.InvalidArgumentError(
            None,
            op,
            f"Trying to access resource '{name}': Expected {kind}, found {op.type}",
        )
    compare = {
        Role.BARRIER: _compare_barriers,
        Role.LOOKUP_TABLE: _compare_tables,
        Role.QUEUE: _compare_queues,
    }.get(op.definition.role)
    text = compare(existing, op, name) if compare else None
    if text is not None:
        raise errors.InvalidArgumentError(None, op, f"Shared {text}")


def _compare_tables(existing: Operation, op: Operation, name: str) -> str | None:
    has, wants = (
        [kernel_name(one.attrs[key]) for key in ("key_dtype", "value_dtype")]
        for one in (existing, op)
    )
    if has == wants:
        return None
    return (
        f"table '{name}' maps {' to '.join(has)}, but a table from {' to '.join(wants)} was "
        "requested."
    )


def _compare_barriers(existing: Operation, op: Operation, name: str) -> str | None:
    for what, names in (("types", _type_names), ("shapes", _shape_names)):
        has, wants = names(existing), names(op)
        if has != wants:
            return (
                f"barrier '{name}' has component {what} {has} but requested component {what} were "
                f"{wants}"
            )
    return None


def _compare_queues(existing: Operation, op: Operation, name: str) -> str | None:
    has, wants = existing.attrs, op.attrs
    text = None
    if capacity_of(op) != capacity_of(existing):
        text = f"has capacity {has['capacity']} but requested capacity was {wants['capacity']}."
    elif component_types(op) != component_types(existing):
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
    elif seeds_of(wants) not in {(0, 0), seeds_of(has)}:
        text = f"has random seeds {seeds_of(has)} but requested seeds are {seeds_of(wants)}."
    return text and f"queue '{name}' {text}"


def _have_same_shapes(existing: Operation, op: Operation) -> bool:
    has, wants = component_shapes(existing), component_shapes(op)
    if op.definition.queue_class == "PaddingFIFOQueue":
        return all(map(TensorShape.is_compatible_with, has, wants))
    return has == wants


def _type_names(op: Operation) -> str:
    return ", ".join(kernel_name(dtype) for dtype in component_types(op))


def _shape_names(op: Operation) -> str:
    return f"[{', '.join(bracketed(shape) for shape in component_shapes(op))}]"
