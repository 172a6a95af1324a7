"""Encodes and decodes a tensor in a data file.

Numbers and bools are stored in little-endian, row-major order. Strings are stored as their lengths
in varints, a checksum of the lengths, and the bytes of all strings, one after another.
"""

import math
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes
from headrace.tf1.tensor_bundle.encoding import masked_crc32c, read_varint, write_varint

__all__ = ["decode", "encode", "find_dtype"]

_CHECKSUM: Final = struct.Struct("<I")
_UINT32_MAX: Final = 0xFFFFFFFF


def find_dtype(array: npt.NDArray[Any]) -> dtypes.DType:
    """Returns the dtype with which an array is stored.

    Raises:
        TypeError: If checkpoints do not support the dtype.
    """
    return dtypes.as_dtype(array.dtype)


def encode(array: npt.NDArray[Any]) -> tuple[bytes, int]:
    """Returns the bytes that represent an array in a data file, and their checksum.

    Raises:
        TypeError: If an element of an object array is neither bytes nor str.
    """
    if find_dtype(array) == dtypes.string:
        return _encode_strings(array)
    data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return data, masked_crc32c(data)


def decode(
    data: bytes, dtype: dtypes.DType, shape: tuple[int, ...], checksum: int
) -> npt.NDArray[Any]:
    """Decodes an array from the bytes in a data file.

    Args:
        data: The bytes.
        dtype: The dtype with which the array is stored.
        shape: The shape of the array.
        checksum: The expected checksum of the bytes.

    Returns:
        A new array. Strings are an object array of bytes.

    Raises:
        ValueError: If the bytes do not match the checksum, the dtype or the shape.
    """
    if dtype == dtypes.string:
        return _decode_strings(data, shape, checksum)
    _check(masked_crc32c(data), checksum, "elements")
    element = np.dtype(dtype.as_numpy_dtype)
    num_bytes = math.prod(shape) * element.itemsize
    if len(data) != num_bytes:
        raise ValueError(
            f"the data has {len(data)} bytes, expected {num_bytes} for {dtype.name}{shape}"
        )
    return np.frombuffer(data, element.newbyteorder("<")).reshape(shape).astype(element)


def _encode_strings(array: npt.NDArray[Any]) -> tuple[bytes, int]:
    strings = [_as_bytes(element) for element in array.ravel().tolist()]
    lengths = b"".join(write_varint(len(string)) for string in strings)
    length_numbers = b"".join(_length_number(len(string)) for string in strings)
    length_checksum = _CHECKSUM.pack(masked_crc32c(length_numbers))
    contents = b"".join(strings)
    data = lengths + length_checksum + contents
    return data, masked_crc32c(length_numbers + length_checksum + contents)


def _decode_strings(data: bytes, shape: tuple[int, ...], checksum: int) -> npt.NDArray[np.object_]:
    num_strings, position = math.prod(shape), 0
    if num_strings > len(data):
        raise ValueError(f"the data has {len(data)} bytes, too few for {num_strings} strings")
    lengths = []
    for _ in range(num_strings):
        length, position = read_varint(data, position)
        lengths.append(length)
    contents_at = position + _CHECKSUM.size
    if contents_at + sum(lengths) != len(data):
        raise ValueError(f"the data has {len(data)} bytes, expected {contents_at + sum(lengths)}")
    length_numbers = b"".join(map(_length_number, lengths))
    (length_checksum,) = _CHECKSUM.unpack_from(data, position)
    _check(masked_crc32c(length_numbers), length_checksum, "string lengths")
    _check(masked_crc32c(length_numbers + data[position:]), checksum, "strings")
    array = np.empty(num_strings, np.object_)
    position = contents_at
    for index, length in enumerate(lengths):
        array[index] = data[position : position + length]
        position += length
    return array.reshape(shape)


def _length_number(length: int) -> bytes:
    """Encodes a length as the bytes over which the checksum is computed."""
    return length.to_bytes(4 if length <= _UINT32_MAX else 8, "little")


def _as_bytes(element: object) -> bytes:
    if isinstance(element, str):
        return element.encode()
    if not isinstance(element, bytes):
        raise TypeError(f"got an element of type {type(element).__name__}, expected bytes or str")
    return element


def _check(actual: int, expected: int, what: str) -> None:
    if actual != expected:
        raise ValueError(f"the {what} have checksum {actual:#010x}, expected {expected:#010x}")
