"""Random flips with a given probability.

Source: `torchvision.transforms.v2.RandomHorizontalFlip`.
"""

from __future__ import annotations

from headrace.graph import TensorLike, name_scope
from headrace.ops.array.where import where
from headrace.ops.augment.arguments import PIXELS, one_image, probability
from headrace.ops.augment.targets import Move, takes_targets
from headrace.ops.image.flip import COLUMNS, flipped
from headrace.ops.math.compare import less
from headrace.ops.random.numbers import random_uniform

__all__ = ["random_horizontal_flip"]


@takes_targets
def random_horizontal_flip(image: TensorLike, p: float = 0.5, seed: int | None = None) -> Move:
    """Flips an image horizontally with a given probability.

    `random_flip_left_right` always uses a probability of one half, and draws the same random
    numbers as TensorFlow.

    Args:
        image: uint8, uint16 or float32, (height, width, channels). The shape may be unknown.
        p: The probability, from 0 to 1.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        An image of the same type and shape.

    Raises:
        TypeError: If the image has the wrong type.
        ValueError: If `p` is not from 0 to 1, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.RandomHorizontalFlip`.
    """
    limit = probability("random_horizontal_flip", p)
    with name_scope(None, "random_horizontal_flip", [image]):
        pixels = one_image("random_horizontal_flip", image, PIXELS)
        is_flipped = less(random_uniform([], seed=seed), limit)
        return flipped(pixels, COLUMNS, where(is_flipped, 0.0, 1.0))
