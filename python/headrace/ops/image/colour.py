"""Image colours: conversion between types and colour spaces, and adjustments.

Source: `tf.image.convert_image_dtype`, `adjust_brightness` and similar functions of TensorFlow
1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import TensorShape, dimension_value
from headrace.graph import SupportsTensor, Tensor, TensorLike, define, name_scope
from headrace.ops.array.placeholder import identity
from headrace.ops.control.control_flow import Assert, with_dependencies
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS
from headrace.ops.framework.inference import ShapeConflict, like
from headrace.ops.image.frames import is_number, require
from headrace.ops.math.arithmetic import add, floordiv, multiply, pow
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import greater_equal
from headrace.ops.math.saturate_cast import saturate_cast

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "convert_image_dtype",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "per_image_standardization",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "yiq_to_rgb",
    "yuv_to_rgb",
]


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Converts pixels to another type and scales them to its range.

    The range of floats is 0 to 1. The range of an integer type is 0 to its maximum.

    Args:
        image: The pixels, of any shape.
        dtype: The new type, floats or integers.
        saturate: If True, values outside the range are clipped. If False, they wrap around.
        name: Name of the operation.

    Returns:
        Pixels of type `dtype`, with the shape of `image`.

    Raises:
        AttributeError: If `dtype` is neither a floating-point nor an integer type.

    Examples:
        >>> scale = hr.native(lambda one: {"y": hr.ops.convert_image_dtype(one["x"], np.float32)})
        >>> scale({"x": np.array([0, 255], np.uint8)})
        {'y': array([0., 1.], dtype=float32)}
    """
    pixels = convert_to_tensor(image, name="image")
    requested_dtype = as_dtype(dtype)
    if not (requested_dtype.is_floating or requested_dtype.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    source_dtype = pixels.dtype.base_dtype
    if requested_dtype == source_dtype:
        return identity(pixels, name=name)
    convert = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [pixels]) as scope:
        if source_dtype.is_integer and requested_dtype.is_integer:
            if source_dtype.max > requested_dtype.max:
                scale = (source_dtype.max + 1) // (requested_dtype.max + 1)
                return convert(floordiv(pixels, scale), requested_dtype, name=scope)
            scale = (requested_dtype.max + 1) // (source_dtype.max + 1)
            return multiply(convert(pixels, requested_dtype), scale, name=scope)
        if source_dtype.is_floating and requested_dtype.is_floating:
            return cast(pixels, requested_dtype, name=scope)
        if source_dtype.is_integer:
            return multiply(cast(pixels, requested_dtype), 1.0 / source_dtype.max, name=scope)
        # The cast truncates, so half a step is added. Otherwise, the largest value would never
        # occur.
        return convert(multiply(pixels, requested_dtype.max + 0.5), requested_dtype, name=scope)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB images to greyscale.

    Args:
        images: RGB, floats from 0 to 1 or integers, (..., 3).
        name: Name of the scope.

    Returns:
        Images of the same type, (..., 1).

    Raises:
        ValueError: If the images do not have 3 channels.
    """

    def infer(images: Tensor) -> Outputs:
        return [(dtypes.float32, _with_channels(images, 3, 1))]

    with name_scope(name, "rgb_to_grayscale", [images]):
        pixels = convert_to_tensor(images, name="images")
        inputs = [Input("images", convert_image_dtype(pixels, dtypes.float32))]
        grey = apply_op("RgbToGrey", inputs, infer).outputs[0]
        return convert_image_dtype(grey, pixels.dtype.base_dtype)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts greyscale images to RGB by repeating the channel three times.

    Args:
        images: Any type, (..., 1).
        name: Name of the operation.

    Returns:
        Images of the same type, (..., 3).

    Raises:
        ValueError: If the images do not have 1 channel, or have no axis before the channels.
    """

    def infer(images: Tensor) -> Outputs:
        return [(images.dtype.base_dtype, _with_channels(images, 1, 3))]

    pixels = convert_to_tensor(images, name="images")
    if pixels.shape.rank is not None:
        require(
            pixels.shape.rank >= 2,
            f"A grayscale image (shape {pixels.shape}) must be at least two-dimensional.",
        )
        channels = dimension_value(pixels.shape[-1])
        text = "Last dimension of a grayscale image should be size 1."
        require(None if channels is None else channels == 1, text)
    return apply_op("GreyToRgb", [Input("images", pixels)], infer, name=name).outputs[0]


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB to hue, saturation and value.

    Args:
        images: Floats from 0 to 1, (..., 3).
        name: Name of the operation.

    Returns:
        Images of the same type and shape, from 0 to 1.

    Raises:
        ValueError: If the images do not have 3 channels.
    """
    return _change("RGBToHSV", images, name)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts hue, saturation and value to RGB.

    Args:
        images: Floats from 0 to 1, (..., 3).
        name: Name of the operation.

    Returns:
        Images of the same type and shape, from 0 to 1.

    Raises:
        ValueError: If the images do not have 3 channels.
    """
    return _change("HSVToRGB", images, name)


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Converts RGB to YIQ: luma (Y), and orange-blue (I) and purple-green (Q) chroma.

    Args:
        images: Floats from 0 to 1, (..., 3).

    Returns:
        Images of the same type and shape. Y is from 0 to 1, and I and Q are around 0.

    Raises:
        ValueError: If the images do not have 3 channels.
    """
    return _change("RGBToYIQ", images, None)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Converts YIQ to RGB. This is the inverse of `rgb_to_yiq`.

    Args:
        images: Floats, (..., 3).

    Raises:
        ValueError: If the images do not have 3 channels.
    """
    return _change("YIQToRGB", images, None)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Converts RGB to YUV: luma (Y), and blue (U) and red (V) chroma.

    Args:
        images: Floats from 0 to 1, (..., 3).

    Returns:
        Images of the same type and shape. Y is from 0 to 1, and U and V are around 0.

    Raises:
        ValueError: If the images do not have 3 channels.
    """
    return _change("RGBToYUV", images, None)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Converts YUV to RGB. This is the inverse of `rgb_to_yuv`.

    Args:
        images: Floats, (..., 3).

    Raises:
        ValueError: If the images do not have 3 channels.
    """
    return _change("YUVToRGB", images, None)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Adds a number to all channels of an image.

    Args:
        image: Floats or integers of any shape. Integers are scaled to the range 0 to 1 before the
            addition.
        delta: The number to add, a number or a scalar tensor. -1 makes the image black.

    Returns:
        An image of the same type and shape. Integers are clipped to their range.
    """

    def brighten(pixels: Tensor) -> Tensor:
        return add(pixels, cast(delta, pixels.dtype.base_dtype))

    return _adjust("adjust_brightness", image, brighten, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Scales the difference between each pixel and the mean of its channel in its image.

    Args:
        images: Floats or integers, (..., height, width, channels).
        contrast_factor: The factor, a number or a scalar tensor.

    Returns:
        Images of the same type and shape. Integers are clipped to their range.

    Raises:
        ValueError: If the images have fewer than 3 axes.
    """

    def infer(images: Tensor, _: Tensor) -> Outputs:
        if images.shape.rank is not None and images.shape.rank < 3:
            rank = images.shape.rank
            raise ShapeConflict(f"Shape must be at least rank 3 but is rank {rank}")
        return like(images)

    def change(pixels: Tensor) -> Tensor:
        inputs = [
            Input("images", pixels),
            Input("contrast_factor", contrast_factor, dtypes.float32),
        ]
        return apply_op("AdjustContrastv2", inputs, infer).outputs[0]

    return _adjust("adjust_contrast", images, change, saturate=True)


def adjust_gamma(
    image: TensorLike, gamma: float | Tensor | SupportsTensor = 1, gain: TensorLike = 1
) -> Tensor:
    """Computes `gain * image ** gamma`, with channels from 0 to 1.

    Args:
        image: Floats or integers of any shape. Integers are scaled to the range 0 to 1 first.
        gamma: The exponent, at least 0, a number or a tensor.
        gain: The factor, a number or a tensor.

    Returns:
        An image of the same type. Integers are clipped to their range.

    Raises:
        ValueError: If `gamma` is known to be negative.
    """
    text = "Gamma should be a non-negative real number."
    require(gamma >= 0 if is_number(gamma) else None, text)

    def change(pixels: Tensor) -> Tensor:
        exponent = gamma
        if not is_number(gamma):
            exponent = with_dependencies([Assert(greater_equal(gamma, 0), [text])], gamma)
        return multiply(pow(pixels, exponent), gain)

    return _adjust("adjust_gamma", image, change, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Rotates the hue of an image.

    Args:
        image: RGB, floats from 0 to 1 or integers, (..., 3).
        delta: The rotation in turns, a number or a scalar tensor. 1 is a full turn, which changes
            nothing.
        name: Name of the scope.

    Returns:
        An image of the same type and shape.

    Raises:
        ValueError: If the image does not have 3 channels.
    """

    def turn(pixels: Tensor) -> Tensor:
        return _change("AdjustHue", pixels, None, ("delta", delta))

    return _adjust("adjust_hue", image, turn, name=name)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Multiplies the saturation of an image by a factor.

    Args:
        image: RGB, floats from 0 to 1 or integers, (..., 3).
        saturation_factor: The factor, a number or a scalar tensor. 0 makes the image grey.
        name: Name of the scope.

    Returns:
        An image of the same type and shape.

    Raises:
        ValueError: If the image does not have 3 channels.
    """

    def saturate(pixels: Tensor) -> Tensor:
        return _change("AdjustSaturation", pixels, None, ("scale", saturation_factor))

    return _adjust("adjust_saturation", image, saturate, name=name)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Scales each image to a mean of 0 and a variance of 1.

    The standard deviation is at least `1 / sqrt(number of elements)`, so an image of one colour
    becomes 0.

    Args:
        image: Numbers, (..., height, width, channels).

    Returns:
        float32, with the shape of `image`.

    Raises:
        ValueError: If the image has fewer than 3 axes, or no pixels.
    """
    with name_scope(None, "per_image_standardization", [image]):
        pixels = convert_to_tensor(image, name="image")
        if pixels.shape.rank is not None:
            require(
                pixels.shape.rank >= 3,
                f"'image' (shape {pixels.shape}) must be at least three-dimensional.",
            )
            require(
                0 not in pixels.shape.as_list()[-3:],
                f"inner 3 dims of 'image.shape' must be > 0: {pixels.shape}",
            )
        inputs = [Input("image", cast(pixels, dtypes.float32))]
        return apply_op("PerImageStandardization", inputs, like).outputs[0]


def _adjust(
    scope: str,
    image: TensorLike,
    change: Callable[[Tensor], Tensor],
    saturate: bool = False,
    name: str | None = None,
) -> Tensor:
    """Converts an image to floats, changes it, and converts it back to its type."""
    with name_scope(name, scope, [image]):
        pixels = convert_to_tensor(image, name="image")
        dtype = pixels.dtype.base_dtype
        if dtype not in (dtypes.float16, dtypes.float32):
            pixels = convert_image_dtype(pixels, dtypes.float32)
        return convert_image_dtype(change(pixels), dtype, saturate=saturate)


def _change(
    op_type: str, images: TensorLike, name: str | None, amount: tuple[str, Any] | None = None
) -> Tensor:
    inputs = [Input("images", images, allowed=FLOATS, default=dtypes.float32)]
    if amount is not None:
        inputs.append(Input(*amount, dtypes.float32))

    def infer(images: Tensor, *_: Tensor) -> Outputs:
        return [(images.dtype.base_dtype, _with_channels(images, 3, 3))]

    return apply_op(op_type, inputs, infer, name=name).outputs[0]


def _with_channels(images: Tensor, expected: int, channels: int) -> TensorShape:
    """Checks the number of channels, and returns the static shape with a new number."""
    if images.shape.rank is None:
        return images.shape
    if images.shape.rank == 0:
        raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
    *sizes, num_channels = images.shape.as_list()
    if num_channels not in (None, expected):
        raise ShapeConflict(f"Dimension must be {expected} but is {num_channels}")
    return TensorShape([*sizes, channels])


define("AdjustContrastv2")
define("AdjustHue")
define("AdjustSaturation")
define("GreyToRgb", is_own=True)
define("HSVToRGB")
define("PerImageStandardization", is_own=True)
define("RGBToHSV")
define("RGBToYIQ", is_own=True)
define("RGBToYUV", is_own=True)
define("RgbToGrey", is_own=True)
define("YIQToRGB", is_own=True)
define("YUVToRGB", is_own=True)
