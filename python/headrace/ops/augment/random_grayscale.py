"""Randomly converts images to greyscale.

Source: `torchvision.transforms.v2.RandomGrayscale`.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import GREY_OR_RGB, one_image, probability, same_image
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_grayscale"]


def random_grayscale(image: TensorLike, p: float = 0.1, seed: int | None = None) -> Tensor:
    """Converts an image to grey with a given probability. The number of channels stays the same.

    Grey is 0.2989 R + 0.587 G + 0.114 B, rounded down. Pixels differ from torchvision's results for
    tensors by at most 1.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255. The shape may be unknown.
        p: The probability, from 0 to 1.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        uint8, with the shape of `image`.

    Raises:
        InvalidArgumentError: At run time, if the image has the wrong shape.
        TypeError: If the image is not uint8.
        ValueError: If `p` is not from 0 to 1, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.RandomGrayscale`.
    """
    attrs = {"p": probability("random_grayscale", p)}
    with name_scope(None, "random_grayscale", [image]):
        pixels = one_image("random_grayscale", image, channels=GREY_OR_RGB)
        inputs = [
            Input("image", pixels),
            Input("draw", random_uniform([], seed=seed), dtypes.float32),
        ]
        return apply_op("RandomGrayscale", inputs, same_image, attrs=attrs).outputs[0]


define("RandomGrayscale", is_own=True)
