"""Serializes examples field by field."""

import struct
from typing import Any


def varint(value: int) -> bytes:
    """Writes a number with seven bits per byte."""
    value %= 2**64
    text = b""
    while value >= 128:
        text += bytes([value % 128 | 128])
        value >>= 7
    return text + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    """Writes a field of bytes."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def feature(kind: str, values: list[Any], is_packed: bool) -> bytes:
    """Writes a `Feature`, without a list if the kind is ""."""
    if not kind:
        return b""
    if kind == "string":
        return field(1, b"".join(field(1, value) for value in values))
    write = varint if kind == "int64" else lambda value: struct.pack("<f", value)
    if is_packed:
        return field(3 if kind == "int64" else 2, field(1, b"".join(map(write, values))))
    tag = b"\x08" if kind == "int64" else b"\x0d"
    return field(3 if kind == "int64" else 2, b"".join(tag + write(value) for value in values))


def entry(name: str, value: bytes) -> bytes:
    """Writes an entry of the map from names to features."""
    return field(1, field(1, name.encode()) + field(2, value))
