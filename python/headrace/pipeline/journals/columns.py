"""Converts a block's rows to engine columns, with one example per row or per group."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.journals.reader import Part
from headrace.pipeline.journals.rows import RowColumn
from headrace.pipeline.values.types import Json, Spec, Specs, engine_code

__all__ = ["Shapes", "column_of_parts", "group_shapes", "group_specs", "shapes_of"]

# For each component of a group, the shape of all rows; None if their shapes may differ.
Shapes = dict[str, list[int] | None]

# The maximum number of axes of nested lists.
_MOST_AXES: Final = 3


def group_shapes(parts: Sequence[Part], specs: Specs) -> Shapes:
    """Returns the shapes that the rows of the first group have in common."""
    return {
        name: shape
        for index, (name, spec) in enumerate(specs.items())
        if spec.shape and spec.dtype is not Json
        for shape in [_common_shape(_shapes_of(parts, index))]
    }


def group_specs(specs: Specs, size: int, shapes: Shapes) -> Specs:
    """Returns the components of a group.

    Args:
        specs: The components of a row.
        size: The number of rows.
        shapes: The result of `group_shapes`.

    Raises:
        ValueError: If a component would have too many axes for nested lists.
    """
    return {name: _group_spec(name, spec, size, shapes) for name, spec in specs.items()}


def _group_spec(name: str, spec: Spec, size: int, shapes: Shapes) -> Spec:
    if spec.dtype is Json:
        return spec
    ndim = len(spec.shape or ())
    shape = shapes.get(name) if ndim else []
    if shape is not None:
        return Spec(spec.dtype, (size, *shape))
    if ndim >= _MOST_AXES:
        raise ValueError(
            f"journal: the rows of a group have different shapes in the component {name!r}, and "
            f"{ndim} axes each. Groups support at most {_MOST_AXES - 1} such axes. Append it flat, "
            "with its shape as another component."
        )
    return Spec(spec.dtype, (None,) * (ndim + 1), is_ragged=True)


def shapes_of(groups: Specs) -> Shapes:
    """Returns the shapes from which `group_specs` computed these components."""
    return {
        name: None if spec.is_ragged else [size for size in spec.shape[1:] if size is not None]
        for name, spec in groups.items()
        if spec.is_ragged or len(spec.shape or ()) > 1
        if spec.shape is not None
    }


def column_of_parts(
    parts: Sequence[Part], index: int, name: str, row: Spec, size: int, shapes: Shapes | None
) -> engine.Column:
    """Returns the column of a component.

    Args:
        parts: The rows of the examples.
        index: The number of the component.
        name: The component's name.
        row: The component's spec in a row.
        size: The number of rows in an example.
        shapes: See `group_shapes`. None if each row is an example.

    Raises:
        InvalidArgumentError: If a row's shape differs from the shapes in the first group.
    """
    code = engine_code(bytes if isinstance(row.dtype, type) else row.dtype)
    if not row.shape:
        return _scalars(parts, index, row, size, shapes is not None, code)
    row_shapes = _shapes_of(parts, index)
    if shapes is None:
        return _arrays(parts, index, row, row_shapes, code)
    shape = shapes.get(name)
    if shape is None:
        return _lists(_elements(parts, index, row), row_shapes, size, code)
    if len(row_shapes) and (row_shapes != shape).any():
        raise _other_shape(parts, name, row_shapes, shape)
    groups = _elements(parts, index, row).reshape(len(row_shapes) // size, size, *shape)
    return engine.Column.dense(groups, code)


def _scalars(
    parts: Sequence[Part], index: int, row: Spec, size: int, is_grouped: bool, code: int
) -> engine.Column:
    if not isinstance(row.dtype, type):
        numbers = _elements(parts, index, row)
        return engine.Column.dense(numbers.reshape(-1, size) if is_grouped else numbers, code)
    strings = _strings(parts, index)
    if is_grouped and row.dtype is Json:
        groups = [strings[n : n + size] for n in range(0, len(strings), size)]
        return engine.Column.dense(_objects([b"[%s]" % b",".join(group) for group in groups]), code)
    objects = _objects(strings)
    return engine.Column.dense(objects.reshape(-1, size) if is_grouped else objects, code)


def _arrays(
    parts: Sequence[Part], index: int, row: Spec, shapes: npt.NDArray[np.int64], code: int
) -> engine.Column:
    """Returns the column of arrays, one per example."""
    elements = _elements(parts, index, row)
    shape = _common_shape(shapes)
    if shape is not None:
        return engine.Column.dense(elements.reshape(len(shapes), *shape), code)
    ends = np.cumsum(shapes.prod(axis=1))
    arrays = np.split(elements, ends[:-1])
    return engine.Column.each(
        [array.reshape(shape) for array, shape in zip(arrays, shapes.tolist(), strict=True)], code
    )


def _lists(
    elements: npt.NDArray[Any], shapes: npt.NDArray[np.int64], size: int, code: int
) -> engine.Column:
    """Returns the column of lists of arrays, or of lists of lists of arrays."""
    if shapes.shape[1] == 1:
        column = engine.Column.ragged(elements, code, np.cumsum(shapes[:, 0]))
    else:
        lengths = np.repeat(shapes[:, 1], shapes[:, 0])
        inner = engine.Column.ragged(elements, code, np.cumsum(lengths))
        column = engine.Column.lists(inner, np.cumsum(shapes[:, 0]))
    return engine.Column.lists(column, np.arange(size, len(shapes) + 1, size, dtype=np.int64))


def _columns(parts: Sequence[Part], index: int) -> list[tuple[RowColumn, int, int]]:
    return [(part.commit.columns[index], part.first, part.last) for part in parts]


def _shapes_of(parts: Sequence[Part], index: int) -> npt.NDArray[np.int64]:
    shapes = [column.shapes for column, _, _ in _columns(parts, index)]
    return np.concatenate(
        [
            of_rows[part.first : part.last]
            for of_rows, part in zip(shapes, parts, strict=True)
            if of_rows is not None
        ]
    )


def _common_shape(shapes: npt.NDArray[np.int64]) -> list[int] | None:
    first: list[int] = shapes[0].tolist()
    return first if (shapes == first).all() else None


def _elements(parts: Sequence[Part], index: int, row: Spec) -> npt.NDArray[Any]:
    """Returns all rows' elements as a flat array."""
    if isinstance(row.dtype, type):
        return _objects(_strings(parts, index))
    pieces = [column.numbers(first, last) for column, first, last in _columns(parts, index)]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _strings(parts: Sequence[Part], index: int) -> list[bytes]:
    return [
        string
        for column, first, last in _columns(parts, index)
        for string in column.strings(first, last)
    ]


def _objects(strings: list[bytes]) -> npt.NDArray[Any]:
    objects = np.empty(len(strings), object)
    objects[:] = strings
    return objects


def _other_shape(
    parts: Sequence[Part], name: str, row_shapes: npt.NDArray[np.int64], shape: list[int]
) -> InvalidArgumentError:
    wrong = int(np.argmax((row_shapes != shape).any(axis=1)))
    number = wrong
    for part in parts:
        if number < part.last - part.first:
            break
        number -= part.last - part.first
    return InvalidArgumentError(
        None,
        None,
        f"journal: the component {name!r} has the shape {tuple(row_shapes[wrong].tolist())} in row "
        f"{part.first + number} of the commit at byte {part.commit.offset} of {part.commit.path}, "
        f"but the shape {tuple(shape)} in the first group. If it varies, pass ragged=({name!r},).",
    )
