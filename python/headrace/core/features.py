"""Descriptions of the features to parse from an `Example`.

They are separate from the operations, so that a pipeline can accept them without importing the
operations.

Source: `tf.FixedLenFeature`, `tf.VarLenFeature`, `tf.FixedLenSequenceFeature` and
`tf.SparseFeature` in TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import ShapeLike

__all__ = ["FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature"]


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in every example.

    Attributes:
        shape: The shape of the values.
        dtype: float32, int64 or string.
        default_value: The value to use if the feature is missing, or None if it is required.
    """

    shape: ShapeLike
    dtype: DTypeLike
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed into a `SparseTensor`.

    Attributes:
        dtype: float32, int64 or string.
    """

    dtype: DTypeLike


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows, parsed into a tensor with an unknown first dimension.

    Attributes:
        shape: The shape of one row.
        dtype: float32, int64 or string.
        allow_missing: Must be True. A missing feature has no rows.
        default_value: The value that pads shorter sequences in a batch. None means 0 or "".
    """

    shape: ShapeLike
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are two features.

    Attributes:
        index_key: The name of the int64 feature with the indices, or a list with one for each
            dimension.
        value_key: The name of the feature with the values.
        dtype: The type of the values: float32, int64 or string.
        size: The size of the dimension, or a list with the size of each dimension.
        already_sorted: Whether the indices are already in order. If not, they are sorted.
    """

    index_key: str | Sequence[str]
    value_key: str
    dtype: DTypeLike
    size: SupportsIndex | Sequence[SupportsIndex]
    already_sorted: bool = False
