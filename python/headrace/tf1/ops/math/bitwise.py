"""Bitwise operations on integers.

Source: `tf.bitwise` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.elementwise import INTEGERS, binary, unary
from headrace.ops.framework.kernel import Array

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bits that are set in both integers."""
    return binary("BitwiseAnd", x, y, name, allowed=INTEGERS)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bits that are set in at least one of two integers."""
    return binary("BitwiseOr", x, y, name, allowed=INTEGERS)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bits that differ in two integers."""
    return binary("BitwiseXor", x, y, name, allowed=INTEGERS)


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns integers with all bits inverted."""
    return unary("Invert", x, name, allowed=INTEGERS)


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shifts integers to the left. The shift is clipped to the range from 0 to bits - 1."""
    return binary("LeftShift", x, y, name, allowed=INTEGERS)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shifts integers to the right; see `left_shift`. Negative integers stay negative."""
    return binary("RightShift", x, y, name, allowed=INTEGERS)


def _within(x: Array, shift: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    return np.clip(shift, 0, bits - 1).astype(x.dtype)


define("BitwiseAnd", numpy=np.bitwise_and)
define("BitwiseOr", numpy=np.bitwise_or)
define("BitwiseXor", numpy=np.bitwise_xor)
define("Invert", numpy=np.invert)
define("LeftShift", numpy=lambda x, y: np.left_shift(x, _within(x, y)))
define("RightShift", numpy=lambda x, y: np.right_shift(x, _within(x, y)))
