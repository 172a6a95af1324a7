"""LevelDB's SSTables: sorted tables of keys and values in one file.

A table consists of blocks, an index block with the position of each block, and a footer with the
position of the index. In a block, each key omits the prefix that it shares with the previous key,
but keys are written in full at regular intervals. Each block is followed by one byte for its
compression and a checksum.

Source: `doc/table_format.md` of LevelDB.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from headrace.core.allocation_guard import check_bytes
from headrace.core.errors import DataLossError, UnimplementedError
from headrace.io.os_errors import os_errors
from headrace.io.storage import open_file, size_of
from headrace.tf1.tensor_bundle.encoding import masked_crc32c, read_varint, write_varint

__all__ = ["read_table", "write_table"]

_MAGIC: Final = 0xDB4775248B80FB57
_FOOTER: Final = struct.Struct("<40sQ")
_TRAILER: Final = struct.Struct("<BI")
_UINT32: Final = struct.Struct("<I")
_BLOCK_SIZE_BYTES: Final = 256 * 1024
_RESTART_INTERVAL: Final = 16
# The maximum ratio of the size of a block's keys to the size of the block. TensorFlow writes every
# sixteenth key in full, so its ratio is at most sixteen.
_MAX_EXPANSION: Final = 64
_COMPRESSIONS: Final = {1: "Snappy", 2: "Zstandard"}


class Output(Protocol):
    """The file that a table is written to."""

    def write(self, data: bytes, /) -> int:
        """Appends bytes and returns their number."""

    def tell(self) -> int:
        """Returns the number of bytes written so far."""


class _BlockBuilder:
    """Collects the entries of one block."""

    def __init__(self, restart_interval: int) -> None:
        self._restart_interval = restart_interval
        self._entries = bytearray()
        self._restarts = [0]
        self._num_entries = 0
        self.last_key = b""

    @property
    def size_bytes(self) -> int:
        return len(self._entries) + 4 * len(self._restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        num_shared = _count_shared(self.last_key, key)
        if self._num_entries and self._num_entries % self._restart_interval == 0:
            self._restarts.append(len(self._entries))
            num_shared = 0
        for number in (num_shared, len(key) - num_shared, len(value)):
            self._entries += write_varint(number)
        self._entries += key[num_shared:]
        self._entries += value
        self._num_entries += 1
        self.last_key = key

    def finish(self) -> bytes:
        restarts = struct.pack(f"<{len(self._restarts) + 1}I", *self._restarts, len(self._restarts))
        return bytes(self._entries) + restarts


def _count_shared(first: bytes, second: bytes) -> int:
    """Returns the length of the common prefix of two keys."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


def write_table(
    file: Output,
    items: Iterable[tuple[bytes, bytes]],
    block_size_bytes: int = _BLOCK_SIZE_BYTES,
) -> None:
    """Writes a table.

    Args:
        file: The file to write to. Its position must be 0.
        items: The keys in ascending order, without duplicates, and their values.
        block_size_bytes: The size at which a block ends.
    """
    index = _BlockBuilder(restart_interval=1)
    block = _BlockBuilder(_RESTART_INTERVAL)
    for key, value in items:
        if block.size_bytes >= block_size_bytes:
            index.add(_separator(block.last_key, key), _write_block(file, block))
            block = _BlockBuilder(_RESTART_INTERVAL)
        block.add(key, value)
    index.add(_successor(block.last_key), _write_block(file, block))
    metaindex_handle = _write_block(file, _BlockBuilder(_RESTART_INTERVAL))
    index_handle = _write_block(file, index)
    file.write(_FOOTER.pack(metaindex_handle + index_handle, _MAGIC))


def _separator(key: bytes, next_key: bytes) -> bytes:
    """Returns a short key that is at least `key` and less than `next_key`."""
    at = _count_shared(key, next_key)
    if at < len(key) and key[at] + 1 < next_key[at]:
        return key[:at] + bytes([key[at] + 1])
    return key


def _successor(key: bytes) -> bytes:
    """Returns a short key that is at least `key`."""
    at = len(key) - len(key.lstrip(b"\xff"))
    return key[:at] + bytes([key[at] + 1]) if at < len(key) else key


def _write_block(file: Output, block: _BlockBuilder) -> bytes:
    """Writes a block and returns its handle: its offset and size."""
    offset = file.tell()
    contents = block.finish() + b"\0"
    file.write(contents + _UINT32.pack(masked_crc32c(contents)))
    return write_varint(offset) + write_varint(len(contents) - 1)


def read_table(path: str) -> Iterator[tuple[bytes, bytes]]:
    """Reads a table from the start. Each block is checked before its entries are yielded.

    Args:
        path: The path of the file. The whole file is read.

    Yields:
        The keys in ascending order, and their values.

    Raises:
        DataLossError: If the file is not a table, is truncated or does not match its checksums, or
            if its keys are unsorted or much larger than the file.
        OpError: If the file cannot be read.
        ResourceExhaustedError: If the file can never fit into memory.
        UnimplementedError: If a block is compressed.
    """
    with os_errors(path), open_file(path) as file:
        check_bytes(size_of(file), path)
        data = file.read()
    if len(data) < _FOOTER.size:
        raise _damage(path, f"the file has {len(data)} bytes, expected at least {_FOOTER.size}")
    handles, magic = _FOOTER.unpack(data[-_FOOTER.size :])
    if magic != _MAGIC:
        raise _damage(path, f"the file ends with {magic:#018x}, expected {_MAGIC:#018x}")
    try:
        position = _read_handle(handles, 0)[2]
        last_key = None
        for _, handle in _read_block(path, data, *_read_handle(handles, position)[:2]):
            for key, value in _read_block(path, data, *_read_handle(handle, 0)[:2]):
                if last_key is not None and key <= last_key:
                    raise ValueError(
                        f"key {key!r} comes after {last_key!r}, expected ascending keys"
                    )
                yield key, value
                last_key = key
    except (ValueError, struct.error) as error:
        raise _damage(path, str(error)) from error


def _read_handle(data: bytes, position: int) -> tuple[int, int, int]:
    """Returns the offset and size of a block, and the position after the handle."""
    offset, position = read_varint(data, position)
    size, position = read_varint(data, position)
    return offset, size, position


def _read_block(path: str, data: bytes, offset: int, size: int) -> list[tuple[bytes, bytes]]:
    end = offset + size
    where = f"block at byte {offset}"
    if end + _TRAILER.size > len(data):
        raise ValueError(
            f"{where} claims {size} bytes, past the end of the file ({len(data)} bytes)"
        )
    compression, checksum = _TRAILER.unpack_from(data, end)
    actual = masked_crc32c(data[offset : end + 1])
    if checksum != actual:
        raise ValueError(f"{where} has checksum {actual:#010x}, expected {checksum:#010x}")
    if compression != 0:
        kind = _COMPRESSIONS.get(compression, f"type {compression}")
        raise UnimplementedError(
            None,
            None,
            f"{path}: {where} is compressed ({kind}), which is not supported. Write the "
            "checkpoint again without compressing its index.",
        )
    return _read_entries(data[offset:end])


def _read_entries(block: bytes) -> list[tuple[bytes, bytes]]:
    (num_restarts,) = _UINT32.unpack_from(block, len(block) - _UINT32.size)
    end = len(block) - _UINT32.size * (num_restarts + 1)
    entries = []
    key, position, num_key_bytes = b"", 0, 0
    while position < end:
        num_shared, position = read_varint(block, position)
        num_unshared, position = read_varint(block, position)
        num_value_bytes, position = read_varint(block, position)
        value_at = position + num_unshared
        key = key[:num_shared] + block[position:value_at]
        num_key_bytes += len(key)
        if num_key_bytes > _MAX_EXPANSION * len(block):
            raise ValueError(
                f"the keys of a block of {len(block)} bytes are more than {_MAX_EXPANSION} "
                "times as long as the block"
            )
        position = value_at + num_value_bytes
        entries.append((key, block[value_at:position]))
    if position != max(end, 0):
        raise ValueError("a block's entries do not end where its restarts begin")
    return entries


def _damage(path: str, what: str) -> DataLossError:
    return DataLossError(
        None,
        None,
        f"{path}: {what}. The file is damaged, or it is not the index of a checkpoint. Copy "
        "it again.",
    )
