"""Decoders: from the bytes of a record to numbers.

Source: `tf.decode_raw` of TensorFlow 1.15.
"""

from typing import Any

from headrace.dtypes import as_dtype, string
from headrace.graph import Tensor, graph_of
from headrace.ops.conversion import convert_to_tensor
from headrace.shapes import TensorShape

__all__ = ["decode_raw"]

_RAW_TYPES = frozenset(
    {
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16"),
        *("bool", "complex64", "complex128"),
    }
)


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Takes the bytes of strings for numbers.

    Args:
        input_bytes: Strings of one length, of any shape.
        out_type: Type of the numbers: float16/32/64, int8/16/32/64, uint8/16, bool, complex64/128.
        little_endian: Order of the bytes of one number.
        name: Name of the operation.
        bytes: The old name of `input_bytes`.

    Returns:
        The numbers, in a new last dimension: shape `input_bytes.shape + [length / size]`.

    Raises:
        InvalidArgumentError: When run: the strings differ in length, or a length is no multiple of
            the size of a number.
        TypeError: If there is no such type of numbers.
        ValueError: If both or neither of `input_bytes` and `bytes` are given.
    """
    if bytes is not None:
        if input_bytes is not None:
            raise ValueError("Cannot specify both 'bytes' and 'input_bytes'")
        input_bytes = bytes
    if input_bytes is None:
        raise ValueError("decode_raw() missing 1 required positional argument: 'input_bytes'")
    if out_type is None:
        raise ValueError("decode_raw() missing 1 required positional argument: 'out_type'")
    dtype = as_dtype(out_type)
    if dtype.name not in _RAW_TYPES:
        raise TypeError(
            f"Value passed to parameter 'out_type' has DataType {dtype.name} not in list of "
            f"allowed values: {', '.join(sorted(_RAW_TYPES))}"
        )
    strings = convert_to_tensor(input_bytes, dtype=string, name="bytes")
    op = graph_of([strings]).create_op(
        "DecodeRaw",
        [strings],
        [dtype],
        output_shapes=[strings.shape.concatenate(TensorShape([None]))],
        name=name,
        attrs={"out_type": dtype, "little_endian": bool(little_endian)},
    )
    return op.outputs[0]
