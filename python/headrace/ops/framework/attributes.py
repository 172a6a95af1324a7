"""Checks arguments that become attributes, with TensorFlow's error messages.

Source: `OpDefLibrary.apply_op` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from headrace.core.dtypes import DType, DTypeLike, as_dtype

__all__ = ["bool_attr", "check_allowed", "int_attr", "string_attr", "type_attr"]


def bool_attr(what: str, value: object) -> bool:
    """Returns an argument that must be a bool.

    Raises:
        TypeError: If the argument has the wrong type.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"Expected bool for argument '{what}' not {value!r}.")
    return bool(value)


def int_attr(what: str, value: object) -> int:
    """Returns an argument that must be an integer.

    Raises:
        TypeError: If the argument has the wrong type.
    """
    if not isinstance(value, Integral):
        raise TypeError(f"Expected int for argument '{what}' not {value!r}.")
    return int(value)


def string_attr(what: str, value: object) -> str | bytes:
    """Returns an argument that must be a string.

    Raises:
        TypeError: If the argument has the wrong type.
    """
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"Expected string for argument '{what}' not {value!r}.")
    return value


def type_attr(what: str, value: DTypeLike, allowed: Sequence[DType]) -> DType:
    """Returns an argument that must be an element type.

    Raises:
        TypeError: If the argument is not a type, or the type is not allowed.
    """
    try:
        dtype = as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{what}' not {value!r}.") from None
    check_allowed(what, dtype, allowed)
    return dtype


def check_allowed(name: str, dtype: DType, allowed: Sequence[DType] | None) -> None:
    """Checks that a type is allowed for an argument.

    Args:
        name: Name of the parameter.
        dtype: The type.
        allowed: The allowed types. If None, all types are allowed.

    Raises:
        TypeError: If the type is not allowed.
    """
    if allowed is not None and dtype not in allowed:
        raise TypeError(
            f"Value passed to parameter '{name}' has DataType {dtype.name} not in list of "
            f"allowed values: {', '.join(kind.name for kind in allowed)}"
        )
