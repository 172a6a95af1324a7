"""Quotients rounded towards 0, and the corresponding remainders.

Source: `tf.truncatediv` and `tf.truncatemod` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.elementwise import binary
from headrace.ops.framework.kernel import Array, fail

__all__ = ["truncatediv", "truncatemod"]

_QUOTIENTS = (
    *(dtypes.uint8, dtypes.uint16, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.float16, dtypes.float32, dtypes.float64),
)
_REMAINDERS = (dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64)


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns `x / y`, rounded towards 0.

    Dividing an integer by 0 ends the run with InvalidArgumentError.
    """
    return binary("TruncateDiv", x, y, name, allowed=_QUOTIENTS)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the remainder of `truncatediv`, with the sign of `x`.

    Dividing an integer by 0 ends the run with InvalidArgumentError.
    """
    return binary("TruncateMod", x, y, name, allowed=_REMAINDERS)


def _quotient(x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        return np.asarray(np.trunc(x / y), x.dtype)
    return np.asarray((x - _remainder(x, y)) // np.asarray(y), x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    if x.dtype.kind != "f" and not np.all(y):
        fail("Integer division by zero")
    return np.asarray(np.fmod(x, y), x.dtype)


define("TruncateDiv", numpy=_quotient)
define("TruncateMod", numpy=_remainder)
