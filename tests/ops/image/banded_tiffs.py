"""TIFF files with any number of channels, as programs for maps and microscopes write them."""

import struct
import zlib
from typing import Any

import numpy as np

Pixels = np.ndarray[Any, np.dtype[Any]]

DEFLATE, PACK_BITS = 8, 32_773
_FORMATS = {"u": 1, "i": 2, "f": 3}
_MIN_IS_BLACK = 1


def banded(
    image: Pixels,
    *,
    order: str = "<",
    compression: int = 1,
    predictor: int = 1,
    is_planar: bool = False,
    tile: tuple[int, int] | None = None,
    rows_per_strip: int | None = None,
    extra: list[int] | None = None,
    photometric: int = _MIN_IS_BLACK,
    tags: dict[int, tuple[str, list[int]]] | None = None,
) -> bytes:
    """Makes a TIFF of pixels, (height, width, channels), in strips or tiles.

    Args:
        image: The pixels.
        order: The order of bytes.
        compression: 1 for none, `DEFLATE` or `PACK_BITS`.
        predictor: 2 for differences from the previous pixel, 3 for the same of grouped bytes.
        is_planar: Whether each channel has its own strips or tiles.
        tile: The height and width of a tile; None for strips.
        rows_per_strip: The height of a strip; None for the whole image.
        extra: The meanings of additional channels; None for unspecified ones.
        photometric: The meaning of the first channels.
        tags: Other tags.
    """
    height, width, channels = image.shape
    num_colours = 3 if photometric == 2 else 1
    size = tile or (rows_per_strip or height, width)
    parts = []
    for plane in range(channels) if is_planar else [None]:
        pixels = image if plane is None else image[..., plane : plane + 1]
        for top in range(0, height, size[0]):
            for left in range(0, width, size[1]):
                part = pixels[top : top + size[0], left : left + size[1]]
                if tile:
                    missing = [(0, size[0] - part.shape[0]), (0, size[1] - part.shape[1]), (0, 0)]
                    part = np.pad(part, missing)
                parts.append(_packed(part, order, compression, predictor))
    bits = 8 * image.dtype.itemsize
    entries: dict[int, tuple[str, list[int]]] = {
        256: ("I", [width]),
        257: ("I", [height]),
        258: ("H", [bits] * channels),
        259: ("H", [compression]),
        262: ("H", [photometric]),
        277: ("H", [channels]),
        284: ("H", [2 if is_planar else 1]),
        317: ("H", [predictor]),
        339: ("H", [_FORMATS[image.dtype.kind]] * channels),
    }
    extra = [0] * (channels - num_colours) if extra is None else extra
    entries |= {338: ("H", extra)} if extra else {}
    offsets, lengths = (324, 325) if tile else (273, 279)
    entries |= {322: ("I", [size[1]]), 323: ("I", [size[0]])} if tile else {278: ("I", [size[0]])}
    entries |= {offsets: ("I", [0] * len(parts)), lengths: ("I", [*map(len, parts)])} | (tags or {})
    return _assembled(entries, offsets, parts, order)


def _packed(part: Pixels, order: str, compression: int, predictor: int) -> bytes:
    numbers = part.view(f"u{part.dtype.itemsize}")
    if predictor == 2:
        numbers = np.diff(numbers, axis=1, prepend=numbers.dtype.type(0))
    data = numbers.astype(numbers.dtype.newbyteorder(order)).tobytes()
    if predictor == 3:
        height, width, channels = part.shape
        grouped = np.frombuffer(part.astype(">f4").tobytes(), np.uint8)
        grouped = grouped.reshape(height, width * channels, 4).transpose(0, 2, 1)
        grouped = grouped.reshape(height, -1, channels)
        data = np.diff(grouped, axis=1, prepend=np.uint8(0)).tobytes()
    if compression == DEFLATE:
        return zlib.compress(data)
    if compression == PACK_BITS:
        runs = (data[at : at + 128] for at in range(0, len(data), 128))
        return b"".join(bytes([len(run) - 1]) + run for run in runs)
    return data


def _assembled(
    entries: dict[int, tuple[str, list[int]]], offsets: int, parts: list[bytes], order: str
) -> bytes:
    kinds = {"H": 3, "I": 4}
    start = 8 + 2 + 12 * len(entries) + 4
    sizes = [len(values) * struct.calcsize(kind) for kind, values in entries.values()]
    place = start + sum(size for size in sizes if size > 4)
    places = np.cumsum([place, *map(len, parts)]).tolist()[:-1]
    entries[offsets] = ("I", places)
    lines, values = b"", b""
    for tag, (kind, numbers) in sorted(entries.items()):
        data = struct.pack(order + kind * len(numbers), *numbers)
        lines += struct.pack(order + "HHI", tag, kinds[kind], len(numbers))
        if len(data) > 4:
            lines += struct.pack(order + "I", start + len(values))
            values += data
        else:
            lines += data.ljust(4, b"\0")
    mark = b"II*\0" if order == "<" else b"MM\0*"
    head = mark + struct.pack(order + "IH", 8, len(entries))
    return head + lines + bytes(4) + values + b"".join(parts)
