"""Checks the arguments of queues: capacity, dtypes, shapes and names of components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsInt, TypeAlias

from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import ShapeLike, TensorShape, as_shape

__all__ = [
    "Shapes",
    "as_integer",
    "as_names",
    "as_partial_shapes",
    "as_shapes",
    "as_shared_name",
    "as_types",
    "is_single_shape",
]


# The shapes of components: a list of them, or the shape of the only component.
Shapes: TypeAlias = TensorShape | Sequence[ShapeLike]


def as_integer(value: SupportsInt | None, argument: str, default: int) -> int:
    """Converts a number to an integer. A float is truncated.

    Args:
        value: The value, or None for `default`.
        argument: The argument name for error messages.
        default: The number to use for None.

    Raises:
        TypeError: If the value is not a number.
    """
    if value is None:
        return default
    try:
        if not isinstance(value, (str, bytes)):
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise TypeError(f"Expected int for argument '{argument}' not {value!r}.")


def as_shared_name(value: str | bytes | None) -> str:
    """Returns a shared name, or "" for None.

    Raises:
        TypeError: If the name is not a string.
    """
    if isinstance(value, bytes):
        return value.decode()
    if value is not None and not isinstance(value, str):
        raise TypeError(f"Expected string for argument 'shared_name' not {value!r}.")
    return value or ""


def as_types(dtypes: DTypeLike | Sequence[DTypeLike]) -> tuple[list[Any], list[DType]]:
    """Returns a list of the component types as given, and a list of `DType`s.

    Raises:
        AssertionError: If the types are None.
        TypeError: If an item is not a type.
        ValueError: If the list is empty.
    """
    assert dtypes is not None, "dtypes must be given"
    items = _as_list(dtypes)
    if not items:
        raise ValueError("dtypes is empty. Pass the type of at least one component.")
    return items, [as_dtype(dtype) for dtype in items]


def as_names(names: str | Sequence[str] | None, num_components: int) -> list[str] | None:
    """Returns the component names in a list, or None.

    Raises:
        ValueError: If the numbers of names and components differ.
    """
    if names is None:
        return None
    items = _as_list(names)
    if len(items) != num_components:
        raise ValueError(
            "List of names must have the same length as the list of dtypes: got "
            f"{len(items)} names, expected {num_components}."
        )
    return items


def is_single_shape(shapes: Sequence[Any]) -> bool:
    """Returns whether a list is one shape, of integers and None, rather than a list of shapes."""
    return all(_is_size(item) for item in shapes)


def as_shapes(shapes: Shapes | None, num_components: int) -> list[TensorShape] | None:
    """Returns one fully defined shape for each component, or None.

    Args:
        shapes: None, a shape, or a list of shapes. A list of integers is one shape.
        num_components: The required number of components.

    Raises:
        TypeError: If `shapes` is neither a shape nor a list.
        ValueError: If a shape is not fully defined, or the number of shapes is wrong.
    """
    if shapes is None:
        return None
    items: Sequence[Any] = _as_shape_list([shapes] if isinstance(shapes, TensorShape) else shapes)
    if is_single_shape(items):
        items = [items]
    checked = [as_shape(shape) for shape in items]
    if not all(shape.is_fully_defined() for shape in checked):
        raise ValueError(
            f"All shapes must be fully defined: {checked}. Set the missing sizes with "
            "set_shape, or pad the tensors with a PaddingFIFOQueue (dynamic_pad=True)."
        )
    if len(checked) != num_components:
        raise ValueError(
            "Queue shapes must have the same length as dtypes: got "
            f"{len(checked)} shapes, expected {num_components}."
        )
    return checked


def as_partial_shapes(shapes: Sequence[ShapeLike], num_components: int) -> list[TensorShape]:
    """Returns one shape of known rank for each component.

    Args:
        shapes: A list of shapes, in which unknown dimensions are None.
        num_components: The required number of components.

    Raises:
        TypeError: If `shapes` is a string.
        ValueError: If `shapes` is not a list of shapes, a rank is unknown, or the number of shapes
            is wrong.
    """
    if not isinstance(shapes, Sequence) or not shapes or any(_is_size(item) for item in shapes):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    checked = [as_shape(shape) for shape in _as_shape_list(shapes)]
    if any(shape.rank is None for shape in checked):
        raise ValueError(f"All shapes must have a defined rank: {checked}")
    if len(checked) != num_components:
        raise ValueError(
            f"Shapes must be provided for all components, but received {num_components} dtypes "
            f"and {len(checked)} shapes."
        )
    return checked


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_shape_list(shapes: Shapes) -> Sequence[ShapeLike]:
    if not isinstance(shapes, (list, tuple)):
        raise TypeError(
            "shapes must be a TensorShape or a list or tuple of TensorShapes, got "
            f"{type(shapes)} instead."
        )
    return shapes


def _is_size(item: object) -> bool:
    return item is None or isinstance(item, int)
