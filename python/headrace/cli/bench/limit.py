"""The machine's limit: the speed at which threads can read file bytes."""

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

# The size of a piece that a thread reads, and the size of one read, both in bytes.
_PIECE_BYTES: Final = 8 << 20
_READ_BYTES: Final = 1 << 20


class Limit(NamedTuple):
    """The speed at which the machine reads files.

    Attributes:
        bytes_per_second: The speed of all threads together.
        num_bytes: The number of bytes read.
        num_threads: The number of threads.
    """

    bytes_per_second: float
    num_bytes: int
    num_threads: int


def measured_limit(files: Sequence[str], num_threads: int, most_seconds: float) -> Limit | None:
    """Reads files twice and measures the second pass. Returns None if the files are empty.

    The first pass brings the files into the page cache, as far as they fit and time allows. The
    result is therefore the speed of memory for files that fit into the cache, and the speed of
    storage for all others. The second pass reads the same parts.

    Args:
        files: The files, in reading order.
        num_threads: The number of threads.
        most_seconds: The time limit of one pass in seconds.
    """
    warm, num_pieces = _read(_pieces(files), num_threads, most_seconds)
    if not warm.num_bytes:
        return None
    # Every started piece is read completely, so both passes read the same bytes.
    again = itertools.islice(_pieces(files), num_pieces)
    return _read(again, num_threads, math.inf)[0]


def _pieces(files: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yields the file and offset of each piece."""
    for path in files:
        with os_errors(path):
            size = os.path.getsize(path)
        yield from ((path, offset) for offset in range(0, size, _PIECE_BYTES))


def _read(
    pieces: Iterator[tuple[str, int]], num_threads: int, most_seconds: float
) -> tuple[Limit, int]:
    """Reads pieces. Returns the measured limit and the number of pieces."""
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
