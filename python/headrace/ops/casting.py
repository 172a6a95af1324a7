"""Conversion of tensors from one type to another.

Source: `tf.cast` and its kin of TensorFlow 1.15.
"""

from typing import Any

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.graph import Tensor, name_scope
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.raw import cast_tensor
from headrace.ops.sparse import SparseTensor

__all__ = [
    "cast",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
]


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Converts the elements of a tensor to another type.

    Floats become integers by dropping the fraction; numbers become bools by being nonzero.

    Args:
        x: A tensor, dense or sparse, or what can become one.
        dtype: The type to make.
        name: Name of the operation.

    Returns:
        A tensor of that type; `x` itself if it has it. A `SparseTensor` for a sparse one.
    """
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype == wanted:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            values = cast(x.values, wanted, name=scope)
            return SparseTensor(x.indices, values, x.dense_shape)  # type: ignore[return-value]
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype.base_dtype == wanted:
            return tensor
        return cast_tensor(tensor, wanted, scope)


def to_float(x: Any, name: str = "ToFloat") -> Tensor:
    """Converts to float32."""
    return cast(x, dtypes.float32, name)


def to_double(x: Any, name: str = "ToDouble") -> Tensor:
    """Converts to float64."""
    return cast(x, dtypes.float64, name)


def to_int32(x: Any, name: str = "ToInt32") -> Tensor:
    """Converts to int32."""
    return cast(x, dtypes.int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Tensor:
    """Converts to int64."""
    return cast(x, dtypes.int64, name)


def to_complex64(x: Any, name: str = "ToComplex64") -> Tensor:
    """Converts to complex64."""
    return cast(x, dtypes.complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Tensor:
    """Converts to complex128."""
    return cast(x, dtypes.complex128, name)
