"""Videos whose pictures show their own number."""

import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

av = pytest.importorskip("av")  # Video is an extra.

HEIGHT, WIDTH = 48, 64
# Each block of a picture is a bit of its number: black or white.
BLOCK = 16
X264 = {"preset": "medium", "crf": "20"}


def picture(number, height=HEIGHT, width=WIDTH):
    """Returns the picture with a number: uint8, (height, width, 3)."""
    rows, columns = 3, 4
    bits = [number >> index & 1 for index in range(rows * columns)]
    small = np.array(bits, np.uint8).reshape(rows, columns) * 220 + 16
    large = np.kron(small, np.ones((height // rows, width // columns), np.uint8))
    return np.repeat(large[..., None], 3, axis=2)


def number_of(frame):
    """Returns the number that a picture shows."""
    rows, columns = 3, 4
    height, width, _ = frame.shape
    gray = frame.mean(axis=2)
    blocks = gray.reshape(rows, height // rows, columns, width // columns)
    inner = blocks[:, height // rows // 4 : -(height // rows // 4) or None]
    bits = inner.mean(axis=(1, 3)) > 128
    return sum(int(bit) << index for index, bit in enumerate(bits.reshape(-1)))


def numbers_of_many(frames):
    """Returns the numbers of pictures of equal size, faster than `numbers_of`."""
    rows, columns = 3, 4
    count, height, width, _ = frames.shape
    blocks = frames[..., 1].reshape(count, rows, height // rows, columns, width // columns)
    edge = height // rows // 4
    bits = blocks[:, :, edge:-edge].mean(axis=(2, 4)).reshape(count, -1) > 128
    return (bits @ (1 << np.arange(rows * columns))).tolist()


def numbers_of(frames):
    """Returns the numbers of pictures."""
    return [number_of(frame) for frame in frames]


def write_video(
    path,
    count,
    codec="libx264",
    options=None,
    times=None,
    movflags=None,
    rate=30,
    size=None,
    first=0,
):
    """Writes a video of pictures numbered from `first`. `times` are in milliseconds."""
    height, width = size or (HEIGHT, WIDTH)
    flags = {} if movflags is None else {"movflags": movflags}
    with av.open(str(path), "w", options=flags) as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.options = {**(X264 if codec == "libx264" else {}), **(options or {})}
        if times is not None:
            stream.codec_context.time_base = stream.time_base = Fraction(1, 1000)
        for number in range(count):
            pixels = picture(first + number, height, width)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = number if times is None else times[number]
            frame.time_base = Fraction(1, rate) if times is None else Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return str(path)


def decoded_in_order(path):
    """Returns the times and pictures that FFmpeg decodes from start to end."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return [float(frame.time) for frame in frames], [
        frame.to_ndarray(format="rgb24") for frame in frames
    ]


def boxes(data, start=0, end=None):
    """Yields the type, the start and the end of each box of a file."""
    end = len(data) if end is None else end
    while start + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        yield kind, start, start + size
        start += size


def find_box(data, *kinds):
    """Returns the start and the end of a nested box's content."""
    start, end = 0, len(data)
    for kind in kinds:
        start, end = next((s + 8, e) for found, s, e in boxes(data, start, end) if found == kind)
    return start, end


def change(path, offset, content):
    """Overwrites bytes of a file."""
    data = bytearray(Path(path).read_bytes())
    data[offset : offset + len(content)] = content
    Path(path).write_bytes(data)
