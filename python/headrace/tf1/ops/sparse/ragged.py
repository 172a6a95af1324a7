"""Ragged tensors: rows of different lengths, stored one after the other.

Operations on the characters of strings return ragged tensors. To use them with other operations,
convert them to dense or sparse tensors.

Source: `tf.RaggedTensor` in TensorFlow 1.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import Graph, Tensor, TensorLike, name_scope, session_for_tensor
from headrace.graph.lowering.composites import register_session_run_conversion_functions
from headrace.ops.array.fill import fill, ones_like
from headrace.ops.array.gather import gather
from headrace.ops.array.join import concat
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import expand_dims, reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.where import where
from headrace.ops.framework.conversion import convert_to_tensor, register_tensor_conversion_function
from headrace.ops.math.cast import cast as cast_to
from headrace.ops.math.compare import less
from headrace.ops.math.cumsum import cumsum
from headrace.ops.math.histogram import bincount
from headrace.ops.math.reduce import reduce_max
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["RaggedTensor"]

_Values: TypeAlias = "Tensor | RaggedTensor"


class RaggedTensorValue(NamedTuple):
    """The value of a ragged tensor, as fetched from a session.

    Attributes:
        values: The concatenated rows: an array or a `RaggedTensorValue`.
        row_splits: int64: the start of each row, and the end of the last one.
    """

    values: Any
    row_splits: Any

    @property
    def flat_values(self) -> Any:
        """The elements of the innermost rows."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of each dimension with rows of different lengths, the outermost first."""
        inner = self.values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self.row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions with rows of different lengths."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self.flat_values.dtype
        return dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for the length of rows."""
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    def to_list(self) -> list[Any]:
        """Returns the rows as nested lists."""
        inner = self.values
        items = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self.row_splits.tolist()
        return [items[start:end] for start, end in itertools.pairwise(splits)]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"


class RaggedTensor:
    """A tensor whose rows differ in length.

    Create a ragged tensor with `from_row_splits`. If you fetch it, you get a `RaggedTensorValue`.
    `to_tensor` and `to_sparse` convert it to tensors that other operations accept.

    Args:
        values: The concatenated rows.
        row_splits: int64: the start of each row, and the end of the last one.
    """

    def __init__(self, values: _Values, row_splits: Tensor) -> None:
        self._values = values
        self._row_splits = row_splits

    @classmethod
    def from_row_splits(
        cls, values: TensorLike | RaggedTensor, row_splits: TensorLike, name: str | None = None
    ) -> RaggedTensor:
        """Creates a ragged tensor.

        Args:
            values: The concatenated rows.
            row_splits: The start of each row, and the end of the last one: an integer vector.
            name: Name of the scope.

        Raises:
            ValueError: If `row_splits` is not a vector.
        """
        with name_scope(name, "RaggedFromRowSplits", [row_splits]):
            splits = convert_to_tensor(row_splits, dtype=dtypes.int64, name="row_splits")
            splits.shape.assert_has_rank(1)
            rows = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
            return cls(rows, splits)

    @classmethod
    def from_sparse(cls, st_input: SparseTensor, name: str | None = None) -> RaggedTensor:
        """Creates a ragged tensor from a sparse matrix whose rows have no gaps.

        Args:
            st_input: The matrix, with its elements in order.
            name: Name of the scope.
        """
        with name_scope(name, "RaggedFromSparse", [st_input.values]):
            rows = cast_to(st_input.indices[:, 0], dtypes.int32)
            count = cast_to(st_input.dense_shape[0], dtypes.int32)
            lengths = bincount(rows, minlength=count, maxlength=count)
            ends = cumsum(cast_to(lengths, dtypes.int64))
            return cls(st_input.values, concat([np.zeros(1, np.int64), ends], 0))

    @property
    def values(self) -> _Values:
        """The concatenated rows."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """int64: the start of each row, and the end of the last one."""
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The elements of the innermost rows."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of each dimension with rows of different lengths, the outermost first."""
        inner = self._values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()
        return (self._row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions with rows of different lengths."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.flat_values.dtype

    @property
    def graph(self) -> Graph:
        """The graph that the tensor belongs to."""
        return cast(Graph, self._row_splits.graph)

    @property
    def shape(self) -> TensorShape:
        """The known part of the shape. The length of rows is unknown."""
        num_splits = self._row_splits.shape[0].value
        rows = TensorShape([None if num_splits is None else num_splits - 1, None])
        return rows.concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        """Returns the known part of the shape."""
        return self.shape

    def nrows(self, name: str | None = None) -> Tensor:
        """Returns the number of rows, an int64 scalar."""
        with name_scope(name, "RaggedNRows", [self._row_splits]):
            return shape_of(self._row_splits, out_type=dtypes.int64)[0] - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Returns the position in `values` at which each row starts, int64."""
        with name_scope(name, "RaggedRowStarts", [self._row_splits]):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Returns the position in `values` at which each row ends, int64."""
        with name_scope(name, "RaggedRowLimits", [self._row_splits]):
            return self._row_splits[1:]

    def row_lengths(self, name: str | None = None) -> Tensor:
        """Returns the length of each row, int64."""
        with name_scope(name, "RaggedRowLengths", [self._row_splits]):
            return self._row_splits[1:] - self._row_splits[:-1]

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Returns the row index of each element of `values`, int64."""
        with name_scope(name, "RaggedValueRowIds", [self._row_splits]):
            return where(self._mask())[:, 0]

    def with_values(self, new_values: _Values) -> RaggedTensor:
        """Returns a ragged tensor with the same rows, but the given values."""
        return RaggedTensor(new_values, self._row_splits)

    def with_flat_values(self, new_values: _Values) -> RaggedTensor:
        """Returns a ragged tensor with the same innermost rows, but the given elements."""
        inner = self._values
        if isinstance(inner, RaggedTensor):
            return self.with_values(inner.with_flat_values(new_values))
        return self.with_values(new_values)

    def to_tensor(self, default_value: TensorLike | None = None, name: str | None = None) -> Tensor:
        """Returns a dense tensor, in which all rows are as long as the longest row.

        Args:
            default_value: The element to pad rows with, a scalar. Defaults to 0, "" or False.
            name: Name of the scope.
        """
        with name_scope(name, "RaggedToTensor", [self._row_splits]):
            inner = self._values
            rows = inner.to_tensor(default_value) if isinstance(inner, RaggedTensor) else inner
            sizes = concat([[1], shape_of(rows)[1:]], 0)
            padding = fill(sizes, self._padding(default_value))
            places = expand_dims(self.row_starts(), 1) + expand_dims(self._columns(), 0)
            after_last = shape_of(rows, out_type=dtypes.int64)[0] + places * 0
            return gather(concat([rows, padding], 0), where(self._mask(), places, after_last))

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Returns a sparse tensor with the same elements."""
        with name_scope(name, "RaggedToSparse", [self._row_splits]):
            elements = self.flat_values
            is_element = self.with_flat_values(ones_like(elements, dtype=dtypes.bool)).to_tensor()
            sizes = shape_of(is_element, out_type=dtypes.int64)
            return SparseTensor(where(is_element), reshape(elements, [-1]), sizes)

    def bounding_shape(self, name: str | None = None) -> Tensor:
        """Returns the shape of the dense tensor, int64."""
        with name_scope(name, "RaggedBoundingBox", [self._row_splits]):
            return self.to_sparse().dense_shape

    def eval(
        self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None
    ) -> RaggedTensorValue:
        """Computes the value of the tensor and blocks until it is available.

        Args:
            feed_dict: Values for tensors, as in `Session.run`.
            session: The session to use. Defaults to the default session.

        Raises:
            ValueError: If `session` is None and there is no default session, or the session has a
                different graph.
        """
        value: RaggedTensorValue = session_for_tensor(self.graph, session).run(self, feed_dict)
        return value

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def _columns(self) -> Tensor:
        """Returns the positions within the longest row."""
        return range_of(reduce_max(concat([self.row_lengths(), np.zeros(1, np.int64)], 0)))

    def _mask(self) -> Tensor:
        """Returns which positions each row has."""
        return less(expand_dims(self._columns(), 0), expand_dims(self.row_lengths(), 1))

    def _padding(self, default_value: TensorLike | None) -> Tensor:
        dtype = self.dtype.base_dtype
        zero = "" if dtype == dtypes.string else np.zeros((), dtype.as_numpy_dtype)
        return convert_to_tensor(zero if default_value is None else default_value, dtype=dtype)


def _refuse_conversion(
    value: RaggedTensor, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> NoReturn:
    raise TypeError(
        f"{value}: this operation does not accept ragged tensors. Convert it with to_tensor() "
        "or to_sparse() first."
    )


register_tensor_conversion_function(RaggedTensor, _refuse_conversion, 50)
register_session_run_conversion_functions(
    RaggedTensor,
    lambda ragged: (
        [ragged.values, ragged.row_splits],
        lambda parts: RaggedTensorValue(*parts),
    ),
)
