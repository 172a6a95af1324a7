"""The limit of the machine: the speed of threads that only read the bytes of files."""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from headrace.io.os_errors import os_errors

__all__ = ["Limit", "measured_limit"]

# Bytes that a thread reads before it takes the next piece, and bytes read at a time.
_PIECE_BYTES: Final = 8 << 20
_READ_BYTES: Final = 1 << 20


class Limit(NamedTuple):
    """The rate at which the machine can read the bytes of files.

    Attributes:
        bytes_per_second: The rate of all threads together.
        num_bytes: The number of bytes read.
        num_threads: The number of reading threads.
    """

    bytes_per_second: float
    num_bytes: int
    num_threads: int


def measured_limit(files: Sequence[str], num_threads: int, most_seconds: float) -> Limit | None:
    """Reads files twice, and measures the second time; returns None if they have no bytes.

    The first pass brings the files into the page cache, as far as they fit into it and into the
    time. So the limit is that of memory for files that fit, and otherwise that of storage. The
    second pass reads the same parts.

    Args:
        files: The files, in the order in which they are read.
        num_threads: The number of reading threads.
        most_seconds: The longest time of one pass.
    """
    warm, num_pieces = _read(_pieces(files), num_threads, most_seconds)
    if not warm.num_bytes:
        return None
    # Each piece that was begun is read to its end, so these are the same bytes.
    again = itertools.islice(_pieces(files), num_pieces)
    return _read(again, num_threads, math.inf)[0]


def _pieces(files: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yields the files and offsets of pieces."""
    for path in files:
        with os_errors(path):
            size = os.path.getsize(path)
        yield from ((path, offset) for offset in range(0, size, _PIECE_BYTES))


def _read(
    pieces: Iterator[tuple[str, int]], num_threads: int, most_seconds: float
) -> tuple[Limit, int]:
    """Reads pieces; returns the measured limit, and the number of pieces."""
    lock = threading.Lock()
    errors: list[BaseException] = []
    counts = [[0, 0] for _ in range(num_threads)]
    begin = time.monotonic()

    def work(count: list[int]) -> None:
        buffer = bytearray(_READ_BYTES)
        try:
            while time.monotonic() - begin < most_seconds and not errors:
                with lock:
                    piece = next(pieces, None)
                if piece is None:
                    return
                count[0] += _read_piece(*piece, buffer)
                count[1] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(count,), daemon=True) for count in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    seconds = max(time.monotonic() - begin, 1e-9)
    num_bytes, num_pieces = map(sum, zip(*counts, strict=True))
    return Limit(num_bytes / seconds, num_bytes, num_threads), num_pieces


def _read_piece(path: str, offset: int, buffer: bytearray) -> int:
    number = 0
    with os_errors(path), open(path, "rb", buffering=0) as file:
        file.seek(offset)
        while number < _PIECE_BYTES:
            count = file.readinto(buffer)
            if not count:
                break
            number += count
    return number
