"""Converts numbers to a type and clips them to its range.

Source: `tf.saturate_cast` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.arithmetic import maximum, minimum
from headrace.ops.math.cast import cast

__all__ = ["saturate_cast"]


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts numbers to another type and clips them to its range.

    Args:
        value: A tensor of numbers.
        dtype: The new type.
        name: Name of the operation.

    Raises:
        TypeError: If one of the types has no range, such as bool or string.

    Examples:
        >>> to_bytes = hr.native(lambda one: {"y": hr.ops.saturate_cast(one["x"], np.uint8)})
        >>> to_bytes({"x": np.array([-5, 100, 300])})
        {'y': array([  0, 100, 255], dtype=uint8)}
    """
    with name_scope(name, "saturate_cast", [value]) as scope:
        tensor = convert_to_tensor(value, name="value")
        source, target = tensor.dtype.base_dtype, as_dtype(dtype).base_dtype
        if float(source.min) < float(target.min):
            tensor = maximum(tensor, _nearest_inside(target.min, source, target))
        if float(source.max) > float(target.max):
            tensor = minimum(tensor, _nearest_inside(target.max, source, target))
        return cast(tensor, target, name=scope)


def _nearest_inside(limit: float, source: DType, target: DType) -> Tensor:
    """Returns the `source` number nearest to a limit of `target` that does not exceed it."""
    nearest = np.array(limit).astype(source.as_numpy_dtype)
    if target.is_integer and not target.min <= int(nearest) <= target.max:
        nearest = np.nextafter(nearest, source.as_numpy_dtype(0))
    return convert_to_tensor(nearest)
