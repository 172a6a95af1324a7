"""Writes image files with random options, and reads their pixels with Pillow."""

import io
import itertools
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageSequence

import headrace as hr

FORMATS = ("PNG", "JPEG", "GIF", "WebP", "BMP", "TIFF")
MOST_SIDE = 30


class Written(NamedTuple):
    """A file, the options it was written with, and how much its pixels may differ from Pillow's."""

    data: bytes
    options: dict[str, Any]
    tolerance: int = 0


def failures(format: str, numbers: range) -> list[str]:
    """Describes files whose pixels differ from Pillow's. Each number is a different file."""
    results = []
    for number in numbers:
        file = written(format, number)
        try:
            _compare(format, file)
        except (AssertionError, hr.errors.OpError) as error:
            message = str(error).splitlines()[0][:300]
            results.append(f"{format} {number}, {file.options}: {message}")
    return results


def written(format: str, number: int) -> Written:
    """Writes the file of a number."""
    return _WRITERS[format](np.random.default_rng([number, FORMATS.index(format)]))


def _decoder(**options: Any) -> Callable[[bytes], np.ndarray]:
    function = hr.native(lambda example: {"image": hr.ops.decode_image(example["data"], **options)})
    return lambda data: np.asarray(function({"data": data})["image"])


_STORED = _decoder()
_WIDE = _decoder(dtype="uint16")
_DECODERS = {"RGB": _decoder(channels=3), "RGBA": _decoder(channels=4)}


def _compare(format: str, file: Written) -> None:
    image = Image.open(io.BytesIO(file.data))
    stored = _STORED(file.data)
    if image.mode.startswith("I;16"):
        assert np.array_equal(_WIDE(file.data)[..., 0], np.asarray(image)), "wide pixels differ"
        return
    modes = ("RGB",) if format in ("JPEG", "GIF") else ("RGB", "RGBA")
    for mode in modes:
        frames = [np.asarray(_converted(frame, mode)) for frame in ImageSequence.Iterator(image)]
        expected = np.stack(frames) if stored.ndim == 4 else frames[0]
        decoded = _DECODERS[mode](file.data)
        assert decoded.shape == expected.shape, f"{mode}: {decoded.shape}, not {expected.shape}"
        difference = np.abs(decoded.astype(int) - expected).max()
        assert difference <= file.tolerance, f"{mode}: pixels differ by {difference}"
        if stored.shape[-1] == len(mode):
            assert np.array_equal(stored, decoded), "pixels as stored differ"


def _converted(image: Image.Image, mode: str) -> Image.Image:
    """Converts an image.

    Pillow warns about palettes with alpha unless they are converted to RGBA first.
    """
    has_alpha = isinstance(image.info.get("transparency"), bytes)
    return image.convert("RGBA").convert(mode) if has_alpha else image.convert(mode)


def _pixels(random: np.random.Generator, size: tuple[int, int], channels: int) -> np.ndarray:
    """Draws noise, waves or a few colours."""
    kind = random.integers(3)
    if kind == 0:
        return random.integers(0, 256, (*size, channels), np.uint8)
    if kind == 1:
        y, x = np.mgrid[: size[0], : size[1]]
        waves = [np.sin(x / random.uniform(1, 9)) + np.cos(y / 5) for _ in range(channels)]
        return np.clip(128 + 60 * np.stack(waves, -1), 0, 255).astype(np.uint8)
    colours = random.integers(0, 256, (random.integers(1, 9), channels), np.uint8)
    if channels == 4:
        colours[0, 3] = 0
    return colours[random.integers(0, len(colours), size)]


def _size(random: np.random.Generator) -> tuple[int, int]:
    height, width = random.integers(1, MOST_SIDE + 1, 2)
    return int(height), int(width)


def _image(random: np.random.Generator, mode: str, size: tuple[int, int]) -> Image.Image:
    """Draws an image of a mode of Pillow."""
    if mode == "I;16":
        return Image.fromarray(random.integers(0, 2**16, size, np.uint16))
    if mode in ("P", "1"):
        image = Image.fromarray(_pixels(random, size, 3))
        return image.quantize(int(random.integers(2, 257))) if mode == "P" else image.convert(mode)
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = _pixels(random, size, channels)
    return Image.frombytes(mode, (size[1], size[0]), pixels.tobytes())


def _saved(image: Image.Image, format: str, options: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def _some(random: np.random.Generator, **choices: Any) -> dict[str, Any]:
    """Draws a value for some of the options."""
    chosen = [name for name in choices if random.random() < 0.5]
    return {name: choices[name][random.integers(len(choices[name]))] for name in chosen}


def _png(random: np.random.Generator) -> Written:
    mode = str(random.choice(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]))
    image = _image(random, mode, _size(random))
    options = _some(random, compress_level=range(10), optimize=[True], bits=[1, 2, 4, 8])
    if mode != "P":
        options.pop("bits", None)
    elif "bits" in options:
        image = image.quantize(2 ** options["bits"])
    transparencies: dict[str, Any] = {
        "L": int(np.asarray(image).flat[0]),
        "P": random.integers(0, 256, random.integers(1, 9), np.uint8).tobytes(),
        "RGB": tuple(np.asarray(image).reshape(-1)[:3].tolist()),
    }
    if mode in transparencies and random.random() < 0.5:
        options["transparency"] = transparencies[mode]
    return Written(_saved(image, "PNG", options), {"mode": mode, **options})


def _jpeg(random: np.random.Generator) -> Written:
    mode = str(random.choice(["L", "RGB", "RGB", "CMYK"]))
    options = _some(
        random,
        quality=range(1, 101),
        subsampling=["4:4:4", "4:2:2", "4:2:0"],
        progressive=[True],
        optimize=[True],
        restart_marker_blocks=range(1, 5),
        restart_marker_rows=range(1, 3),
    )
    if mode == "RGB":
        options |= _some(random, keep_rgb=[True])
    if options.get("keep_rgb"):
        options.pop("subsampling", None)
    return Written(
        _saved(_image(random, mode, _size(random)), "JPEG", options), {"mode": mode, **options}
    )


def _frames(random: np.random.Generator, mode: str) -> list[Image.Image]:
    """Draws frames that each change a part, like the frames of an animation."""
    size = _size(random)
    frames = [_pixels(random, size, len(mode))]
    for _ in range(random.integers(0, 5)):
        frame = frames[-1].copy()
        top, left = random.integers(0, size)
        height, width = random.integers(1, MOST_SIDE, 2)
        part = frame[top : top + height, left : left + width]
        part[:] = _pixels(random, part.shape[:2], len(mode))
        frames.append(frame)
    return [Image.fromarray(frame) for frame in frames]


def _gif(random: np.random.Generator) -> Written:
    first, *others = _frames(random, str(random.choice(["RGB", "RGBA"])))
    num_frames = 1 + len(others)
    options = _some(
        random,
        disposal=[0, 1, 2, 3],
        interlace=[0, 1],
        optimize=[True, False],
        background=range(4),
        transparency=range(4),
        loop=[0, 3],
    )
    if len(others) > 2 and random.random() < 0.5:
        # If a frame leaves it open, Pillow repeats the disposal of the frame before.
        options["disposal"] = random.integers(1, 4, num_frames).tolist()
    if random.random() < 0.5:
        first, *others = [frame.convert("RGB").quantize(16) for frame in (first, *others)]
    data = _saved(first, "GIF", {"save_all": True, "append_images": others, **options})
    return Written(data, {"mode": first.mode, "frames": num_frames, **options})


def _webp(random: np.random.Generator) -> Written:
    mode = str(random.choice(["RGB", "RGBA"]))
    first, *others = _frames(random, mode)
    options = _some(
        random,
        lossless=[True, False],
        quality=range(101),
        alpha_quality=range(101),
        method=range(5),
        exact=[True],
        minimize_size=[True],
        allow_mixed=[True],
        kmin=[0, 1],
        kmax=[2, 3],
        background=[(0, 0, 0, 0), (10, 20, 30, 40), (255, 255, 255, 255)],
    )
    animation = {"save_all": True, "append_images": others} if others else {}
    data = _saved(first, "WEBP", {**animation, **options})
    # Lossy colours are rounded at another step than in libwebp.
    return Written(data, {"mode": mode, "frames": 1 + len(others), **options}, 1)


# Those that Pillow reads: bits, and the masks of red, green, blue and alpha.
MASKS = [
    (32, (0xFF0000, 0xFF00, 0xFF, 0)),
    (32, (0xFF000000, 0xFF0000, 0xFF00, 0)),
    (32, (0xFF000000, 0xFF0000, 0xFF00, 0xFF)),
    (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
    (32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000)),
    (24, (0xFF0000, 0xFF00, 0xFF, 0)),
    (16, (0xF800, 0x7E0, 0x1F, 0)),
    (16, (0x7C00, 0x3E0, 0x1F, 0)),
]


def _bmp(random: np.random.Generator) -> Written:
    mode = str(random.choice(["1", "L", "P", "RGB", "masks", "masks"]))
    if mode != "masks":
        return Written(_saved(_image(random, mode, _size(random)), "BMP", {}), {"mode": mode})
    bits, masks = MASKS[random.integers(len(MASKS))]
    (height, width), header_size = _size(random), int(random.choice([40, 52, 56, 108, 124]))
    if header_size < 56 and masks[3]:
        header_size = 56
    is_top_down, has_fields = random.random() < 0.5, bits != 16 or random.random() < 0.8
    stride = (width * bits + 31) // 32 * 4
    behind = struct.pack("<4I", *masks)
    start = 14 + max(header_size, 52 if header_size == 40 else 0)
    lines = -height if is_top_down else height
    head = struct.pack("<2sIIIIiiHHI", b"BM", 0, 0, start, header_size, width, lines, 1, bits, 3)
    head += bytes(20) + behind[: max(12, min(header_size - 40, 16))]
    pixels = random.integers(0, 256, (height, stride), np.uint8).tobytes()
    if not has_fields:
        head = head[:30] + struct.pack("<I", 0) + head[34:]
    options = {"bits": bits, "masks": list(map(hex, masks)), "header": header_size}
    return Written(head.ljust(start, b"\0") + pixels, {"mode": mode, **options})


COMPRESSIONS = ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "zstd", "jpeg"]


def _tiff(random: np.random.Generator) -> Written:
    mode = str(random.choice(["1", "L", "LA", "P", "RGB", "RGBA", "RGBA", "CMYK", "I;16"]))
    compression = str(random.choice(COMPRESSIONS[: 6 if mode in ("L", "RGB", "CMYK") else 5]))
    options: dict[str, Any] = {"compression": compression}
    options |= _some(random, big_tiff=[True])
    if compression == "jpeg":
        options |= _some(random, quality=range(1, 101))
    else:
        options |= _some(random, strip_size=[16, 64, 1000])
    if compression in COMPRESSIONS[1:3] and mode in ("L", "RGB", "RGBA", "I;16"):
        options |= _some(random, tiffinfo=[{317: 2}])
    is_multiplied = mode == "RGBA" and random.random() < 0.5
    image = _image(random, mode, _size(random))
    if mode in ("L", "RGB", "RGBA", "P") and random.random() < 0.5:
        side = 16 * int(random.integers(1, 3))
        is_planar = mode in ("RGB", "RGBA") and random.random() < 0.5
        data = tiled(image, (side, side), is_planar, random.random() < 0.5, options)
        return Written(data, {"mode": mode, "tile": side, "planar": is_planar, **options})
    data = _saved(image, "TIFF", options)
    if is_multiplied:
        data = with_associated_alpha(data)
    return Written(data, {"mode": mode, "multiplied": is_multiplied, **options})


def with_associated_alpha(file: bytes) -> bytes:
    """Marks the alpha of a TIFF as associated, which Pillow never does."""
    entry = struct.pack("<HH", 338, 3)
    at = file.rindex(entry)
    value = at + 4 + (8 if file[2] == 43 else 4)
    return file[:value] + b"\1" + file[value + 1 :]


def tiled(
    image: Image.Image,
    size: tuple[int, int],
    is_planar: bool,
    is_big: bool,
    options: dict[str, Any],
) -> bytes:
    """Creates a TIFF of tiles, each compressed by Pillow as a separate file."""
    tiles = []
    for plane in image.split() if is_planar else [image]:
        for top, left in itertools.product(
            range(0, image.height, size[0]), range(0, image.width, size[1])
        ):
            tile = plane.crop((left, top, left + size[1], top + size[0]))
            tiles.append(
                _saved(tile, "TIFF", {**options, "big_tiff": False, "strip_size": 1 << 20})
            )
    entries = dict(_entries(tiles[0]))
    for tag in (273, 278, 279):
        del entries[tag]
    bits = (3, struct.pack("<H", 8) * len(image.getbands()))
    entries |= {256: _long(image.width), 257: _long(image.height), 258: bits}
    entries |= {277: (3, struct.pack("<H", len(image.getbands())))}
    if image.mode in ("RGB", "RGBA") and 259 in entries and entries[262][1] != b"\6\0":
        entries[262] = (3, b"\2\0")
    if image.mode == "RGBA":
        entries[338] = (3, b"\2\0")
    entries |= {284: (3, b"\2\0")} if is_planar else {}
    entries |= {322: _long(size[1]), 323: _long(size[0])}
    data = [_strip(tile) for tile in tiles]
    entries[325] = (4, b"".join(struct.pack("<I", len(part)) for part in data))
    return _assembled(entries, data, is_big)


def _long(number: int) -> tuple[int, bytes]:
    return 4, struct.pack("<I", number)


_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1}


def _entries(file: bytes) -> Iterator[tuple[int, tuple[int, bytes]]]:
    """Yields the tags of a TIFF with their types and values."""
    (start,) = struct.unpack_from("<I", file, 4)
    (count,) = struct.unpack_from("<H", file, start)
    for number in range(count):
        at = start + 2 + 12 * number
        tag, kind, length = struct.unpack_from("<HHI", file, at)
        num_bytes = length * _TYPE_BYTES[kind]
        place = at + 8 if num_bytes <= 4 else struct.unpack_from("<I", file, at + 8)[0]
        yield tag, (kind, file[place : place + num_bytes])


def _strip(file: bytes) -> bytes:
    """Returns the only strip of a TIFF."""
    entries = dict(_entries(file))
    kinds = {3: "<H", 4: "<I"}
    places = [struct.unpack(kinds[entries[tag][0]], entries[tag][1])[0] for tag in (273, 279)]
    return file[places[0] : places[0] + places[1]]


def _assembled(entries: dict[int, tuple[int, bytes]], tiles: list[bytes], is_big: bool) -> bytes:
    """Makes a TIFF, or a BigTIFF, of tags and tiles."""
    head, count, entry, offset, room = (
        (b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0", "<Q", "<HHQ", "<Q", 8)
        if is_big
        else (b"II*\0\x08\0\0\0", "<H", "<HHI", "<I", 4)
    )
    entries[324] = (4, bytes(4 * len(tiles)))
    start = len(head) + struct.calcsize(count)
    start += len(entries) * (struct.calcsize(entry) + room) + room
    places, place = {}, start
    for tag, (_, value) in sorted(entries.items()):
        places[tag] = place
        place += len(value) + len(value) % 2 if len(value) > room else 0
    offsets = itertools.accumulate([place, *map(len, tiles)])
    entries[324] = (4, b"".join(struct.pack("<I", at) for at in list(offsets)[:-1]))
    lines, values = b"", b""
    for tag, (kind, value) in sorted(entries.items()):
        lines += struct.pack(entry, tag, kind, len(value) // _TYPE_BYTES[kind])
        if len(value) <= room:
            lines += value.ljust(room, b"\0")
        else:
            lines += struct.pack(offset, places[tag])
            values += value + bytes(len(value) % 2)
    return head + struct.pack(count, len(entries)) + lines + bytes(room) + values + b"".join(tiles)


_WRITERS = {
    "PNG": _png,
    "JPEG": _jpeg,
    "GIF": _gif,
    "WebP": _webp,
    "BMP": _bmp,
    "TIFF": _tiff,
}
