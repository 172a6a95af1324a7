"""Images: their sizes, small previews on a terminal, and PNG files."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace import ops
from headrace.cli.file_kinds import image_kind
from headrace.core.errors import OpError
from headrace.pipeline.native_functions import native

__all__ = ["DECODED", "Picture", "as_png", "decoded", "drawn"]

# The formats that the engine decodes.
DECODED: Final = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WebP")
_MODES: Final = {1: "grey", 2: "grey with alpha", 3: "RGB", 4: "RGB with alpha"}
_UPPER_HALF: Final = "▀"


class Picture(NamedTuple):
    """A decoded image.

    Attributes:
        format: One of `DECODED`.
        pixels: uint8, (height, width, channels), 0 to 255. For an animation or a TIFF with several
            images, the first image.
    """

    format: str
    pixels: npt.NDArray[np.uint8]

    def __str__(self) -> str:
        height, width, channels = self.pixels.shape
        mode = _MODES.get(channels, f"{channels} channels")
        return f"{self.format}, {width} x {height}, {mode}"


@native
def _decode(example: dict[str, Any]) -> dict[str, Any]:
    return {"image": ops.decode_image(example["data"])}


@native
def _decode_first(example: dict[str, Any]) -> dict[str, Any]:
    return {"image": ops.decode_image(example["data"], expand_animations=False)}


@native
def _encode(example: dict[str, Any]) -> dict[str, Any]:
    return {"png": ops.encode_png(example["image"])}


def decoded(data: bytes) -> Picture | str | None:
    """Decodes an image.

    Returns:
        The image, the reason why it cannot be decoded, or None for another format.
    """
    kind = image_kind(data)
    if kind not in DECODED:
        return None
    try:
        pixels = (_decode_first if kind == "TIFF" else _decode)({"data": data})["image"]
    except OpError as error:
        return error.message
    return Picture(kind, pixels[0] if pixels.ndim == 4 else pixels)


def as_png(picture: Picture) -> bytes:
    """Encodes an image as a PNG file, with the first three channels if there are more than four."""
    pixels = picture.pixels
    image = pixels if pixels.shape[-1] in _MODES else np.ascontiguousarray(pixels[..., :3])
    return bytes(_encode({"image": image})["png"])


def drawn(picture: Picture, most_columns: int, most_lines: int) -> list[str]:
    """Returns the lines of a preview for a terminal with 24-bit colours.

    Each character is a half block: its foreground is the upper pixel, its background the lower one.
    """
    height, width = picture.pixels.shape[:2]
    scale = min(most_columns / width, 2 * most_lines / height, 1.0)
    columns, lines = max(round(width * scale), 1), max(round(height * scale / 2), 1)
    pixels = _resized(_coloured(picture.pixels), 2 * lines, columns)
    return [
        "".join(map(_half_block, pixels[row], pixels[row + 1])) + "\x1b[0m"
        for row in range(0, 2 * lines, 2)
    ]


def _half_block(upper: npt.NDArray[np.uint8], lower: npt.NDArray[np.uint8]) -> str:
    (red, green, blue), (red2, green2, blue2) = upper.tolist(), lower.tolist()
    return f"\x1b[38;2;{red};{green};{blue};48;2;{red2};{green2};{blue2}m{_UPPER_HALF}"


def _coloured(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Returns the pixels as RGB without alpha."""
    channels = pixels.shape[-1]
    return np.repeat(pixels[..., :1], 3, axis=-1) if channels < 3 else pixels[..., :3]


def _resized(pixels: npt.NDArray[np.uint8], height: int, width: int) -> npt.NDArray[np.uint8]:
    @native
    def resize(example: dict[str, Any]) -> dict[str, Any]:
        image = ops.resize(example["image"], [height, width], antialias=True)
        return {"image": ops.saturate_cast(ops.round(image), "uint8")}

    return np.asarray(resize({"image": pixels})["image"], np.uint8)
