"""Gaussian blurs of a random width.

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
    """Blurs an image by a Gaussian of a random width.

    Each pixel becomes the mean of those around it, weighted and rounded; beyond the edge pixels are
    mirrored, without the one at the edge. For the same width, pixels differ from torchvision's by
    at most 1.

    Args:
        image: uint8, (height, width, channels), 0-255; its shape may be unknown.
        kernel_size: Pixels that are weighted: along a row and along a column, as in torchvision, or
            one odd integer for both.
        sigma: The standard deviation of the Gaussian, in pixels; or the least and the largest,
            between which it is drawn.
        seed: With the graph's seed, determines the width; see `headrace.graph.get_seed`. Nothing is
            drawn for a single `sigma`.

    Returns:
        uint8, the shape of `image`. A run with an image not larger than half of `kernel_size` ends
        with InvalidArgumentError.

    Raises:
        TypeError: If the image is not uint8.
        ValueError: If an argument is out of range, or the image has another rank.

    Source: `torchvision.transforms.v2.GaussianBlur`.
    """
    size = size_of("gaussian_blur", "kernel_size", kernel_size, is_odd=True)
    low, high = range_of("gaussian_blur", "sigma", sigma, lambda s: s > 0, "numbers above 0")
    with name_scope(None, "gaussian_blur", [image]):
        pixels = one_image("gaussian_blur", image)
        width = low if low == high else random_uniform([], low, high, seed=seed)
        inputs = [Input("image", pixels), Input("sigma", width, dtypes.float32)]
        attrs = {"kernel_size": list(size)}
        return apply_op("GaussianBlur", inputs, same_image, attrs=attrs).outputs[0]


define("GaussianBlur", is_own=True)
