"""`tf.compat.v2.io`: decodes numbers from strings of different lengths, as in TensorFlow 2."""

from typing import TYPE_CHECKING

from headrace.core.dtypes import DTypeLike
from headrace.graph import Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.namespace import namespace

__all__ = ["decode_raw"]


def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Decodes numbers from the bytes of strings.

    Args:
        input_bytes: Strings of any shape. They must have the same length, unless `fixed_length` is
            given.
        out_type: The type of the numbers.
        little_endian: Whether the bytes of a number are in little-endian order.
        fixed_length: The number of bytes to decode from each string. Longer strings are truncated,
            and shorter ones are padded with zeros. By default, all bytes are decoded.
        name: Name of the operation.

    Returns:
        The numbers, in a new last dimension.

    Raises:
        InvalidArgumentError: At run time, if the strings differ in length and `fixed_length` is
            None, or a length is not a multiple of the size of a number.
        TypeError: If the type does not exist.
        ValueError: If `fixed_length` is known and not a multiple of the size of a number.
    """
    if fixed_length is None:
        return ops.decode_raw(input_bytes, out_type, little_endian, name)
    return ops.decode_padded_raw(input_bytes, fixed_length, out_type, little_endian, name)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
