"""Pictures as small PNG or JPEG files inside HTML, with boxes, masks and keypoints on top."""

import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace import ops
from headrace.core.errors import OpError
from headrace.core.html import Html, tag
from headrace.pipeline.native_functions import native

__all__ = ["Mask", "Picture", "data_url", "decoded", "drawn", "image_format", "picture_of"]

# The longest side of a picture on the page, in pixels.
_MOST_PIXELS: Final = 256
# Smaller pictures are enlarged, without smoothing.
_LEAST_PIXELS: Final = 96
# Larger PNG files become JPEG files.
_MOST_PNG_BYTES: Final = 32 << 10
_MAGIC: Final = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF8": "GIF",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}
_COLOURS: Final = ("#ff5a36", "#19c37d", "#3fa9ff", "#ffc414", "#c77dff", "#00d1c7")


class Picture(NamedTuple):
    """A picture.

    Attributes:
        pixels: uint8, (height, width, channels), 0 to 255, with 1 to 4 channels.
        note: How the values were converted to pixels, or the format of the file. May be empty.
    """

    pixels: npt.NDArray[np.uint8]
    note: str = ""


class Mask(NamedTuple):
    """A mask of a picture.

    Attributes:
        values: Bools, numbers of classes, or weights as floats; (height, width). 0 is transparent.
        colour: The number of its colour, or None if each number has its own.
    """

    values: npt.NDArray[Any]
    colour: int | None = None


@native
def _decode(example: dict[str, Any]) -> dict[str, Any]:
    # Only the first frame of an animation.
    return {"image": ops.decode_image(example["data"], expand_animations=False)}


@native
def _decode_values(example: dict[str, Any]) -> dict[str, Any]:
    return {"image": ops.decode_image(example["data"], dtype="float32", expand_animations=False)}


@native
def _to_png(example: dict[str, Any]) -> dict[str, Any]:
    return {"data": ops.encode_png(example["image"])}


@native
def _to_jpeg(example: dict[str, Any]) -> dict[str, Any]:
    return {"data": ops.encode_jpeg(example["image"], quality=90)}


def image_format(data: bytes) -> str | None:
    """Returns the format of an image file from its first bytes, or None."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WebP"
    if data.startswith(b"BM") and data[14:15] in (b"\x0c", b"\x28", b"\x6c", b"\x7c"):
        return "BMP"
    return next((name for magic, name in _MAGIC.items() if data.startswith(magic)), None)


def decoded(data: bytes) -> Picture | str:
    """Decodes an image file. Returns the reason if that fails.

    If there are more than four channels, it returns the first three.
    """
    form = image_format(data) or ""
    try:
        pixels = np.asarray(_decode({"data": data})["image"])
    except OpError as error:
        try:
            # A TIFF may have values that do not fit into bytes.
            values = np.asarray(_decode_values({"data": data})["image"]) if form == "TIFF" else None
        except OpError:
            values = None
        return error.message if values is None else _converted(_shown_channels(values))
    return Picture(_shown_channels(pixels), form)


def _shown_channels(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return pixels[..., :3] if pixels.shape[-1] > 4 else pixels


def picture_of(array: npt.NDArray[Any], is_named: bool) -> Picture | None:
    """Returns the picture in an array, or None if it doesn't look like one.

    These arrays look like pictures:

    - (height, width, channels) or (channels, height, width), with 1, 3 or 4 channels. Both sides
      must be at least 4 for uint8 and 16 for other types.
    - (height, width) of uint8 or bool, if both sides are at least 8.
    - any other array with these shapes, if the component has a name such as "image".

    Args:
        array: A component.
        is_named: Whether it has a name such as "image".
    """
    if array.dtype.kind not in "buif" or not array.size:
        return None
    if array.ndim == 2:
        is_picture = is_named or (array.dtype in (np.uint8, np.bool_) and min(array.shape) >= 8)
        return _converted(array[..., None]) if is_picture and min(array.shape) > 1 else None
    if array.ndim != 3:
        return None
    if array.shape[2] not in (1, 3, 4):
        if array.shape[0] not in (1, 3, 4):
            return None
        array = array.transpose(1, 2, 0)
    least = 2 if is_named else 4 if array.dtype == np.uint8 else 16
    return _converted(array) if min(array.shape[:2]) >= least else None


def _converted(array: npt.NDArray[Any]) -> Picture:
    """Converts values to pixels. Values outside 0 to 1 and 0 to 255 are rescaled."""
    if array.dtype == np.uint8:
        return Picture(array)
    if array.dtype == np.bool_:
        return Picture(array.astype(np.uint8) * np.uint8(255))
    values = array.astype(np.float64)
    is_finite = np.isfinite(values)
    finite = values[is_finite]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    first, last, note = least, most, f"{least:.3g} to {most:.3g}, stretched"
    if least >= 0 and most <= 1 and array.dtype.kind == "f":
        first, last, note = 0.0, 1.0, ""
    elif least >= 0 and most <= 255:
        first, last, note = 0.0, 255.0, ""
    scaled = (np.where(is_finite, values, first) - first) * (255 / max(last - first, 1e-12))
    return Picture(np.clip(np.rint(scaled), 0, 255).astype(np.uint8), note)


def drawn(
    picture: Picture,
    boxes: Sequence[Sequence[float]] = (),
    labels: Sequence[str] = (),
    masks: Sequence[Mask] = (),
    points: Sequence[Sequence[float]] = (),
) -> Html:
    """Returns a picture of at most 256 pixels on each side, with its targets drawn on it.

    Args:
        picture: The picture.
        boxes: The left, top, right and bottom edge of each box, in pixels of the picture.
        labels: The text of each box. May be empty.
        masks: The masks, of the picture's size.
        points: The x and y of each keypoint, in pixels of the picture.
    """
    height, width = picture.pixels.shape[:2]
    small = _scaled(picture.pixels)
    zoom = max(1, math.ceil(_LEAST_PIXELS / max(small.shape[:2])))
    layers = [
        tag(
            "img",
            src=_encoded(small),
            width=small.shape[1] * zoom,
            height=small.shape[0] * zoom,
            alt="",
        )
    ]
    layers += [tag("img", src=_encoded(_coloured(mask, small.shape[:2])), alt="") for mask in masks]
    if boxes or points:
        shapes = (*_boxes(boxes, labels, max(height, width)), *_points(points, max(height, width)))
        layers.append(tag("svg", *shapes, viewBox=f"0 0 {width} {height}"))
    return tag("span", *layers, class_="picture pixels" if zoom > 1 else "picture")


def _boxes(boxes: Sequence[Sequence[float]], labels: Sequence[str], side: int) -> Iterator[Html]:
    for number, (left, top, right, bottom) in enumerate(boxes):
        colour = _COLOURS[number % len(_COLOURS)]
        yield tag(
            "rect",
            x=f"{left:.6g}",
            y=f"{top:.6g}",
            width=f"{max(right - left, 0):.6g}",
            height=f"{max(bottom - top, 0):.6g}",
            fill="none",
            stroke=colour,
            stroke_width=f"{side / 128:.3g}",
        )
        if number < len(labels) and labels[number]:
            size = side / 16
            yield tag(
                "text",
                labels[number],
                x=f"{left + size / 4:.6g}",
                y=f"{max(top, 0) + size:.6g}",
                fill="#fff",
                stroke="#000",
                stroke_width=f"{size / 8:.3g}",
                style="paint-order:stroke;font-weight:600",
                font_family="system-ui,sans-serif",
                font_size=f"{size:.3g}",
            )


def _points(points: Sequence[Sequence[float]], side: int) -> Iterator[Html]:
    for number, (x, y, *_) in enumerate(points):
        colour = _COLOURS[number % len(_COLOURS)]
        yield tag("circle", cx=f"{x:.6g}", cy=f"{y:.6g}", r=f"{side / 80:.3g}", fill=colour)


def _coloured(mask: Mask, size: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Returns a mask as RGBA pixels, resized to `size`.

    Fractions, such as probabilities, become opacity.
    """
    height, width = mask.values.shape
    rows, columns = np.arange(size[0]) * height // size[0], np.arange(size[1]) * width // size[1]
    values = np.nan_to_num(mask.values.astype(np.float64), posinf=1, neginf=0)
    values = np.clip(values, -(2**53), 2**53)
    is_weight = bool(np.any(values % 1))
    weights = np.clip(values / max(values.max(), 1), 0, 1) if is_weight else values != 0
    colours = values if mask.colour is None and not is_weight else np.array(mask.colour or 1)
    colours = np.broadcast_to(colours, values.shape)[rows][:, columns].astype(np.int64)
    palette = np.array([[*bytes.fromhex(colour[1:]), 120] for colour in _COLOURS], np.uint8)
    pixels: npt.NDArray[np.uint8] = palette[(colours - 1) % len(palette)]
    pixels[..., 3] = np.rint(pixels[..., 3] * weights[rows][:, columns])
    pixels[pixels[..., 3] == 0] = 0
    return pixels


def _scaled(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Reduces a picture to at most 256 pixels on each side. A pixel is the mean of an area."""
    factor = max(pixels.shape[:2]) / _MOST_PIXELS
    if factor <= 1:
        return pixels
    # A picture with four times as many pixels on each side is enough for the means.
    step = max(int(factor / 4), 1)
    means = pixels[::step, ::step].astype(np.float32)
    for axis in (0, 1):
        size = max(round(pixels.shape[axis] / factor), 1)
        edges = np.arange(size) * means.shape[axis] // size
        counts = np.diff(edges, append=means.shape[axis])
        sums = np.add.reduceat(means, edges, axis)
        means = sums / np.expand_dims(counts, tuple(n for n in range(3) if n != axis))
    return np.rint(means).astype(np.uint8)


def _encoded(pixels: npt.NDArray[np.uint8]) -> str:
    image = np.ascontiguousarray(pixels)
    data, kind = bytes(_to_png({"image": image})["data"]), "png"
    if len(data) > _MOST_PNG_BYTES and image.shape[2] in (1, 3):
        data, kind = bytes(_to_jpeg({"image": image})["data"]), "jpeg"
    return data_url(f"image/{kind}", data)


def data_url(kind: str, data: bytes) -> str:
    """Returns a URL that contains a file. `kind` is its media type."""
    return f"data:{kind};base64,{b64encode(data).decode()}"
