"""Converts fed values to a type and checks that the type can represent them.

NumPy and TensorFlow silently convert 300 to the uint8 44, and 1.5 to the int32 1. Here, an integer
type can represent only exact values. A floating-point type can represent any number in its range,
with rounding. A bool can represent any number, because every number has a truth value.
"""

from functools import cache
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

__all__ = ["LossyValue", "as_numpy_does", "without_loss"]

_Array = npt.NDArray[Any]

_NUMBERS = "biufc"


class LossyValue(Exception):
    """A value that a type cannot represent.

    Attributes:
        value: The value.
        index: The position of the value in the fed array.
    """

    def __init__(self, value: object, index: tuple[int, ...]) -> None:
        super().__init__(value, index)
        self.value = value
        self.index = index


def without_loss(value: object, dtype: np.dtype[Any]) -> _Array:
    """Converts a value to an array of a type.

    Args:
        value: Anything that NumPy can convert to an array.
        dtype: A numeric type or bool.

    Raises:
        LossyValue: If the type cannot represent one of the numbers.
        TypeError: If the value contains something other than numbers.
        ValueError: If the value contains something other than numbers, or its rows differ in
            length.
    """
    values = np.asarray(value)
    if values.dtype == dtype or _holds_all(values.dtype, dtype):
        return values.astype(dtype, copy=False)
    kinds = values.dtype.kind, dtype.kind
    if kinds[0] in "iu" and kinds[1] in "iu":
        array = values.astype(dtype)
        is_held = _is_within(values, dtype)
    elif kinds[0] in "fiu" and kinds[1] in "fc":
        array, is_held = _rounded(values, dtype)
    else:
        array = _converted(value, values, dtype)
        is_held = False
    if not is_held:
        misfits = _misfits(values, array)
        if misfits.any():
            _refuse(values, misfits)
    return array


def as_numpy_does(value: object, dtype: np.dtype[Any]) -> _Array:
    """Converts a value to an array of a type. Numbers that don't fit wrap around.

    Raises:
        OverflowError: If a Python int has more than 64 bits.
        TypeError: If the value contains something other than numbers.
        ValueError: If the value contains something other than numbers, or its rows differ in
            length.
    """
    array = np.asarray(value)
    if array.dtype.kind in _NUMBERS:
        # NumPy 2 rejects Python ints that don't fit, but not arrays of them.
        return array.astype(dtype, copy=False)
    return np.asarray(value, dtype=dtype)


@cache
def _holds_all(source: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Returns whether a type can represent every value of another type."""
    is_wide = dtype.kind in "fc" and dtype != np.float16
    is_truth = dtype.kind == "b" and source.kind in _NUMBERS
    return np.can_cast(source, dtype, "safe") or is_truth or (is_wide and source.kind in "iu")


def _is_within(array: _Array, dtype: np.dtype[Any]) -> bool:
    """Returns whether integers are in the range of another integer type."""
    if not array.size:
        return True
    smallest, largest = _limits(dtype)
    return bool(smallest <= array.min() and array.max() <= largest)


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _rounded(array: _Array, dtype: np.dtype[Any]) -> tuple[_Array, bool]:
    """Rounds real numbers to a less precise type, and returns whether all are in its range."""
    try:
        with np.errstate(over="raise"):
            return array.astype(dtype), True
    except FloatingPointError:
        with np.errstate(over="ignore"):
            return array.astype(dtype), False


def _converted(value: object, array: _Array, dtype: np.dtype[Any]) -> _Array:
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and dtype.kind != "c":
            return array.real.astype(dtype)
        if array is value or array.dtype.kind == "c":
            return array.astype(dtype)
        try:
            # `array` has converted a list of ints and floats to floats, which are less precise.
            return np.asarray(value, dtype=dtype)
        except (OverflowError, ValueError) as error:
            if array.dtype.kind in _NUMBERS:
                return array.astype(dtype)
            if isinstance(error, ValueError):
                raise
            _refuse(array, [_overflows(item, dtype) for item in array.flat])


def _overflows(item: object, dtype: np.dtype[Any]) -> bool:
    try:
        np.asarray(item, dtype=dtype)
    except OverflowError:
        return True
    return False


def _misfits(source: _Array, array: _Array) -> _Array:
    """Returns which elements of `array` differ from the original numbers."""
    if source.dtype.kind == "O":
        is_none = np.frompyfunc(lambda item: item is None, 1, 1)
        nothing = np.asarray(is_none(source), dtype=bool)
        return (
            nothing if array.dtype.kind == "b" else np.logical_or(nothing, _differ(source, array))
        )
    if source.dtype.kind in _NUMBERS:
        return _differ(source, array)
    # NumPy parses text as a number, but as a bool, any text is true.
    return np.full(source.shape, array.dtype.kind == "b")


def _differ(source: _Array, array: _Array) -> _Array:
    if array.dtype.kind not in "fc":
        return np.asarray(array != source, dtype=bool)
    if source.dtype.kind == "c" and array.dtype.kind == "f":
        return np.asarray(source.imag != 0, dtype=bool) | _differ(source.real, array)
    if np.isfinite(array).all():
        return np.zeros((), dtype=bool)
    return np.asarray(np.isinf(array) & (array != source), dtype=bool)


def _refuse(array: _Array, misfits: npt.ArrayLike) -> NoReturn:
    """Raises `LossyValue` for the first misfit."""
    first = int(np.argmax(np.broadcast_to(np.reshape(misfits, -1), array.size)))
    index = tuple(int(position) for position in np.unravel_index(first, array.shape))
    item = array[index]
    raise LossyValue(item.item() if isinstance(item, np.generic) else item, index)
