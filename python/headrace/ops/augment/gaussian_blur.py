"""Gaussian blur with a random width.

Source: `torchvision.transforms.v2.GaussianBlur`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import Pair, one_image, range_of, same_image, size_of
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.random.numbers import random_uniform

__all__ = ["gaussian_blur"]


def gaussian_blur(
    image: TensorLike,
    kernel_size: Pair,
    sigma: float | Sequence[float] = (0.1, 2.0),
    seed: int | None = None,
) -> Tensor:
    """Blurs an image with a Gaussian kernel of random width.

    Each pixel becomes the weighted mean of the pixels around it, rounded. The image is mirrored at
    its edges, without repeating the edge. For the same width, pixels differ from torchvision's by
    at most 1.

    Args:
        image: uint8, (height, width, channels), 0-255. The shape may be unknown.
        kernel_size: The width and height of the kernel in pixels, two odd integers as in
            torchvision, or one odd integer for both.
        sigma: The standard deviation of the Gaussian in pixels, or a pair of the minimum and
            maximum between which it is drawn.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        uint8, with the shape of `image`.

    Raises:
        InvalidArgumentError: At run time, if the image is not larger than half of `kernel_size`.
        TypeError: If the image is not uint8.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.GaussianBlur`.
    """
    size = size_of("gaussian_blur", "kernel_size", kernel_size, is_odd=True)
    low, high = range_of("gaussian_blur", "sigma", sigma, lambda s: s > 0, "positive numbers")
    with name_scope(None, "gaussian_blur", [image]):
        pixels = one_image("gaussian_blur", image)
        width = low if low == high else random_uniform([], low, high, seed=seed)
        inputs = [Input("image", pixels), Input("sigma", width, dtypes.float32)]
        attrs = {"kernel_size": list(size)}
        return apply_op("GaussianBlur", inputs, same_image, attrs=attrs).outputs[0]


define("GaussianBlur", is_own=True)
