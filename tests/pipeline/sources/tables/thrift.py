"""Thrift's compact protocol, to change numbers in the footers and page headers of Parquet files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BOOL_TRUE, _BOOL_FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 7, 8, 9, 12
_INTS = (4, 5, 6)


@dataclass
class Field:
    """A field of a struct, or an item of a list.

    Attributes:
        number: The number of the field; that of its list for an item.
        kind: The code of its type.
        value: An int, bytes, or the fields or items of a struct or list. The first item of a list
            has the kind of the others, and no value.
    """

    number: int
    kind: int
    value: Any

    def ints(self, path: tuple[int, ...] = ()) -> "Iterator[tuple[tuple[int, ...], Field]]":
        """Yields all ints in it, with the numbers of the fields that lead to them."""
        if self.kind in _INTS:
            yield (*path, self.number), self
        elif self.kind in (_STRUCT, _LIST):
            for item in self.value[self.kind == _LIST :]:
                yield from item.ints((*path, self.number))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def int(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, number: int, kind: int, is_item: bool) -> Field:
        if kind in _INTS:
            return Field(number, kind, self.int())
        if kind in (_BOOL_TRUE, _BOOL_FALSE):
            return Field(number, kind, self.take(1) if is_item else b"")
        if kind in (_BYTE, _DOUBLE):
            return Field(number, kind, self.take(1 if kind == _BYTE else 8))
        if kind == _BINARY:
            return Field(number, kind, self.take(self.varint()))
        if kind == _STRUCT:
            return self.struct(number)
        head = self.take(1)[0]
        count = self.varint() if head >> 4 == 15 else head >> 4
        items = [self.value(number, head & 15, True) for _ in range(count)]
        return Field(number, _LIST, [Field(-1, head & 15, b""), *items])

    def struct(self, number: int = 0) -> Field:
        fields: list[Field] = []
        last = 0
        while head := self.take(1)[0]:
            last = last + (head >> 4) if head >> 4 else self.int()
            fields.append(self.value(last, head & 15, False))
        return Field(number, _STRUCT, fields)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _int(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def parsed(data: bytes) -> tuple[Field, int]:
    """Returns the struct at the beginning of some bytes, and its length."""
    reader = _Reader(data)
    return reader.struct(), reader.at


def serialized(field: Field) -> bytes:
    """Returns a field as bytes."""
    if field.kind in _INTS:
        return _int(field.value)
    if field.kind == _BINARY:
        return _varint(len(field.value)) + field.value
    if field.kind == _LIST:
        kind, *items = field.value
        count = len(items)
        head = bytes([count << 4 | kind.kind]) if count < 15 else bytes([0xF0 | kind.kind])
        return head + (_varint(count) if count >= 15 else b"") + b"".join(map(serialized, items))
    if field.kind != _STRUCT:
        return bytes(field.value)
    out = bytearray()
    last = 0
    for one in field.value:
        delta = one.number - last
        out += (
            bytes([delta << 4 | one.kind])
            if 0 < delta < 16
            else bytes([one.kind]) + _int(one.number)
        )
        out += serialized(one)
        last = one.number
    return bytes(out) + b"\0"


def footer_of(data: bytes) -> tuple[Field, bytes]:
    """Returns the footer of a Parquet file and the bytes before it."""
    size = int.from_bytes(data[-8:-4], "little")
    footer, length = parsed(data[-8 - size : -8])
    assert length == size
    return footer, data[: -8 - size]


def with_footer(rows: bytes, footer: Field) -> bytes:
    """Returns a Parquet file with this footer."""
    data = serialized(footer)
    return rows + data + len(data).to_bytes(4, "little") + b"PAR1"


def field(parent: Field, *numbers: int) -> Field:
    """Returns a field within others; a negative number is an item of a list."""
    for number in numbers:
        parent = (
            parent.value[-number]
            if number < 0
            else next(one for one in parent.value if one.number == number)
        )
    return parent
