"""Creates constants and converts values to tensors.

Source: `tf.constant` and `tf.convert_to_tensor` in TensorFlow 1.15.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, SupportsIndex

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import Dimension, TensorShape
from headrace.graph import Operation, Tensor, TensorLike, name_scope
from headrace.ops.framework.folding import constant_value, constant_value_as_shape
from headrace.ops.framework.primitives import cast_tensor, make_const, pack_tensors
from headrace.ops.framework.values import make_array, shape_to_array

__all__ = [
    "constant",
    "constant_value",
    "constant_value_as_shape",
    "convert_n_to_tensor",
    "convert_to_tensor",
    "is_tensor",
    "register_tensor_conversion_function",
]

# (value, dtype, name, as_ref) -> Tensor, or NotImplemented to let the next function try.
ConversionFunction = Callable[..., Any]

# (priority, position, types, function), lowest priority first. It is written under the lock and
# replaced as a whole, so other threads can read it during a registration.
_registry: tuple[tuple[int, int, tuple[type, ...], ConversionFunction], ...] = ()
_registering: Final = threading.Lock()


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Iterable[SupportsIndex] | None = None,
    verify_shape: bool = False,
    name: str = "Const",
) -> Tensor:
    """Creates a tensor with a fixed value.

    Args:
        value: A number, a bool, a string, nested lists of these, or an array. The value is copied.
        dtype: The type. By default, it is inferred: Python floats become float32 and ints become
            int32.
        shape: The shape. Defaults to the shape of `value`. If there are too few elements, the last
            one is repeated.
        verify_shape: If True, `value` must already have `shape`.
        name: Name of the operation.

    Returns:
        A tensor with this value.

    Raises:
        TypeError: If an element does not fit the type.
        ValueError: If `value` is None, ragged, or has more elements than `shape`.
    """
    requested_dtype = None if dtype is None else as_dtype(dtype)
    items: Any = value.as_list() if isinstance(value, TensorShape) else value
    array, actual_dtype = make_array(items, requested_dtype, shape, verify_shape)
    return make_const(array, actual_dtype, name)


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Converts a value to a tensor. Tensors are returned unchanged.

    Args:
        value: A tensor, a value that `constant` accepts, a list that contains tensors, a
            `TensorShape`, or an object of a type with a registered conversion, such as a variable.
        dtype: The required type. By default, any type is allowed.
        dtype_hint: The preferred type if `dtype` is None. It is ignored if the value does not fit.
        name: Name of the constant, if one is created.

    Returns:
        The tensor.

    Raises:
        TypeError: If the value cannot be converted, or an element does not fit the type.
        ValueError: If the value is None, or a tensor of the wrong type.
    """
    requested_dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if requested_dtype is not None and not requested_dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {requested_dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if requested_dtype is None and dtype_hint is not None:
        try:
            return _convert(value, as_dtype(dtype_hint), name)
        except (TypeError, ValueError):
            pass
    return _convert(value, requested_dtype, name)


def convert_n_to_tensor(
    values: Sequence[TensorLike],
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Converts each value with `convert_to_tensor` and appends `_0`, `_1`, … to the names."""
    return [
        convert_to_tensor(value, dtype, dtype_hint, f"{name}_{index}" if name else None)
        for index, value in enumerate(values)
    ]


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...],
    conversion_func: ConversionFunction,
    priority: int = 100,
) -> None:
    """Registers a function that `convert_to_tensor` uses for objects of a type.

    Args:
        base_type: The type or types, including subclasses.
        conversion_func: Called with `(value, dtype=None, name=None, as_ref=False)`. Returns a
            tensor, or NotImplemented to let the next function try.
        priority: Functions with a smaller number are tried first.

    Raises:
        TypeError: If `base_type` is not a type or `conversion_func` cannot be called.
    """
    global _registry  # noqa: PLW0603 (replaced as a whole, see above)
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(item, type) for item in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    with _registering:
        entry = (priority, len(_registry), types, conversion_func)
        _registry = tuple(sorted([*_registry, entry], key=lambda item: item[:2]))


def is_tensor(x: object) -> bool:
    """Returns whether `x` is a tensor, or an object such as a variable that represents one."""
    return isinstance(x, Tensor) or callable(getattr(x, "_as_graph_element", None))


def _convert(value: TensorLike, dtype: DType | None, name: str | None) -> Tensor:
    for _, _, types, function in _registry:
        if not isinstance(value, types):
            continue
        result = function(value, dtype=dtype, name=name, as_ref=False)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            raise RuntimeError(f"Conversion function {function!r} returned non-Tensor: {result!r}")
        if dtype is not None and not dtype.is_compatible_with(result.dtype):
            raise RuntimeError(
                f"Conversion function {function!r} for type {types} returned incompatible dtype: "
                f"requested = {dtype.name}, actual = {result.dtype.name}"
            )
        return result
    raise TypeError(
        f"Cannot convert {value!r} with type {type(value)} to Tensor: no conversion function "
        "registered."
    )


def _convert_constant(
    value: TensorLike, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    array, actual_dtype = make_array(value, dtype)
    return make_const(array, actual_dtype, name)


def _convert_shape(
    value: TensorShape, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    array, actual_dtype = shape_to_array(value, dtype)
    return make_const(array, actual_dtype, name or "shape_as_tensor")


def _convert_dimension(
    value: Dimension, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    array, actual_dtype = make_array(value.value, dtype)
    return make_const(array, actual_dtype, name or "shape_as_tensor")


def _convert_operation(
    value: Operation, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    raise TypeError(f"Can't convert Operation '{value.name}' to Tensor")


def _convert_packed(
    value: Sequence[Any], dtype: DType | None, name: str | None, as_ref: bool
) -> Any:
    element_dtype = _nested_dtype(value)
    if element_dtype is None:
        return NotImplemented
    target_dtype = element_dtype if dtype is None else dtype.base_dtype
    if target_dtype != element_dtype:
        value = _cast_nested(value, target_dtype)
    return _pack(value, target_dtype, name or "packed")


def _nested_dtype(value: Sequence[Any]) -> DType | None:
    for item in value:
        if is_tensor(item):
            dtype: DType = item.dtype.base_dtype
            return dtype
        if isinstance(item, (list, tuple)):
            element_dtype = _nested_dtype(item)
            if element_dtype is not None:
                return element_dtype
    return None


def _cast_nested(value: Any, dtype: DType) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cast_nested(item, dtype) for item in value]
    if is_tensor(value) and value.dtype.base_dtype != dtype:
        return cast_tensor(convert_to_tensor(value), dtype)
    return value


def _pack(items: Sequence[Any], dtype: DType, name: str) -> Tensor | list[Any]:
    with name_scope(name) as scope:
        converted: list[Any] = []
        for index, item in enumerate(items):
            if is_tensor(item) and item.dtype.base_dtype != dtype:
                raise TypeError(
                    f"Cannot convert a list containing a tensor of dtype {item.dtype} to {dtype} "
                    f"(Tensor is: {item!r})"
                )
            is_nested = isinstance(item, (list, tuple))
            converted.append(_pack(item, dtype, str(index)) if is_nested else item)
        if not any(is_tensor(item) for item in converted):
            return converted
        tensors = [
            convert_to_tensor(item)
            if is_tensor(item)
            else constant(item, dtype=dtype, name=str(index))
            for index, item in enumerate(converted)
        ]
        return pack_tensors(tensors, name=scope)


register_tensor_conversion_function(TensorShape, _convert_shape, 100)
register_tensor_conversion_function(Dimension, _convert_dimension, 100)
register_tensor_conversion_function(Operation, _convert_operation, 100)
register_tensor_conversion_function((list, tuple), _convert_packed, 99)
register_tensor_conversion_function(object, _convert_constant, 200)
