"""Converting numbers to strings and strings to numbers.

Source: `tf.as_string` and `tf.string_to_number` in TensorFlow 1.15.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.elementwise import COMPLEX, FLOATS, INTEGERS
from headrace.ops.framework.kernel import Array, fail, string_array

__all__ = ["as_string", "string_to_number"]

_WRITABLE: Final = (*INTEGERS, *FLOATS, *COMPLEX, dtypes.bool, dtypes.string)
_READABLE: Final = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Writes numbers and bools as strings.

    Args:
        input: The tensor.
        precision: For floats, the number of digits after the decimal point. -1 selects 6.
        scientific: If True, floats are written with an exponent.
        shortest: If True, floats are written in the shorter of the notations with and without an
            exponent.
        width: The minimum number of characters. -1 means no minimum.
        fill: A flag of C's printf that pads to `width`, such as "0" or " ".
        name: Name of the operation.

    Returns:
        A string tensor of the same shape.

    Raises:
        InvalidArgumentError: At run time, if an option is not supported for the type.
    """
    attrs = {
        "precision": precision,
        "scientific": scientific,
        "shortest": shortest,
        "width": width,
        "fill": fill,
    }

    def infer(tensor: Tensor) -> Outputs:
        return [(dtypes.string, tensor.shape)]

    def kernel(x: Array) -> Array:
        return _write_all(x, **attrs)  # type: ignore[arg-type]

    inputs = [Input("input", input, allowed=_WRITABLE)]
    return apply_op("AsString", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def string_to_number(
    input: TensorLike, out_type: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Converts strings to numbers.

    Args:
        input: The strings. Spaces around the number are allowed.
        out_type: float32, float64, int32 or int64.
        name: Name of the operation.

    Returns:
        A tensor of the same shape.

    Raises:
        InvalidArgumentError: At run time, if a string is not a valid number.
        TypeError: If `out_type` is not one of these types.

    Examples:
        >>> convert = hr.native(lambda one: {"x": hr.ops.string_to_number(one["text"], np.int64)})
        >>> convert({"text": b"42"})
        {'x': np.int64(42)}
    """
    dtype = type_attr("out_type", out_type, _READABLE)

    def infer(tensor: Tensor) -> Outputs:
        return [(dtype, tensor.shape)]

    inputs = [Input("string_tensor", input, dtypes.string)]
    attrs = {"out_type": dtype}
    return apply_op("StringToNumber", inputs, infer, name=name, attrs=attrs).outputs[0]


def _write_all(
    x: Array, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Array:
    is_float = x.dtype.kind in "fc"
    if scientific and shortest:
        fail("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        fail("Fill string must be one or fewer characters")
    if fill not in "+-0 #":
        fail(f"Fill argument not supported: {fill}")
    if not is_float and (scientific or shortest):
        name = as_dtype(x.dtype).name
        fail(f"scientific and shortest format not supported for datatype {name}")
    if not is_float and precision > -1:
        fail(f"precision not supported for datatype {as_dtype(x.dtype).name}")
    if x.dtype.kind == "O":
        return x
    if x.dtype.kind == "b":
        return string_array([b"true" if item else b"false" for item in x.ravel()], x.shape)
    notation = "e" if scientific else "g" if shortest else "f"
    digits = f".{precision}" if precision > -1 else ""
    size = str(width) if width > -1 else ""
    form = f"%{fill}{size}{digits}{notation}" if is_float else f"%{fill}{size}d"
    items = x.ravel().tolist()

    def write(item: float) -> str:
        # As in C's printf, infinity and NaN are not padded with zeros.
        padded = form if not is_float or isfinite(item) else form.replace("%0", "%")
        return f"{padded % item}"

    if x.dtype.kind == "c":
        words = [f"({write(item.real)},{write(item.imag)})" for item in items]
    else:
        words = [write(item) for item in items]
    return string_array([word.encode() for word in words], x.shape)


define("AsString")
define("StringToNumber", batch_rule=elementwise)
