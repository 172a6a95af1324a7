"""Converts Python values to arrays by TensorFlow's rules.

Python floats become float32, ints become int32 (or int64 if they do not fit), and str and bytes
become strings. NumPy values keep their type. If a type is requested, each element is checked
against it: a float never becomes an int.

Source: `tf.make_tensor_proto` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import Dimension, TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, get_default_graph
from headrace.ops.framework.kernel import Array

__all__ = ["make_array"]

_NESTED = (list, tuple, range)


def make_array(
    value: TensorLike,
    dtype: DType | None = None,
    shape: Iterable[SupportsIndex] | None = None,
    verify_shape: bool = False,
) -> tuple[Array, DType]:
    """Converts a Python or NumPy value to a new, read-only array.

    Args:
        value: A number, bool, str, bytes, nested lists of these, or a NumPy array or scalar.
        dtype: The type of the array. If None, it is inferred.
        shape: The shape of the array. Defaults to the shape of the value. If there are too few
            elements, the last one is repeated.
        verify_shape: Whether the value must already have the shape.

    Returns:
        The array (strings as an object array of bytes) and its type.

    Raises:
        TypeError: If an element cannot be converted to the type, or `verify_shape` is True and the
            shapes differ.
        ResourceExhaustedError: If an array of that shape can never fit into memory.
        ValueError: If the value is None, has rows of different lengths, or has too many elements.
    """
    if value is None:
        raise ValueError("None values not supported.")
    is_foreign = hasattr(value, "__array__") and not isinstance(value, Tensor)
    if isinstance(value, np.ndarray) or is_foreign:
        array = _from_numpy(np.asarray(value), dtype, value)
    else:
        array = _from_python(value, dtype)
    actual_dtype = dtypes.string if array.dtype == object else as_dtype(array.dtype)
    if shape is not None:
        array = _fill_to_shape(array, [int(size) for size in shape], verify_shape)
    array.flags.writeable = False
    return array, actual_dtype


def _from_numpy(array: Array, dtype: DType | None, value: object) -> Array:
    if dtype is None:
        dtype = dtypes.string if array.dtype.kind in "OSUT" else as_dtype(array.dtype)
    if dtype.base_dtype == dtypes.string:
        return _encode(array.ravel().tolist(), array.shape, value)
    if array.dtype.kind in "OSUT":
        raise TypeError(_expected(dtype, array.ravel().tolist()[0] if array.size else value))
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array.real
    converted: Array = np.array(array, dtype=dtype.as_numpy_dtype, order="C")
    is_whole = dtype.is_integer or dtype.is_bool
    if is_whole and get_default_graph().is_native and not np.array_equal(converted, array):
        raise TypeError(_expected(dtype, value))
    return converted


def _from_python(value: TensorLike, dtype: DType | None) -> Array:
    dims = _dense_dimensions(value)
    flat = _flatten(value, dims, value)
    kinds = set(map(type, flat))
    if Dimension in kinds and not any(isinstance(x, Dimension) and x.value is None for x in flat):
        flat = [int(x) if isinstance(x, Dimension) else x for x in flat]
        kinds = set(map(type, flat))
    if dtype is None:
        dtype = _infer(flat, kinds, value)
    else:
        dtype = dtype.base_dtype
        accepted = _accepted_types(dtype)
        if wrong := {kind for kind in kinds if not issubclass(kind, accepted)}:
            if any(issubclass(kind, np.ndarray) for kind in wrong):
                return _stack(flat, dims, dtype)
            raise TypeError(_expected(dtype, next(x for x in flat if type(x) in wrong)))
    if dtype == dtypes.string:
        return _encode(flat, dims, value)
    if dtype is _ARRAYS:
        return _stack(flat, dims, None)
    try:
        return np.array(flat, dtype=dtype.as_numpy_dtype).reshape(dims)
    except OverflowError:
        info = np.iinfo(np.dtype(dtype.as_numpy_dtype))
        wrong_value = next(x for x in flat if not info.min <= int(x) <= info.max)
        raise TypeError(_expected(dtype, wrong_value)) from None


# Represents array elements during type inference.
_ARRAYS = dtypes.resource


def _infer(flat: list[Any], kinds: set[type], value: object) -> DType:
    if not kinds:
        return dtypes.float32
    if any(issubclass(kind, Tensor) for kind in kinds):
        raise TypeError("List of Tensors when single Tensor expected")
    if all(issubclass(kind, (str, bytes)) for kind in kinds):
        return dtypes.string
    if any(issubclass(kind, np.ndarray) for kind in kinds):
        return _ARRAYS
    if not all(issubclass(kind, (numbers.Number, np.generic)) for kind in kinds):
        raise TypeError(_unconvertible(value))
    try:
        array = np.array(flat)
        actual_dtype = as_dtype(array.dtype)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(_unconvertible(value)) from None
    if array.dtype == object or actual_dtype == dtypes.string:
        raise TypeError(_unconvertible(value))
    if actual_dtype == dtypes.float64:
        return dtypes.float32
    limits = np.iinfo(np.int32)
    if actual_dtype == dtypes.int64 and array.min() >= limits.min and array.max() <= limits.max:
        return dtypes.int32
    return actual_dtype


def _accepted_types(dtype: DType) -> tuple[type, ...]:
    if dtype == dtypes.string:
        return (str, bytes)
    if dtype.is_bool:
        return (bool, np.bool_)
    if dtype.is_integer:
        return (int, np.integer)
    if dtype.is_floating:
        return (numbers.Real, np.integer, np.floating)
    if dtype.is_complex:
        return (numbers.Complex, np.number)
    return ()


def _dense_dimensions(value: TensorLike) -> list[int]:
    dims: list[int] = []
    while isinstance(value, _NESTED):
        dims.append(len(value))
        if not value:
            break
        value = value[0]
    return dims


def _flatten(value: TensorLike, dims: Sequence[int], root: object) -> list[Any]:
    level: list[Any] = [value]
    for depth, size in enumerate(dims):
        if any(not isinstance(row, _NESTED) or len(row) != size for row in level):
            raise _not_dense(root, dims, depth)
        level = [item for row in level for item in row]
    if any(isinstance(item, _NESTED) for item in level):
        raise _not_dense(root, dims, len(dims))
    return level


def _stack(arrays: list[Any], dims: Sequence[int], dtype: DType | None) -> Array:
    rows = [make_array(array, dtype)[0] for array in arrays]
    if any(array.shape != rows[0].shape for array in rows):
        raise ValueError(
            "Argument must be a dense tensor: got arrays of shapes "
            f"{sorted({array.shape for array in rows})}"
        )
    return np.stack(rows).reshape(*dims, *rows[0].shape)


def _encode(flat: Iterable[Any], dims: Sequence[int], value: object) -> Array:
    items = list(flat)
    array = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        if isinstance(item, str):
            array[index] = item.encode()
        elif isinstance(item, bytes):
            array[index] = bytes(item)
        else:
            raise TypeError(_unconvertible(value))
    return array.reshape(dims)


def _fill_to_shape(array: Array, shape: list[int], verify_shape: bool) -> Array:
    if any(abs(size) > sys.maxsize for size in shape):
        raise ValueError(f"shape is {shape}, but its sizes must fit into 64 bits.")
    size = math.prod(shape)
    if verify_shape and array.shape != tuple(shape):
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
    if size and array.size > size:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size}"
        )
    if size >= 2**63:
        raise ValueError(f"A constant of shape {bracketed(shape)} has more than 2**63 - 1 elements")
    check_array(shape, array.dtype)
    filled = np.empty(size, dtype=array.dtype)
    items = array.ravel()[:size]
    filled[: items.size] = items
    if items.size < size:
        zero = b"" if array.dtype == object else 0
        filled[items.size :] = items[-1] if items.size else zero
    return filled.reshape(shape)


def _not_dense(value: object, dims: Sequence[int], depth: int) -> ValueError:
    return ValueError(
        f"Argument must be a dense tensor: {value} - got shape {list(dims[:depth])}, "
        f"but wanted {list(dims)}."
    )


def _expected(dtype: DType, value: object) -> str:
    return f"Expected {dtype.name}, got {value!r} of type '{type(value).__name__}' instead."


def _unconvertible(value: object) -> str:
    return (
        f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. "
        "Consider casting elements to a supported type."
    )


def shape_to_array(shape: TensorShape, dtype: DType | None) -> tuple[Array, DType]:
    """Converts a fully defined shape to an array: int32, or int64 if a size requires it.

    Raises:
        ValueError: If the shape is not fully defined, or a size does not fit into `dtype`.
        TypeError: If `dtype` is neither int32 nor int64.
    """
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {shape}")
    sizes = [size or 0 for size in shape.as_list()]
    is_large = any(size >= 2**31 for size in sizes)
    if dtype is None:
        dtype = dtypes.int64 if is_large else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    elif is_large and dtype == dtypes.int32:
        raise ValueError(
            f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({max(sizes)})"
        )
    return make_array(sizes, dtype)
