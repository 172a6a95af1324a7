"""Creates directories of files for Keras's functions."""

import wave

import numpy as np

import headrace as hr

encode_png = hr.native(lambda example: {"data": hr.ops.encode_png(example["image"])})
encode_jpeg = hr.native(lambda example: {"data": hr.ops.encode_jpeg(example["image"])})


def picture(seed, height, width, channels=3):
    """Returns smooth colours with some noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    planes = [
        127 + 80 * np.sin(x / (3 + c)) + 40 * np.cos(y / (5 + c)) + rng.integers(0, 8, x.shape)
        for c in range(channels)
    ]
    return np.stack(planes, -1).clip(0, 255).astype(np.uint8)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_image(path, image):
    """Writes a PNG or a JPEG."""
    encode = encode_png if path.suffix.lower() == ".png" else encode_jpeg
    write(path, encode({"image": image})["data"])


def write_bmp(path, image):
    """Writes a BMP with 24 bits per pixel. The width must be divisible by 4."""
    height, width, _ = image.shape
    header = np.array([40, width, height, 1 | 24 << 16, 0, 0, 0, 0, 0, 0], "<u4").tobytes()
    pixels = image[::-1, :, ::-1].tobytes()
    sizes = np.array([54 + len(pixels), 0, 54], "<u4").tobytes()
    write(path, b"BM" + sizes + header + pixels)


def write_gif(path, rows):
    """Writes a GIF of black and white pixels, with LZW codes that never grow."""
    height, width = len(rows), len(rows[0])
    size = np.array([width, height], "<u2").tobytes()
    # Each code has three bits, starting with the lowest one. 4 clears the table, and 5 ends.
    codes = [code for row in rows for pixel in row for code in (4, pixel)] + [5]
    number = sum(code << (3 * place) for place, code in enumerate(codes))
    data = number.to_bytes((3 * len(codes) + 7) // 8, "little")
    assert len(data) < 256
    palette = bytes([0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0, 0])
    image = b"," + bytes(4) + size + b"\0\2" + bytes([len(data)]) + data + b"\0;"
    write(path, b"GIF89a" + size + b"\x91\0\0" + palette + image)


def write_wav(path, samples, rate=16_000):
    """Writes int16 samples, (samples, channels)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
