"""Checks that all examples of a batcher have the same components.

Source: `tensorflow/python/training/input.py` in TensorFlow 1.15.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from headrace.core.dtypes import DType, int64
from headrace.core.shapes import ShapeLike, TensorShape, as_shape, unknown_shape
from headrace.graph import Tensor
from headrace.ops.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from headrace.tf1.ops.queues import is_single_shape

__all__ = [
    "Component",
    "Example",
    "ExampleLike",
    "ExampleShapes",
    "as_rows",
    "common_components",
    "convert",
    "queue_shapes",
]

Example: TypeAlias = list[Tensor | SparseTensor]
# An example as passed by a program: its components, or a dict of them.
ExampleLike: TypeAlias = Collection[Any] | Mapping[Any, Any]
# The shape of its only component, or one shape for each component.
ExampleShapes: TypeAlias = TensorShape | Sequence[ShapeLike]


@dataclass(frozen=True)
class Component:
    """One component of an example.

    Attributes:
        dtype: The dtype of the elements.
        sparse_shape: The shape of a sparse tensor, or None for other tensors.
    """

    dtype: DType
    sparse_shape: TensorShape | None

    @property
    def queue_dtype(self) -> DType:
        """The dtype in the queue, where a handle represents a sparse tensor."""
        return self.dtype if self.sparse_shape is None else int64


def as_rows(tensors_list: Iterable[ExampleLike]) -> tuple[list[Any] | None, list[list[Any]]]:
    """Returns the keys, if the examples are dicts, and the examples as lists.

    Args:
        tensors_list: A list of examples, each a list or dict of tensors.

    Raises:
        TypeError: If an example is a bare tensor.
        ValueError: If `tensors_list` is empty, the first example has no tensors, or keys differ.
    """
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(tensors_list, Mapping):
        raise TypeError(f"expected a list of examples, got a dict with keys {list(tensors_list)}")
    rows = list(tensors_list)
    is_empty = not isinstance(rows[0], Tensor) and not rows[0]
    if is_empty:
        raise ValueError("Expected at least one tensor in batch().")
    if not isinstance(rows[0], Mapping):
        return None, [list(row) for row in rows]
    dicts = [row for row in rows if isinstance(row, Mapping)]
    if len(dicts) < len(rows) or any(set(row) != set(dicts[0]) for row in dicts):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    keys = sorted(dicts[0], key=str)
    return keys, [[row[key] for key in keys] for row in dicts]


def convert(rows: Sequence[Sequence[Any]]) -> list[Example]:
    """Converts examples to tensors and sparse tensors."""
    return [[convert_to_tensor_or_sparse_tensor(value) for value in row] for row in rows]


def common_components(examples: Sequence[Example], enqueue_many: bool) -> list[Component]:
    """Returns the components of the examples.

    Args:
        examples: The examples.
        enqueue_many: Whether the first dimension of the tensors runs over several examples.

    Raises:
        TypeError: If the dtypes of the examples differ.
        ValueError: If the examples differ in length, in the choice of sparse tensors, or in the
            rank of sparse tensors.
    """
    shapes = [_sparse_shape(value, enqueue_many) for value in examples[0]]
    for example in examples[1:]:
        others = [_sparse_shape(value, enqueue_many) for value in example]
        if len(others) != len(shapes) or not all(map(_fit, shapes, others)):
            raise ValueError(f"Inconsistent SparseTensors list: {examples[0]} vs. {example}")
        shapes = [
            None if shape is None else shape.merge_with(other)
            for shape, other in zip(shapes, others, strict=True)
        ]
    return list(map(Component, _common_types(examples), shapes))


def queue_shapes(
    examples: Sequence[Example],
    components: Sequence[Component],
    argument: ExampleShapes | None,
    enqueue_many: bool,
) -> list[TensorShape]:
    """Returns the shapes of the components in the queue.

    Args:
        examples: The examples.
        components: The components of the examples.
        argument: One shape for each component, or None to use the shapes of the first example.
        enqueue_many: Whether the first dimension of the tensors runs over several examples.

    Raises:
        ValueError: If a rank is unknown, or the shapes of different examples are incompatible.
    """
    if argument is None:
        columns = zip(components, zip(*examples, strict=True), strict=True)
        return [
            _first_shape(column, enqueue_many) if component.sparse_shape is None else _HANDLE
            for component, column in columns
        ]
    shapes = _given_shapes(argument)
    for index, component in enumerate(components[: len(shapes)]):
        if component.sparse_shape is not None:
            shapes[index] = _HANDLE
    return shapes


def _given_shapes(shapes: ExampleShapes) -> list[TensorShape]:
    if isinstance(shapes, TensorShape):
        return [shapes]
    if is_single_shape(shapes):
        return [as_shape(cast("ShapeLike", shapes))]
    return [as_shape(shape) for shape in shapes]


# The shape of a sparse tensor's handle in the queue.
_HANDLE = TensorShape([])


def _sparse_shape(value: Tensor | SparseTensor, enqueue_many: bool) -> TensorShape | None:
    """Returns the rank of a sparse tensor in one example as a shape, or None for other tensors."""
    if isinstance(value, Tensor):
        return None
    rank = value.dense_shape.shape[0].value
    return unknown_shape() if rank is None else unknown_shape(rank - enqueue_many)


def _fit(shape: TensorShape | None, other: TensorShape | None) -> bool:
    if shape is None or other is None:
        return shape is other
    return shape.is_compatible_with(other)


def _common_types(examples: Sequence[Example]) -> list[DType]:
    types = [value.dtype.base_dtype for value in examples[0]]
    for example in examples[1:]:
        others = [value.dtype.base_dtype for value in example]
        if others != types:
            raise TypeError(
                f"Expected types to be consistent: {', '.join(dtype.name for dtype in types)} vs. "
                f"{', '.join(dtype.name for dtype in others)}."
            )
    return types


def _first_shape(column: Sequence[Any], enqueue_many: bool) -> TensorShape:
    """Returns the shape of a component in the first example. The others must be compatible."""
    shapes: list[TensorShape] = []
    for tensor in column:
        if tensor.shape.rank is None:
            raise ValueError(
                f"Cannot infer Tensor's rank: {tensor}. Set its shape first, for example with "
                "set_shape([None, 3]), or pass shapes."
            )
        shapes.append(tensor.shape.with_rank_at_least(1)[1:] if enqueue_many else tensor.shape)
    merged = shapes[0]
    for shape in shapes[1:]:
        merged = merged.merge_with(shape)
    return shapes[0]
