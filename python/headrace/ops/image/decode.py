"""Decoders of images: they turn the bytes of a file into pixels.

All of them run in the native engine. Each detects the format from the contents: `decode_png` of a
JPEG works. Metadata such as an EXIF orientation is ignored, unless `decode_image` is asked for it.

In a native function of a pipeline, pixels are those of Pillow. In a graph of TensorFlow 1 they are
TensorFlow's.

Source: `tf.image.decode_jpeg` and its kin of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array
from headrace.ops.image.colour import convert_image_dtype

__all__ = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "extract_jpeg_shape",
]

_DECODED: Final = (dtypes.uint8, dtypes.uint16, dtypes.float32)


def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decodes a JPEG.

    Args:
        contents: The file's bytes, a scalar string.
        channels: 0 for as many as are stored, 1 for grey, 3 for RGB. Grey of a colour image is its
            luma as stored; four inks become RGB.
        ratio: Scales the image down by 1, 2, 4 or 8, rounded up; quicker than decoding all of it.
        fancy_upscaling: Interpolate between chroma samples; False repeats them.
        try_recover_truncated: Whether to decode a truncated file as far as possible.
        acceptable_fraction: The fraction of the rows of a truncated file that must exist; the
            others are 0.
        dct_method: "accurate" (the default in a pipeline) for the pixels of Pillow and OpenCV, or
            "fast", whose pixels differ by one or two levels on average. TensorFlow's names of both
            are "INTEGER_ACCURATE" and "INTEGER_FAST". In a graph of TensorFlow 1, the default is
            the fast one, and only those names exist.
        name: Name of the operation.

    Returns:
        uint8, (height, width, channels), 0-255. Other formats are decoded too, if they are one
        image. A run with anything else, or with an option that does not exist, ends with
        InvalidArgumentError; so does one with more than 178,956,970 pixels or 100 scans.
    """
    attrs = _jpeg_attrs(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtypes.uint8, TensorShape([None, None, _depth(channels)]))]

    inputs = [Input("contents", contents, dtypes.string)]
    return apply_op("DecodeJpeg", inputs, infer, name=name, attrs=attrs).outputs[0]


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decodes a part of a JPEG, without decoding the rest.

    In a pipeline, the pixels are those of the whole image. In a graph of TensorFlow 1, chroma at
    the left and right edge of the window may differ, as it does in TensorFlow.

    Args:
        contents: The file's bytes, a scalar string.
        crop_window: The part, int32: y, x, height, width, in pixels of the scaled image. A run with
            one that does not lie in the image ends with InvalidArgumentError.
        channels: See `decode_jpeg`, as for all that follows.
        ratio: Scales the image down by 1, 2, 4 or 8.
        fancy_upscaling: Interpolate between chroma samples.
        try_recover_truncated: Whether to decode a truncated file as far as possible.
        acceptable_fraction: The fraction of the rows that must be there.
        dct_method: "accurate" or "fast".
        name: Name of the operation.

    Returns:
        uint8, (height, width, channels), 0-255.
    """
    attrs = _jpeg_attrs(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )

    def infer(contents: Tensor, window: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        known = fold(window)
        sizes = [None, None] if known is None or known.shape != (4,) else known[2:].tolist()
        return [(dtypes.uint8, TensorShape([*sizes, _depth(channels)]))]

    inputs = [
        Input("contents", contents, dtypes.string),
        Input("crop_window", crop_window, dtypes.int32),
    ]
    return apply_op("DecodeAndCropJpeg", inputs, infer, name=name, attrs=attrs).outputs[0]


def decode_png(
    contents: TensorLike,
    channels: int = 0,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
) -> Tensor:
    """Decodes a PNG.

    Args:
        contents: The file's bytes, a scalar string.
        channels: 0 for as many as are stored, 1 for grey, 3 for RGB, 4 for RGBA. A palette
            counts as RGB, or RGBA if it has transparent colours. In a graph of TensorFlow 1, alpha
            added to pixels of 1, 2 or 4 bits is 1, 3 or 15, as in TensorFlow.
        dtype: uint8, for which 16 bits lose the lower ones, or uint16, for which 8 bits are
            scaled by 257.
        name: Name of the operation.

    Returns:
        `dtype`, (height, width, channels). Other formats are decoded too, if they are one image and
        `dtype` is uint8. A run with anything else ends with InvalidArgumentError.

    Raises:
        TypeError: If `dtype` is another type.
    """
    wanted = as_dtype(dtype)
    if wanted not in (dtypes.uint8, dtypes.uint16):
        raise TypeError(
            f"Value passed to parameter 'dtype' has DataType {wanted.name} not in list of allowed "
            "values: uint8, uint16"
        )

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(wanted, TensorShape([None, None, _depth(channels)]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {"channels": channels, "dtype": wanted}
    return apply_op("DecodePng", inputs, infer, name=name, attrs=attrs).outputs[0]


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Decodes all frames of a GIF.

    Pixels that a frame does not cover, or that are transparent in it, keep the value of the frame
    before. In a pipeline, each frame is disposed of as the file says, and the first begins with the
    transparent colour or the first of the palette: the frames are those of Pillow. In a graph of
    TensorFlow 1, no frame is disposed of, and the first begins with black.

    Args:
        contents: The file's bytes, a scalar string.
        name: Name of the operation.

    Returns:
        uint8, (frames, height, width, 3), RGB. A JPEG or PNG is one frame.
    """

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtypes.uint8, TensorShape([None, None, None, 3]))]

    inputs = [Input("contents", contents, dtypes.string)]
    return apply_op("DecodeGif", inputs, infer, name=name).outputs[0]


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """Decodes a BMP without compression.

    A pipeline reads grey, palettes of 1 to 8 bits, and pixels of 16, 24 or 32 bits with any
    bit-field masks. A palette of greys gives one channel. A graph of TensorFlow 1 reads 8, 24 and
    32 bits as TensorFlow does: it takes the numbers of colours for grey, and ignores masks.

    Args:
        contents: The file's bytes, a scalar string.
        channels: 0 for as many as are stored. In a pipeline also 3 or 4; in a graph of TensorFlow
            1, only the stored number.
        name: Name of the operation.

    Returns:
        uint8, (height, width, channels): grey, RGB or RGBA. A run with anything else ends with
        InvalidArgumentError.
    """

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtypes.uint8, TensorShape([None, None, _depth(channels)]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {"channels": channels}
    return apply_op("DecodeBmp", inputs, infer, name=name, attrs=attrs).outputs[0]


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    expand_animations: bool = True,
    orientation: bool = False,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decodes an image in any of the formats JPEG, PNG, GIF, BMP, TIFF and WebP.

    In a graph of TensorFlow 1, TIFF and WebP are not read. TIFF and BigTIFF may have strips, tiles
    or planes, packed by LZW, Deflate, PackBits, Zstandard or JPEG or not at all: grey of 1 to 16
    bits and RGB of 8 or 16, also with alpha; palettes of 1 to 8 bits and CMYK, which become RGB;
    YCbCr as JPEG. AVIF is not read.

    Args:
        contents: The file's bytes, a scalar string.
        channels: None or 0 for as many as are stored, 1 for grey, 3 for RGB, 4 for RGBA; not every
            format can give each. A WebP, and a TIFF with colours, do not become grey.
        dtype: Type of the pixels; see `convert_image_dtype` for their range.
        expand_animations: Whether a GIF or an animated WebP gives all its frames, in a first axis
            of their own; False for the first frame alone. A TIFF of several images is an error,
            unless it is False: then the first one is decoded.
        orientation: Whether a picture is turned and flipped as the EXIF data of a JPEG, PNG, TIFF
            or WebP say. Data that are damaged, or without an orientation, change nothing.
        dct_method: For a JPEG, "accurate" or "fast"; see `decode_jpeg`.
        name: Name of the operation.

    Returns:
        `dtype`, (height, width, channels), or (frames, height, width, channels) of a GIF and an
        animated WebP. The static shape is unknown; `set_shape` helps. In a native function of a
        pipeline it has three axes if `expand_animations` is False. A run with anything else, or
        with more than 178,956,970 pixels, ends with InvalidArgumentError.

    Raises:
        ValueError: If there is no such number of channels.
    """
    if channels not in (None, 0, 1, 3, 4):
        raise ValueError("channels must be in (None, 0, 1, 3, 4)")
    wanted = as_dtype(dtype)
    decoded = wanted
    if wanted not in _DECODED:
        decoded = dtypes.float32 if wanted.is_floating else dtypes.uint16

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(decoded, unknown_shape())]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {
        "channels": channels or 0,
        "dtype": decoded,
        "expand_animations": bool(expand_animations),
        "orientation": bool(orientation),
        "dct_method": dct_method,
    }
    with name_scope(name, "decode_image", [contents]) as scope:
        image = apply_op("DecodeImage", inputs, infer, name=scope, attrs=attrs).outputs[0]
        if image.graph.is_native and not expand_animations:
            image.set_shape([None, None, channels or None])
        return image if decoded == wanted else convert_image_dtype(image, wanted)


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """Reads the size of a JPEG from its header.

    Args:
        contents: The file's bytes, a scalar string.
        output_type: int32 or int64.
        name: Name of the operation.

    Returns:
        `output_type`, (3): height, width and stored channels.

    Raises:
        TypeError: If `output_type` is another type.
    """
    wanted = as_dtype(output_type)
    if wanted not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Value passed to parameter 'output_type' has DataType {wanted.name} not in list of "
            "allowed values: int32, int64"
        )

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(wanted, TensorShape([3]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {"output_type": wanted}
    return apply_op("ExtractJpegShape", inputs, infer, name=name, attrs=attrs).outputs[0]


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether files may be JPEGs, by their first three bytes.

    Args:
        contents: The bytes of files, strings of any shape.
        name: Name of the operation.

    Returns:
        bool, of the shape of `contents`.
    """

    def infer(contents: Tensor) -> Outputs:
        return [(dtypes.bool, contents.shape)]

    def kernel(files: Array) -> Any:
        return np.frompyfunc(lambda file: file.startswith(b"\xff\xd8\xff"), 1, 1)(files)

    inputs = [Input("contents", contents, dtypes.string)]
    return apply_op("IsJpeg", inputs, infer, name=name, kernel=kernel).outputs[0]


def _depth(channels: int) -> int | None:
    if channels < 0:
        raise ShapeConflict(f"channels must be non-negative, got {channels}")
    return channels or None


def _jpeg_attrs(
    channels: int, ratio: int, is_fancy: bool, is_recovering: bool, fraction: float, method: str
) -> dict[str, Any]:
    return {
        "channels": channels,
        "ratio": ratio,
        "fancy_upscaling": bool(is_fancy),
        "try_recover_truncated": bool(is_recovering),
        "acceptable_fraction": float(fraction),
        "dct_method": method,
    }


define("DecodeAndCropJpeg", is_own=True)
define("DecodeBmp")
define("DecodeGif")
define("DecodeImage")
define("DecodeJpeg")
define("DecodePng")
define("ExtractJpegShape")
define("IsJpeg", is_own=True)
