"""Finds out whether a video file is cut short."""

import os
from typing import IO, Final

__all__ = ["is_cut_short"]

_EBML: Final = b"\x1a\x45\xdf\xa3"
# The maximum size of an element's ID and of the number that follows it.
_ID_BYTES: Final = 4
_SIZE_BYTES: Final = 8


def is_cut_short(file: IO[bytes]) -> bool:
    """Returns whether a file ends inside a box of MP4 or inside the segment of Matroska.

    Source: ISO/IEC 14496-12, section 4.2; RFC 8794, sections 4 and 5; RFC 9559, section 5.1.
    """
    num_bytes = file.seek(0, os.SEEK_END)
    end_of = _element_end if _read(file, 0, len(_EBML)) == _EBML else _box_end
    offset: int | None = 0
    while offset is not None and offset < num_bytes:
        offset = end_of(file, offset)
    return offset is not None and offset > num_bytes


def _read(file: IO[bytes], offset: int, num_bytes: int) -> bytes:
    file.seek(offset)
    return file.read(num_bytes)


def _box_end(file: IO[bytes], offset: int) -> int | None:
    """Returns where a box of MP4 ends, or None if it ends with the file."""
    header = _read(file, offset, 16)
    if len(header) < 8:
        return offset + 8
    size = int.from_bytes(header[:4], "big")
    if size == 1:
        size = int.from_bytes(header[8:], "big")
    return offset + size if size else None


def _element_end(file: IO[bytes], offset: int) -> int | None:
    """Returns where an element of Matroska ends, or None if its size is unknown."""
    header = _read(file, offset, _ID_BYTES + _SIZE_BYTES)
    start = _num_bytes(header[0])
    if start >= len(header):
        return offset + start + 1
    end = start + _num_bytes(header[start])
    if end > len(header):
        return offset + end
    largest = (1 << 7 * (end - start)) - 1
    size = int.from_bytes(header[start:end], "big") & largest
    return None if size == largest else offset + end + size


def _num_bytes(first: int) -> int:
    """Returns the size of a number from its first byte."""
    return 9 - first.bit_length()
