"""Slices of a tensor, with their indices.

Source: `tf.IndexedSlices`, `tf.IndexedSlicesValue` and `tf.sparse_mask` in TensorFlow 1.15.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import TensorShape
from headrace.graph import Operation, Tensor, TensorLike, name_scope
from headrace.graph.lowering.composites import register_session_run_conversion_functions
from headrace.ops.framework.conversion import constant_value_as_shape
from headrace.tf1 import ops

__all__ = [
    "IndexedSlices",
    "convert_to_tensor_or_indexed_slices",
    "sparse_mask",
]


class IndexedSlicesValue(NamedTuple):
    """The value of `IndexedSlices`, as fed to and fetched from a session.

    Attributes:
        values: The rows.
        indices: The index of each row.
        dense_shape: The shape of the whole tensor. None if it is unknown.
    """

    values: Any
    indices: Any
    dense_shape: Any


class IndexedSlices:
    """Some rows of a tensor. All other rows are zero.

    If `dense_shape` is given, you can convert the object to the whole tensor. Rows with the same
    index are added.

    Args:
        values: The rows.
        indices: The index of each row, an integer vector.
        dense_shape: The shape of the whole tensor, or None if it is unknown.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The index of each row."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The known part of the whole tensor's shape."""
        if self._dense_shape is None:
            return TensorShape(None)
        return constant_value_as_shape(self._dense_shape)

    @property
    def name(self) -> str:
        """The name of the tensor of rows."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of the tensor of rows."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation that produces the rows."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._values.dtype

    @property
    def graph(self) -> Any:
        """The graph that the rows belong to."""
        return self._values.graph

    def consumers(self) -> list[Operation]:
        """Returns the operations that read the rows."""
        return self._values.consumers()

    def _as_control_input(self) -> Operation:
        return self.op

    def __neg__(self) -> IndexedSlices:
        """Returns the negative rows at the same indices."""
        return IndexedSlices(ops.negative(self._values), self._indices, self._dense_shape)

    def __str__(self) -> str:
        """Lists the parts."""
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"


def convert_to_tensor_or_indexed_slices(
    value: IndexedSlices | TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """Returns `IndexedSlices` unchanged, and converts other values to a tensor.

    Args:
        value: `IndexedSlices`, or a value that `convert_to_tensor` accepts.
        dtype: The required type. By default, any type is allowed.
        name: Name of the constant, if one is created.

    Raises:
        ValueError: If the value has the wrong type.
    """
    if not isinstance(value, IndexedSlices):
        return ops.convert_to_tensor(value, dtype, name=name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype "
            f"{value.dtype.name}: {str(value)!r}"
        )
    return value


def sparse_mask(
    a: IndexedSlices, mask_indices: TensorLike, name: str | None = None
) -> IndexedSlices:
    """Returns the rows whose indices are not in the given vector.

    Args:
        a: The rows.
        mask_indices: The indices of the rows to omit, a vector of the same type as the indices.
        name: Name of the operation.

    Raises:
        TypeError: If `a` is not `IndexedSlices`, or the indices have the wrong type.
    """
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"sparse_mask: got {a!r}, expected IndexedSlices.")
    with name_scope(name, "sparse_mask", [a.values, mask_indices]) as scope:
        indices, kept = ops.setdiff1d(a.indices, mask_indices)
        return IndexedSlices(ops.gather(a.values, kept, name=scope), indices, a.dense_shape)


# Converting more elements than this is logged, because it may use a lot of memory.
_MANY_ELEMENTS = 100_000_000


def _whole(value: IndexedSlices, dtype: DType | None, name: str | None, as_ref: bool) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype "
            f"{value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {str(value)!r}"
        )
    count = value.shape.num_elements()
    if count is not None and count >= _MANY_ELEMENTS:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {count} elements. "
            "This may consume a large amount of memory.",
            stacklevel=2,
        )
    return ops.unsorted_segment_sum(value.values, value.indices, value.dense_shape[0], name=name)


ops.register_tensor_conversion_function(IndexedSlices, _whole)


def _parts(slices: IndexedSlices) -> list[Tensor]:
    parts = [slices.values, slices.indices]
    return parts if slices.dense_shape is None else [*parts, slices.dense_shape]


def _value(parts: list[Any]) -> IndexedSlicesValue:
    values, indices, *dense_shape = parts
    return IndexedSlicesValue(values, indices, dense_shape[0] if dense_shape else None)


def _feed(slices: IndexedSlices, value: object) -> list[tuple[Tensor, Any]]:
    if not (isinstance(value, (tuple, list)) and len(value) in _PART_COUNTS):
        raise TypeError(
            f"feed_dict: got {value!r} for IndexedSlices, expected an IndexedSlicesValue, (values, "
            "indices, dense_shape) or (values, indices)."
        )
    return list(zip(_parts(slices), value, strict=False))


# The shape of the whole tensor is computed unless it is fed.
_PART_COUNTS = (2, 3)

register_session_run_conversion_functions(
    IndexedSlices, lambda slices: (_parts(slices), _value), _feed, _parts
)
