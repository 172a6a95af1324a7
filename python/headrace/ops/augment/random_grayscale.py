"""Random pictures without colours.

Source: `torchvision.transforms.v2.RandomGrayscale`.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import one_image, probability, same_image
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_grayscale"]


def random_grayscale(image: TensorLike, p: float = 0.1, seed: int | None = None) -> Tensor:
    """Makes an image grey with a probability; it keeps its number of channels.

    Greys are 0.2989 R + 0.587 G + 0.114 B, cut off to whole numbers; they differ from those of
    torchvision's tensors by at most 1.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255; its shape may be unknown.
        p: The probability, 0 to 1.
        seed: With the graph's seed, determines which; see `headrace.graph.get_seed`.

    Returns:
        uint8, the shape of `image`. A run with another shape ends with InvalidArgumentError.

    Raises:
        TypeError: If the image is not uint8.
        ValueError: If `p` is not from 0 to 1, or the image has another rank.

    Source: `torchvision.transforms.v2.RandomGrayscale`.
    """
    attrs = {"p": probability("random_grayscale", p)}
    with name_scope(None, "random_grayscale", [image]):
        pixels = one_image("random_grayscale", image)
        inputs = [
            Input("image", pixels),
            Input("draw", random_uniform([], seed=seed), dtypes.float32),
        ]
        return apply_op("RandomGrayscale", inputs, same_image, attrs=attrs).outputs[0]


define("RandomGrayscale", is_own=True)
