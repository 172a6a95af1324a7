"""Strings: from and to numbers, and joined.

Source: `tf.as_string`, `tf.string_join` and `tf.string_to_number` of TensorFlow 1.15.
"""

from math import isfinite
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.graph import Tensor
from headrace.ops.arguments import Input, InputList, apply_op, only_one
from headrace.ops.attributes import type_attr
from headrace.ops.elementwise import COMPLEX, FLOATS, INTEGERS
from headrace.ops.inference import merge_shapes
from headrace.ops.kernel import Array, fail, string_array
from headrace.shapes import bracketed, unknown_shape

__all__ = ["as_string", "string_join", "string_to_number"]

_WRITABLE: Final = (*INTEGERS, *FLOATS, *COMPLEX, dtypes.bool, dtypes.string)
_READABLE: Final = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def as_string(
    input: Any,
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
        precision: Digits after the point, for floats; -1 for 6.
        scientific: Whether floats are written with an exponent.
        shortest: Whether floats are written in the shorter of both ways.
        width: At least so many characters; -1 for no limit.
        fill: What fills up to `width`: a flag of C's printf such as "0" or " ".
        name: Name of the operation.

    Returns:
        A string tensor of the same shape. A run with options that do not fit the type ends with
        InvalidArgumentError.
    """
    attrs = {
        "precision": precision,
        "scientific": scientific,
        "shortest": shortest,
        "width": width,
        "fill": fill,
    }

    def infer(tensor: Tensor) -> Any:
        return [(dtypes.string, tensor.shape)]

    def kernel(x: Array) -> Any:
        return _write_all(x, **attrs)  # type: ignore[arg-type]

    inputs = [Input("input", input, allowed=_WRITABLE)]
    return apply_op("AsString", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def string_join(inputs: Any, separator: str | bytes = "", name: str | None = None) -> Tensor:
    """Joins strings elementwise.

    Args:
        inputs: A list of string tensors of one shape; scalars count for every element.
        separator: What stands between two parts.
        name: Name of the operation.

    Raises:
        TypeError: If one is no string tensor, or `inputs` is no list.
        ValueError: If shapes differ.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected list for 'inputs' argument to 'StringJoin' Op, not {inputs!r}.")
    if not inputs:
        raise ValueError(
            "List argument 'inputs' to 'StringJoin' Op with length 0 shorter than minimum length 1."
        )

    def infer(*tensors: Tensor) -> Any:
        shape = unknown_shape()
        for tensor in tensors:
            if tensor.shape.rank != 0:
                shape = merge_shapes(shape, tensor.shape)
        all_scalar = all(tensor.shape.rank == 0 for tensor in tensors)
        return [(dtypes.string, tensors[0].shape if all_scalar else shape)]

    def kernel(*arrays: Array) -> Any:
        shapes = [array.shape for array in arrays if array.ndim]
        for shape in shapes:
            if shape != shapes[0]:
                fail(f"Input shapes do not match: {bracketed(shapes[0])} vs. {bracketed(shape)}")
        between = separator.encode() if isinstance(separator, str) else separator
        whole = shapes[0] if shapes else ()
        columns = [np.broadcast_to(array, whole).ravel() for array in arrays]
        return string_array([between.join(row) for row in zip(*columns, strict=True)], whole)

    attrs = {"N": len(inputs), "separator": separator}
    values = [InputList("inputs", inputs, dtypes.string)]
    return apply_op("StringJoin", values, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Reads numbers from strings.

    Args:
        string_tensor: The strings; spaces around the number are allowed.
        out_type: float32, float64, int32 or int64.
        name: Name of the operation.
        input: New name of `string_tensor`.

    Returns:
        A tensor of the same shape. A run with a string that is no such number ends with
        InvalidArgumentError.

    Raises:
        TypeError: If `out_type` is another type.
        ValueError: If both names are given.
    """
    text = only_one("input", input, "string_tensor", string_tensor)
    dtype = type_attr("out_type", out_type, _READABLE)

    def infer(tensor: Tensor) -> Any:
        return [(dtype, tensor.shape)]

    inputs = [Input("string_tensor", text, dtypes.string)]
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

    def write(item: Any) -> str:
        # As printf of C: there are no zeros before what is not a number.
        padded = form if not is_float or isfinite(item) else form.replace("%0", "%")
        return f"{padded % item}"

    if x.dtype.kind == "c":
        words = [f"({write(item.real)},{write(item.imag)})" for item in items]
    else:
        words = [write(item) for item in items]
    return string_array([word.encode() for word in words], x.shape)
