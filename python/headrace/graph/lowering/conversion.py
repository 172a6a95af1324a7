"""Conversion of fed values to a type, with a check that the type can hold them.

NumPy, and so TensorFlow, turns 300 into the uint8 44 and 1.5 into the int32 1. An integer type can
hold a number that it represents exactly. A floating-point type can hold any number within its
range, rounded. A bool takes any number, since each has a truth value.
"""

from functools import cache
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

__all__ = ["LossyValue", "as_numpy_does", "without_loss"]

_Array = npt.NDArray[Any]

_NUMBERS = "biufc"


class LossyValue(Exception):
    """A value that its type cannot hold.

    Attributes:
        value: The value.
        index: Its position in the fed value.
    """

    def __init__(self, value: object, index: tuple[int, ...]) -> None:
        super().__init__(value, index)
        self.value = value
        self.index = index


def without_loss(value: object, dtype: np.dtype[Any]) -> _Array:
    """Returns a value as an array of a type.

    Args:
        value: Anything that NumPy makes an array of.
        dtype: A type of numbers or truth values.

    Raises:
        Misfit: If the type cannot hold one of the numbers.
        TypeError: If it is made of something else.
        ValueError: If it is made of something else, or is not a regular array.
    """
    given = np.asarray(value)
    if given.dtype == dtype or _holds_all(given.dtype, dtype):
        return given.astype(dtype, copy=False)
    kinds = given.dtype.kind, dtype.kind
    if kinds[0] in "iu" and kinds[1] in "iu":
        array = given.astype(dtype)
        is_held = _is_within(given, dtype)
    elif kinds[0] in "fiu" and kinds[1] in "fc":
        array, is_held = _rounded(given, dtype)
    else:
        array = _converted(value, given, dtype)
        is_held = False
    if not is_held:
        misfits = _misfits(given, array)
        if misfits.any():
            _refuse(given, misfits)
    return array


def as_numpy_does(value: object, dtype: np.dtype[Any]) -> _Array:
    """Returns a value as an array of a type; numbers that it cannot hold wrap around.

    Raises:
        OverflowError: If a Python int has more than 64 bits.
        TypeError: If it is made of something else.
        ValueError: If it is made of something else, or is not a regular array.
    """
    given = np.asarray(value)
    if given.dtype.kind in _NUMBERS:
        # NumPy 2 refuses Python's ints that do not fit, but not arrays of them.
        return given.astype(dtype, copy=False)
    return np.asarray(value, dtype=dtype)


@cache
def _holds_all(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Returns whether a type holds every value of another one."""
    is_wide = dtype.kind in "fc" and dtype != np.float16
    is_truth = dtype.kind == "b" and given.kind in _NUMBERS
    return np.can_cast(given, dtype, "safe") or is_truth or (is_wide and given.kind in "iu")


def _is_within(given: _Array, dtype: np.dtype[Any]) -> bool:
    """Returns whether integers are in the range of another type of integers."""
    if not given.size:
        return True
    smallest, largest = _limits(dtype)
    return bool(smallest <= given.min() and given.max() <= largest)


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _rounded(given: _Array, dtype: np.dtype[Any]) -> tuple[_Array, bool]:
    """Rounds real numbers to a type of less precision; returns whether all are in its range."""
    try:
        with np.errstate(over="raise"):
            return given.astype(dtype), True
    except FloatingPointError:
        with np.errstate(over="ignore"):
            return given.astype(dtype), False


def _converted(value: object, given: _Array, dtype: np.dtype[Any]) -> _Array:
    with np.errstate(all="ignore"):
        if given.dtype.kind == "c" and dtype.kind != "c":
            return given.real.astype(dtype)
        if given is value or given.dtype.kind == "c":
            return given.astype(dtype)
        try:
            # In `given`, a list of ints and floats has become floats, which are less exact.
            return np.asarray(value, dtype=dtype)
        except (OverflowError, ValueError) as error:
            if given.dtype.kind in _NUMBERS:
                return given.astype(dtype)
            if isinstance(error, ValueError):
                raise
            _refuse(given, [_overflows(item, dtype) for item in given.flat])


def _overflows(item: object, dtype: np.dtype[Any]) -> bool:
    try:
        np.asarray(item, dtype=dtype)
    except OverflowError:
        return True
    return False


def _misfits(given: _Array, array: _Array) -> _Array:
    """Finds the elements of `array` that differ from the numbers they were made of."""
    if given.dtype.kind == "O":
        is_none = np.frompyfunc(lambda item: item is None, 1, 1)
        nothing = np.asarray(is_none(given), dtype=bool)
        return nothing if array.dtype.kind == "b" else np.logical_or(nothing, _differ(given, array))
    if given.dtype.kind in _NUMBERS:
        return _differ(given, array)
    # NumPy parses numbers in text, but takes all text as true.
    return np.full(given.shape, array.dtype.kind == "b")


def _differ(given: _Array, array: _Array) -> _Array:
    if array.dtype.kind not in "fc":
        return np.asarray(array != given, dtype=bool)
    if given.dtype.kind == "c" and array.dtype.kind == "f":
        return np.asarray(given.imag != 0, dtype=bool) | _differ(given.real, array)
    if np.isfinite(array).all():
        return np.zeros((), dtype=bool)
    return np.asarray(np.isinf(array) & (array != given), dtype=bool)


def _refuse(given: _Array, misfits: npt.ArrayLike) -> NoReturn:
    """Raises `LossyValue` for the first of some elements."""
    first = int(np.argmax(np.broadcast_to(np.reshape(misfits, -1), given.size)))
    index = tuple(int(position) for position in np.unravel_index(first, given.shape))
    item = given[index]
    raise LossyValue(item.item() if isinstance(item, np.generic) else item, index)
