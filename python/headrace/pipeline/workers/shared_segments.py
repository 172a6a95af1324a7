"""Memory segments that a worker process fills and the program uses without copying them.

A segment goes back to the worker when nothing refers to it any more. If the program forks before
that, the child may still refer to it, so the worker forgets the segment instead of filling it
again. A mapping needs no descriptor once it exists, so the limit on open files does not limit the
number of segments.
"""

import ctypes
import itertools
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.pipeline.workers.remote import memory_file

__all__ = ["FilledSegments", "Segment", "SegmentPool"]

_ALIGNMENT: Final = 64
_LEAST_BYTES: Final = 1 << 16
# The number of references to an unused segment's bytes: one from an attribute or a tuple, and one
# from the argument of `getrefcount`.
_UNUSED: Final = 2

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED: Final = ctypes.c_void_p(-1).value


def _mapped(descriptor: int, size: int) -> Any:
    """Maps a file without keeping its descriptor; the mapping lasts as long as the result."""
    address = _libc.mmap(
        None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0
    )
    if address in (None, _FAILED):
        raise MemoryError(f"worker processes: {size} bytes cannot be mapped")
    memory = (ctypes.c_uint8 * size).from_address(address)
    weakref.finalize(memory, _libc.munmap, address, size).atexit = False
    return memory


class Segment:
    """A segment of a worker. Only the worker fills it.

    Attributes:
        number: The segment's number, used by both sides.
        size: The segment's size in bytes.
        descriptor: The descriptor of the segment's file, or -1 once the program has received it.
        data: The segment's bytes. Arrays over parts of the segment refer to this array.
    """

    def __init__(self, number: int, num_bytes: int) -> None:
        size = max(num_bytes + num_bytes // 4, _LEAST_BYTES)
        self.size: Final = size + -size % mmap.PAGESIZE
        self.number: Final = number
        self.descriptor = memory_file()
        try:
            if hasattr(os, "posix_fallocate"):
                # A page that cannot be allocated later would kill the process.
                os.posix_fallocate(self.descriptor, 0, self.size)
            else:
                os.ftruncate(self.descriptor, self.size)
            self.data: Final = np.frombuffer(_mapped(self.descriptor, self.size), np.uint8)
        except OSError as error:
            os.close(self.descriptor)
            raise MemoryError(
                f"worker processes: no memory to share {self.size} bytes ({error.strerror})"
            ) from error
        self._address: Final = _address(self.data)
        self._used = 0

    def take(self, num_bytes: int) -> npt.NDArray[np.uint8] | None:
        """Returns the next unused bytes, or None if there are too few."""
        begin = self._used + -self._used % _ALIGNMENT
        if begin + num_bytes > self.size:
            return None
        self._used = begin + num_bytes
        return self.data[begin : self._used]

    @property
    def has_parts(self) -> bool:
        """Whether bytes have been taken since the segment was cleared."""
        return self._used > 0

    def append(self, data: npt.NDArray[np.uint8]) -> int | None:
        """Copies bytes behind the used ones. Returns their offset, or None if they don't fit."""
        room = self.take(data.nbytes)
        if room is None:
            return None
        room[:] = data
        return self._used - data.nbytes

    def offset_of(self, data: npt.NDArray[np.uint8]) -> int | None:
        """Returns the offset of bytes in the segment, or None if they are elsewhere."""
        offset = _address(data) - self._address
        return offset if offset >= 0 and offset + data.nbytes <= self.size else None

    def clear(self) -> bool:
        """Makes all bytes available again. Returns whether nothing refers to them."""
        self._used = 0
        return sys.getrefcount(self.data) <= _UNUSED

    def close(self) -> None:
        """Closes its file after the program has received it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class SegmentPool:
    """A worker process's segments, which it fills one after the other.

    Attributes:
        dropped: The numbers of segments dropped since the last `fill`. The program must forget
            them.
    """

    def __init__(self) -> None:
        self._numbers: Final = itertools.count()
        self._free: Final[list[Segment]] = []
        self._filled: Final[dict[int, Segment]] = {}
        self._current: Segment | None = None
        self._last_bytes = 0
        self.dropped: list[int] = []

    def release(self, numbers: Sequence[int]) -> None:
        """Frees segments that the program no longer uses, or drops them.

        Args:
            numbers: Their numbers, as `FilledSegments.unused` returns them.
        """
        for number in numbers:
            if number < 0:
                self._drop(self._filled.pop(~number))
            else:
                self._free_or_drop(self._filled.pop(number))

    def take(self, num_bytes: int) -> npt.NDArray[np.uint8] | None:
        """Returns bytes for a part of the next result, or None if they don't fit."""
        if self._current is None:
            self._current = self._with_room(max(num_bytes, self._last_bytes))
        return self._current.take(num_bytes)

    def fill(self, pieces: Sequence[npt.NDArray[np.uint8]]) -> tuple[Segment, list[int]]:
        """Puts bytes into one segment, and returns the segment and the location of each piece.

        Pieces that `take` has returned stay where they are.
        """
        needed = sum(piece.nbytes + _ALIGNMENT for piece in pieces)
        for _ in range(2):
            if self._current is None:
                self._current = self._with_room(max(needed, self._last_bytes))
            offsets = self._placed(self._current, pieces)
            if offsets is not None:
                break
            # The parts already in the segment move to a larger one too.
            self._last_bytes = needed
            self.give_up()
        assert offsets is not None
        segment, self._current, self._last_bytes = self._current, None, needed
        assert segment is not None
        self._filled[segment.number] = segment
        return segment, offsets

    def give_up(self) -> None:
        """Discards the parts of a result that won't be sent."""
        current, self._current = self._current, None
        if current is not None:
            self._free_or_drop(current)

    def _placed(
        self, segment: Segment, pieces: Sequence[npt.NDArray[np.uint8]]
    ) -> list[int] | None:
        offsets = []
        may_contain = segment.has_parts
        for piece in pieces:
            offset = segment.offset_of(piece) if may_contain else None
            if offset is None:
                offset = segment.append(piece)
                if offset is None:
                    return None
            offsets.append(offset)
        return offsets

    def _with_room(self, num_bytes: int) -> Segment:
        while self._free:
            segment = self._free.pop()
            if segment.size >= num_bytes:
                return segment
            self._drop(segment)
        return Segment(next(self._numbers), num_bytes)

    def _free_or_drop(self, segment: Segment) -> None:
        # The user's code may have kept a part. That part must not change.
        if segment.clear():
            self._free.append(segment)
        else:
            self._drop(segment)

    def _drop(self, segment: Segment) -> None:
        if segment.descriptor < 0:
            self.dropped.append(segment.number)
        segment.close()


class FilledSegments:
    """One worker's segments, on the program's side.

    Args:
        num_kept: The number of segments that may stay in use. Further results are copied.
    """

    def __init__(self, num_kept: int) -> None:
        self._num_kept: Final = num_kept
        self._lock: Final = threading.Lock()
        self._memories: Final[dict[int, Any]] = {}
        self._used: list[tuple[int, npt.NDArray[np.uint8]]] = []
        self._unused: list[int] = []
        _all_filled.add(self)

    def add(self, number: int, descriptor: int, size: int) -> None:
        """Maps a new segment, and closes its descriptor."""
        try:
            self._memories[number] = _mapped(descriptor, size)
        finally:
            os.close(descriptor)

    def drop(self, numbers: Sequence[int]) -> None:
        """Forgets segments. Their memory is freed when no array refers to it."""
        for number in numbers:
            del self._memories[number]

    def pieces(
        self, number: int, locations: Sequence[tuple[int, int]]
    ) -> list[npt.NDArray[np.uint8]]:
        """Returns parts of a segment: arrays over it, or copies if many segments are in use.

        Args:
            number: The segment's number.
            locations: The offset and the size of each part.
        """
        data = np.frombuffer(self._memories[number], np.uint8)
        with self._lock:
            self._collect()
            is_copied = len(self._used) >= self._num_kept
            if not is_copied:
                self._used.append((number, data))
        pieces = [data[offset : offset + size] for offset, size in locations]
        if is_copied:
            pieces = [piece.copy() for piece in pieces]
            with self._lock:
                self._unused.append(number)
        return pieces

    def unused(self) -> list[int]:
        """Returns the segments that became unused since the last call.

        They can be filled again, unless the program forked while it used them: then their numbers
        are inverted (`~number`).
        """
        with self._lock:
            self._collect()
            numbers, self._unused = self._unused, []
        return numbers

    def mark_forked(self) -> None:
        """Keeps the segments in use from being filled again, because a child will share them."""
        with self._lock:
            self._used = [(min(number, ~number), data) for number, data in self._used]

    def _collect(self) -> None:
        used = []
        for entry in self._used:
            # The entry holds the reference that an attribute holds elsewhere.
            if sys.getrefcount(entry[1]) <= _UNUSED:
                self._unused.append(entry[0])
            else:
                used.append(entry)
        self._used = used


_all_filled: "weakref.WeakSet[FilledSegments]" = weakref.WeakSet()


def _mark_forked() -> None:
    for segments in list(_all_filled):
        segments.mark_forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_mark_forked)


def _address(data: npt.NDArray[np.uint8]) -> int:
    return int(data.__array_interface__["data"][0])
