"""Image decoders: from the bytes of a file to pixels.

All decoders run in the native engine. Each detects the format from the contents, so `decode_png`
also decodes a JPEG. Metadata such as the EXIF orientation is ignored, unless you pass
`orientation=True` to `decode_image`.

In a pipeline's native function, the pixels are the same as Pillow's. In a TensorFlow 1 graph, the
pixels are the same as TensorFlow's.

Source: `tf.image.decode_jpeg` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define, get_default_graph, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import int_attr
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
# A TIFF can have as many.
_MOST_CHANNELS: Final = 65_535


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
        contents: The bytes of the file, a scalar string.
        channels: 1 for grey, 3 for RGB, and 0 for the stored number of channels. If a colour image
            is decoded as grey, the stored luma is returned. CMYK becomes RGB.
        ratio: The factor 1, 2, 4 or 8 by which the image is scaled down. Sizes are rounded up.
            Decoding a smaller image is faster.
        fancy_upscaling: If True, interpolates between chroma samples. If False, repeats them.
        try_recover_truncated: If True, decodes a truncated file as far as possible.
        acceptable_fraction: The fraction of the rows that a truncated file must have. Missing rows
            are 0.
        dct_method: "accurate", the default in a pipeline, for the same pixels as in Pillow and
            OpenCV, or "fast", whose pixels differ by one or two levels on average. In a TensorFlow
            1 graph, use TensorFlow's names "INTEGER_ACCURATE" and "INTEGER_FAST" (the default
            there).
        name: Name of the operation.

    Returns:
        uint8, (height, width, channels), 0-255. Files of other formats are also decoded, if they
        have one image.

    Raises:
        InvalidArgumentError: At run time, if the file cannot be decoded, has more than 178,956,970
            pixels or 100 scans, or an option does not exist.
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

    In a pipeline, the pixels are the same as in the whole image. In a TensorFlow 1 graph, the
    chroma at the left and right edges of the window may differ, as in TensorFlow.

    Args:
        contents: The bytes of the file, a scalar string.
        crop_window: int32: y, x, height and width of the part, in pixels of the scaled image.
        channels: The number of channels; see `decode_jpeg`.
        ratio: The factor 1, 2, 4 or 8 by which the image is scaled down.
        fancy_upscaling: If True, interpolates between chroma samples.
        try_recover_truncated: If True, decodes a truncated file as far as possible.
        acceptable_fraction: The fraction of the rows that a truncated file must have.
        dct_method: "accurate" or "fast"; see `decode_jpeg`.
        name: Name of the operation.

    Returns:
        uint8, (height, width, channels), 0-255.

    Raises:
        InvalidArgumentError: At run time, if the part is not inside the image, or the file cannot
            be decoded.
    """
    attrs = _jpeg_attrs(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )

    def infer(contents: Tensor, window: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        static = fold(window)
        sizes = [None, None] if static is None or static.shape != (4,) else static[2:].tolist()
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
        contents: The bytes of the file, a scalar string.
        channels: 1 for grey, 3 for RGB, 4 for RGBA, and 0 for the stored number of channels. A
            palette counts as RGB, or as RGBA if it has transparent colours. In a TensorFlow 1
            graph, the alpha added to 1-, 2- or 4-bit pixels is 1, 3 or 15, as in TensorFlow.
        dtype: uint8, which drops the lower bits of 16-bit pixels, or uint16, which multiplies 8-bit
            pixels by 257.
        name: Name of the operation.

    Returns:
        Pixels of type `dtype`, (height, width, channels). Files of other formats are also decoded,
        if they have one image and `dtype` is uint8.

    Raises:
        InvalidArgumentError: At run time, if the file cannot be decoded.
        TypeError: If `dtype` is neither uint8 nor uint16.
    """
    requested_dtype = as_dtype(dtype)
    if requested_dtype not in (dtypes.uint8, dtypes.uint16):
        raise TypeError(
            f"Value passed to parameter 'dtype' has DataType {requested_dtype.name} not in list of "
            "allowed values: uint8, uint16"
        )

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(requested_dtype, TensorShape([None, None, _depth(channels)]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {"channels": channels, "dtype": requested_dtype}
    return apply_op("DecodePng", inputs, infer, name=name, attrs=attrs).outputs[0]


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Decodes all frames of a GIF.

    Pixels that a frame does not cover or leaves transparent keep their value from the previous
    frame. In a pipeline, the frames are the same as in Pillow: the disposal method of each frame is
    applied, and the first frame starts with the transparent colour or the first colour of the
    palette. In a TensorFlow 1 graph, disposal methods are ignored, and the first frame starts with
    black.

    Args:
        contents: The bytes of the file, a scalar string.
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
    """Decodes an uncompressed BMP.

    In a pipeline, this supports grey images, palettes of 1 to 8 bits, and 16-, 24- or 32-bit pixels
    with any bit masks. An image whose palette contains only greys has one channel. In a TensorFlow
    1 graph, this reads 8-, 24- and 32-bit files as TensorFlow does: palette indices are returned as
    grey, and masks are ignored.

    Args:
        contents: The bytes of the file, a scalar string.
        channels: 0 for the stored number of channels. In a pipeline, you can also pass 3 or 4. In a
            TensorFlow 1 graph, any other number must be the stored number.
        name: Name of the operation.

    Returns:
        uint8, (height, width, channels): grey, RGB or RGBA.

    Raises:
        InvalidArgumentError: At run time, if the file cannot be decoded.
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
    """Decodes a JPEG, PNG, GIF, BMP, TIFF or WebP image.

    TIFF and BigTIFF files can have strips, tiles or planes, uncompressed or compressed with LZW,
    Deflate, PackBits, Zstandard or JPEG. Their pixels can be 1- to 16-bit grey or 8- or 16-bit RGB,
    with or without alpha. 1- to 8-bit palettes, CMYK, and YCbCr compressed as JPEG are converted to
    RGB. AVIF is not supported. In a TensorFlow 1 graph, TIFF and WebP are not supported.

    A TIFF can also have float32 pixels, or any number of 8-, 16- or 32-bit channels, as in
    satellite or microscope images. Such pixels are returned as stored, so `dtype` must be able to
    represent them, and `channels` cannot convert them.

    Args:
        contents: The bytes of the file, a scalar string.
        channels: 1 for grey, 3 for RGB, 4 for RGBA, and None or 0 for the stored number of
            channels. Not every format supports all of them: a WebP, or a TIFF in colour, cannot be
            converted to grey. In a pipeline, any other number is the number of channels that the
            file must have.
        dtype: The type of the pixels; see `convert_image_dtype` for its range. To keep 16-bit
            pixels of a PNG or TIFF, pass uint16: uint8 keeps only their upper byte. A float32 TIFF
            requires float32 (or float16 or float64), and its values are not scaled.
        expand_animations: If True, a GIF or an animated WebP returns all its frames along a new
            first axis, and a TIFF with several images is an error. If False, the first frame or
            image is returned.
        orientation: If True, the image is rotated and flipped according to the EXIF data of a JPEG,
            PNG, TIFF or WebP. EXIF data that is damaged or has no orientation is ignored.
        dct_method: For a JPEG, "accurate" or "fast"; see `decode_jpeg`.
        name: Name of the operation.

    Returns:
        Pixels of type `dtype`, (height, width, channels), or (frames, height, width, channels) for
        a GIF or an animated WebP. The static shape is unknown: use `ensure_shape` to set it. In a
        pipeline, the result always has three axes if `expand_animations` is False.

    Raises:
        InvalidArgumentError: When run, if the file cannot be decoded, has more than 178,956,970
            pixels, or does not have the requested channels, or if `dtype` cannot represent the
            values of a TIFF with floats or additional channels.
        ValueError: If the number of channels is not supported.

    Examples:
        >>> @hr.native
        ... def encode_and_decode(example):
        ...     return {"image": hr.ops.decode_image(hr.ops.encode_png(example["image"]))}
        >>> encode_and_decode({"image": np.zeros((4, 6, 3), np.uint8)})["image"].shape
        (4, 6, 3)
    """
    if channels not in (None, 0, 1, 3, 4) and not get_default_graph().is_native:
        raise ValueError("channels must be in (None, 0, 1, 3, 4)")
    if channels is not None and not 0 <= int_attr("channels", channels) <= _MOST_CHANNELS:
        raise ValueError(f"channels is {channels}, expected None or 0 to {_MOST_CHANNELS}")
    requested_dtype = as_dtype(dtype)
    decoded = requested_dtype
    if requested_dtype not in _DECODED:
        decoded = dtypes.float32 if requested_dtype.is_floating else dtypes.uint16

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
        return image if decoded == requested_dtype else convert_image_dtype(image, requested_dtype)


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """Reads the size of a JPEG from its header.

    Args:
        contents: The bytes of the file, a scalar string.
        output_type: int32 or int64.
        name: Name of the operation.

    Returns:
        `output_type`, (3,): height, width and stored channels.

    Raises:
        TypeError: If `output_type` is neither int32 nor int64.
    """
    requested_dtype = as_dtype(output_type)
    if requested_dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Value passed to parameter 'output_type' has DataType {requested_dtype.name} not in "
            "list of allowed values: int32, int64"
        )

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(requested_dtype, TensorShape([3]))]

    inputs = [Input("contents", contents, dtypes.string)]
    attrs = {"output_type": requested_dtype}
    return apply_op("ExtractJpegShape", inputs, infer, name=name, attrs=attrs).outputs[0]


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether files may be JPEGs, by their first three bytes.

    Args:
        contents: The bytes of files, strings of any shape.
        name: Name of the operation.

    Returns: bool, with the shape of `contents`.
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
