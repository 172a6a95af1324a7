"""Arrays and strings in memory that two processes share.

One process writes values one after the other, and the other process creates arrays over the same
memory. Only types, shapes and locations are sent.
"""

import itertools
import mmap
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["Arena", "Layout", "strings_at"]

_ALIGNMENT: Final = 64
_LEAST_BYTES: Final = 1 << 16
_MOST_SPARE_BYTES: Final = 4 << 20


class Arena:
    """Memory that two processes map. One of them writes to it, and the other reads it.

    Attributes:
        descriptor: The descriptor of the arena's file, or -1 once it is closed.
        size: The number of bytes that are mapped in this process.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = 0
        self._bytes: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    def reserve(self, num_bytes: int) -> None:
        """Extends the memory to at least `num_bytes` bytes.

        Raises:
            MemoryError: If there is not enough memory.
        """
        if num_bytes <= self.size:
            return
        size = max(num_bytes + min(num_bytes // 4, _MOST_SPARE_BYTES), _LEAST_BYTES)
        size += -size % mmap.PAGESIZE
        try:
            if hasattr(os, "posix_fallocate"):
                # Allocate all pages now. If one could not be allocated later, the process would be
                # killed.
                os.posix_fallocate(self.descriptor, self.size, size - self.size)
            else:
                os.ftruncate(self.descriptor, size)
        except OSError as error:
            raise MemoryError(
                f"worker processes: cannot allocate {size} bytes of shared memory "
                f"({error.strerror})"
            ) from error
        self.map(size)

    def map(self, size: int) -> None:
        """Maps the first `size` bytes of the file, if they are not mapped yet. They must exist."""
        if size > self.size:
            # The old mapping is kept as long as arrays refer to it.
            self._bytes = np.frombuffer(mmap.mmap(self.descriptor, size), np.uint8)
            self.size = size

    def at(self, offset: int, num_bytes: int) -> npt.NDArray[np.uint8]:
        """Returns some of the arena's bytes as an array over the same memory."""
        return self._bytes[offset : offset + num_bytes]

    def is_kept(self) -> bool:
        """Returns whether arrays refer to the memory."""
        # This object and the call hold two references.
        return sys.getrefcount(self._bytes) > 2

    def close(self) -> None:
        """Closes the file. The memory is freed once no array refers to it."""
        self._bytes, self.size = np.empty(0, np.uint8), 0
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class Layout:
    """Values to write into an arena.

    Attributes:
        size: The number of bytes up to the end of the values.
    """

    def __init__(self, begin: int = 0) -> None:
        """Places the values after the first `begin` bytes."""
        self.size = begin
        self._pieces: list[tuple[int, npt.NDArray[np.uint8]]] = []

    def add(self, value: Any) -> tuple[Any, ...]:
        """Adds a value: `bytes`, an array of numbers or `bytes` objects, or a list of these.

        Returns:
            The location of the value, for `Layout.read_from`.
        """
        if isinstance(value, bytes):
            return ("bytes", self._put([_raw(np.frombuffer(value, np.uint8))]), len(value))
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                return ("strings", value.shape, *self._strings(value.ravel().tolist()))
            return ("array", value.dtype, value.shape, self._put([_raw(value)]))
        return self._list(value)

    def add_strings(self, data: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> tuple[Any, ...]:
        """Adds strings whose bytes are contiguous. String `i` ends at `offsets[i + 1]`."""
        locations = (self._put([_raw(offsets)]), self._put([_raw(data)]), data.nbytes)
        return ("strings", (len(offsets) - 1,), *locations)

    def write(self, arena: Arena) -> None:
        """Writes all values to their locations."""
        arena.reserve(self.size)
        for offset, piece in self._pieces:
            arena.at(offset, piece.nbytes)[:] = piece

    @staticmethod
    def read_from(arena: Arena, location: tuple[Any, ...]) -> Any:
        """Returns a value that another process added. Arrays share the arena's memory."""
        kind, *rest = location
        match kind:
            case "bytes":
                return arena.at(*rest).tobytes()
            case "array":
                dtype, shape, offset = rest
                return _array(arena, dtype, shape, offset)
            case "strings":
                shape, *_ = rest
                data, offsets = strings_at(arena, location)
                memory, ends = data.tobytes(), offsets.tolist()
                strings = np.empty(len(ends) - 1, object)
                strings[:] = [memory[a:b] for a, b in itertools.pairwise(ends)]
                return strings.reshape(shape)
            case "ragged":
                dtype, shapes, offset = rest
                arrays = []
                for shape in shapes:
                    arrays.append(_array(arena, dtype, shape, offset))
                    offset += arrays[-1].nbytes
                return arrays
        return [Layout.read_from(arena, item) for item in rest[0]]

    def _list(self, values: Sequence[Any]) -> tuple[Any, ...]:
        if values and all(isinstance(value, bytes) for value in values):
            return ("strings", (len(values),), *self._strings(values))
        if values and all(isinstance(v, np.ndarray) and v.dtype != object for v in values):
            dtype, shape = values[0].dtype, values[0].shape
            if all(value.dtype == dtype for value in values):
                location = self._put([_raw(value) for value in values])
                if all(value.shape == shape for value in values):
                    return ("array", dtype, (len(values), *shape), location)
                return ("ragged", dtype, [value.shape for value in values], location)
        return ("list", [self.add(value) for value in values])

    def _strings(self, strings: Sequence[bytes]) -> tuple[int, int, int]:
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum([len(string) for string in strings], out=offsets[1:])
        data = np.frombuffer(b"".join(strings), np.uint8)
        return self._put([_raw(offsets)]), self._put([data]), data.nbytes

    def _put(self, pieces: Sequence[npt.NDArray[np.uint8]]) -> int:
        """Places pieces contiguously, and returns the offset of the first one."""
        self.size += -self.size % _ALIGNMENT
        begin = self.size
        for piece in pieces:
            if piece.nbytes:
                self._pieces.append((self.size, piece))
                self.size += piece.nbytes
        return begin


def strings_at(
    arena: Arena, location: tuple[Any, ...]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Returns the bytes of strings, and their offsets."""
    _, shape, offsets, data, num_bytes = location
    count = int(np.prod(shape, dtype=np.int64)) + 1
    return arena.at(data, num_bytes), arena.at(offsets, 8 * count).view(np.int64)


def _raw(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _array(arena: Arena, dtype: Any, shape: tuple[int, ...], offset: int) -> npt.NDArray[Any]:
    count = int(np.prod(shape, dtype=np.int64))
    array: npt.NDArray[Any] = arena.at(offset, count * dtype.itemsize).view(dtype)
    return array.reshape(shape)
