"""Changes pages of Ogg files, and corrects their checksums."""

import struct
from collections.abc import Callable
from itertools import pairwise

__all__ = ["at_position", "page_starts", "with_pages"]


def page_starts(contents: bytes) -> list[int]:
    """Returns the byte at which each page starts, and the length of the file."""
    starts = [0]
    while starts[-1] < len(contents):
        start = starts[-1]
        lacing = contents[start + 27 : start + 27 + contents[start + 26]]
        starts.append(start + 27 + len(lacing) + sum(lacing))
    return starts


def with_pages(contents: bytes, change: Callable[[int, bytearray], None]) -> bytes:
    """Returns a file after `change` was called with the number and the bytes of each page."""
    starts = page_starts(contents)
    pages = []
    for number, (start, end) in enumerate(pairwise(starts)):
        page = bytearray(contents[start:end])
        change(number, page)
        struct.pack_into("<I", page, 22, 0)
        struct.pack_into("<I", page, 22, _checksum(page))
        pages.append(bytes(page))
    return b"".join(pages)


def at_position(contents: bytes, offset: int) -> bytes:
    """Returns an Ogg file whose first sample has another position, as if cut out of a stream."""

    def move(number: int, page: bytearray) -> None:
        (granule,) = struct.unpack_from("<q", page, 6)
        if number >= 2 and granule != -1:  # The first two pages have the headers.
            struct.pack_into("<q", page, 6, granule + offset)

    return with_pages(contents, move)


def _checksum(page: bytes) -> int:
    """Returns the checksum of RFC 3533: a CRC of 32 bits, the highest one first."""
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc
