"""Sparse tensors, which store only some of their elements, with their indices.

Source: `tf.SparseTensor` and `tf.SparseTensorValue` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import TensorShape
from headrace.graph import Graph, Operation, Tensor, TensorLike, name_scope, session_for_tensor
from headrace.ops.framework.conversion import (
    constant_value_as_shape,
    convert_to_tensor,
    register_tensor_conversion_function,
)

__all__ = ["SparseTensor", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor"]


class SparseTensorValue(NamedTuple):
    """The value of a sparse tensor, as fed to and fetched from a session.

    Attributes:
        indices: int64, (n, rank): the index of each element.
        values: (n,): the elements.
        dense_shape: int64, (rank,): the shape of the tensor.
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor that stores only some of its elements.

    Args:
        indices: int64, (n, rank): the index of each element.
        values: (n,): the elements, of any type.
        dense_shape: int64, (rank,): the shape of the tensor.

    Raises:
        TypeError: If the indices or the shape are not integers.
        ValueError: If the static shapes do not match.
    """

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, name="indices", dtype=dtypes.int64)
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(
                dense_shape, name="dense_shape", dtype=dtypes.int64
            )
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        shape_shape = self._dense_shape.shape.with_rank(1)
        indices_shape[0].merge_with(values_shape[0])
        indices_shape[1].merge_with(shape_shape[0])

    @classmethod
    def register_operator(cls, method: str, function: Callable[..., Any]) -> None:
        """Adds a special method, such as `__mul__`, to all sparse tensors."""
        setattr(cls, method, function)

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensor | SparseTensorValue) -> SparseTensor:
        """Creates a sparse tensor from a `SparseTensorValue` or another `SparseTensor`.

        Raises:
            TypeError: If the value has any other type.
        """
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(
            sparse_tensor_value.indices,
            sparse_tensor_value.values,
            sparse_tensor_value.dense_shape,
        )

    @property
    def indices(self) -> Tensor:
        """int64, (n, rank): the index of each element."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """(n,): the elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """int64, (rank,): the shape of the tensor."""
        return self._dense_shape

    @property
    def op(self) -> Operation:
        """The operation that produces the values."""
        return self._values.op

    @property
    def graph(self) -> Graph:
        """The graph that the tensor belongs to."""
        return cast(Graph, self._indices.graph)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape of the tensor."""
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        """Returns the static shape of the tensor."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """Returns the operations that use the indices, the values or the dense shape."""
        parts = (self._values, self._indices, self._dense_shape)
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def eval(
        self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None
    ) -> SparseTensorValue:
        """Computes the value of the tensor and blocks until it is available.

        Args:
            feed_dict: Values for tensors, as in `Session.run`.
            session: The session to use. Defaults to the default session.

        Raises:
            ValueError: If `session` is None and there is no default session, or the session has a
                different graph.
        """
        chosen = session_for_tensor(self.graph, session)
        parts = [self._indices, self._values, self._dense_shape]
        return SparseTensorValue(*chosen.run(parts, feed_dict))

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )


def as_sparse_tensor(value: SparseTensor | SparseTensorValue) -> SparseTensor:
    """Returns a sparse tensor unchanged, and converts a `SparseTensorValue` to a sparse tensor.

    Raises:
        TypeError: If the value has any other type.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def of_elements(function: Callable[..., Tensor], sparse: SparseTensor, name: str | None) -> Tensor:
    """Applies a function to the elements of a sparse tensor.

    Args:
        function: Called with the elements and `name`.
        sparse: The sparse tensor.
        name: Name of the operation.
    """
    values = function(sparse.values, name=name)
    # This is the type of most such functions: they accept and return a tensor.
    return SparseTensor(sparse.indices, values, sparse.dense_shape)  # type: ignore[return-value]


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike | SparseTensor | SparseTensorValue,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor | SparseTensor:
    """Converts a value to a sparse tensor if it is sparse, and to a tensor otherwise.

    Args:
        value: A sparse tensor, a `SparseTensorValue`, or a value that `convert_to_tensor` accepts.
        dtype: The required type. By default, any type is allowed.
        name: Name of the constant, if one is created.

    Raises:
        RuntimeError: If the value is sparse and has the wrong type.
    """
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        return convert_to_tensor(value, dtype, name=name)
    sparse = value if isinstance(value, SparseTensor) else SparseTensor.from_value(value)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(sparse.dtype):
        raise RuntimeError(
            f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {sparse.dtype.name}"
        )
    return sparse


def _refuse_conversion(
    value: object, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    raise TypeError(
        f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Consider "
        "casting elements to a supported type."
    )


register_tensor_conversion_function((SparseTensor, SparseTensorValue), _refuse_conversion, 50)
