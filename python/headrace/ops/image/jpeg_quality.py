"""Degrades images with low-quality JPEG compression.

Source: `tf.image.adjust_jpeg_quality` and `tf.image.random_jpeg_quality` in TensorFlow 1.15, except
that values outside the range are clipped, as in TensorFlow 2.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.colour import convert_image_dtype
from headrace.ops.image.decode import decode_jpeg
from headrace.ops.image.encode import encode_jpeg_variable_quality
from headrace.ops.image.frames import require
from headrace.ops.random.numbers import random_uniform

__all__ = ["adjust_jpeg_quality", "random_jpeg_quality"]


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, name: str | None = None
) -> Tensor:
    """Encodes an image as a JPEG and decodes it again.

    Args:
        image: Pixels, (height, width, channels) with 1 or 3 channels: floats from 0 to 1, or
            integers from 0 to the maximum of the type. Values outside this range are clipped.
        jpeg_quality: The quality from 0 to 100, an int32 scalar.
        name: Name of the scope.

    Returns:
        Pixels of the same type and shape.

    Raises:
        InvalidArgumentError: At run time, if the number of channels or the quality is out of range.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        pixels = convert_to_tensor(image, name="image")
        dtype = pixels.dtype.base_dtype
        quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
        file = encode_jpeg_variable_quality(
            convert_image_dtype(pixels, dtypes.uint8, saturate=True), quality
        )
        channels = pixels.shape[-1].value if pixels.shape.rank else None
        # If JPEG does not support the number of channels, the run fails, just as it does if the
        # number was unknown.
        decoded = decode_jpeg(file, channels=channels if channels in (1, 3) else 0)
        decoded.set_shape(pixels.shape)
        return convert_image_dtype(decoded, dtype, saturate=True)


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Encodes an image as a JPEG of a random quality; see `adjust_jpeg_quality`.

    Args:
        image: See `adjust_jpeg_quality`.
        min_jpeg_quality: The minimum quality, at least 0.
        max_jpeg_quality: The end of the range, which is excluded and at most 100.
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            random numbers; see `headrace.graph.get_seed`.

    Raises:
        ValueError: If the range is invalid.
    """
    limits = min_jpeg_quality, max_jpeg_quality
    require(
        all(0 <= limit <= 100 for limit in limits), "jpeg encoding range must be between 0 and 100."
    )
    require(limits[0] < limits[1], "`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], *limits, dtype=dtypes.int32, seed=seed)
    return adjust_jpeg_quality(image, quality)
