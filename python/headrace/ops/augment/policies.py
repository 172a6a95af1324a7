"""Policies that draw changes from a list.

Source: `torchvision.transforms.v2.RandAugment` and `TrivialAugmentWide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import one_image, same_image, values_of
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.image.frames import require
from headrace.ops.random.numbers import random_uniform

__all__ = ["rand_augment", "trivial_augment"]


def rand_augment(
    image: TensorLike,
    num_ops: int = 2,
    magnitude: int = 9,
    num_magnitude_bins: int = 31,
    interpolation: str = "nearest",
    fill: float | Sequence[float] | None = None,
    seed: int | None = None,
) -> Tensor:
    """Applies changes that are drawn from a list of 14, all of one magnitude.

    The list: none, shear (to 0.3) and shift (to 150/331 of the side) along either axis, rotation
    (to 30 degrees), brightness, saturation, contrast and sharpness (factors to 1 ± 0.9), posterise
    (to 4 bits), solarise, stretched contrast, equalised histogram. All but the first and the last
    four have a random sign. For the same changes, pixels differ from those of torchvision's tensors
    by at most 1 for each change of colours. Sheared, shifted and rotated ones are equal but where a
    place lies within 1/1000 pixel of the middle between two pixels; with "bilinear" they differ by
    at most 1.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255; its shape may be unknown.
        num_ops: How many changes are drawn, one after the other.
        magnitude: How strong they are: 0 to `num_magnitude_bins - 1`, which is the end of each
            range.
        num_magnitude_bins: The number of magnitudes, at least 2.
        interpolation: "nearest" or "bilinear", for what is sheared, shifted and rotated.
        fill: The pixels outside of the image, a number for all channels or one for each. None for
            0.
        seed: With the graph's seed, determines which; see `headrace.graph.get_seed`.

    Returns:
        uint8, the shape of `image`. A run with another shape ends with InvalidArgumentError.

    Raises:
        TypeError: If the image is not uint8.
        ValueError: If an argument is out of range, or the image has another rank.

    Source: "RandAugment: Practical automated data augmentation with a reduced search space"
    (arXiv:1909.13719), `torchvision.transforms.v2.RandAugment`.
    """
    what = "rand_augment"
    _check_integer(what, "num_ops", num_ops, 0, None)
    _check_integer(what, "num_magnitude_bins", num_magnitude_bins, 2, None)
    _check_integer(what, "magnitude", magnitude, 0, num_magnitude_bins - 1)
    attrs = {
        "magnitude": int(magnitude),
        "num_magnitude_bins": int(num_magnitude_bins),
        **_sampling(what, interpolation, fill),
    }
    with name_scope(None, what, [image]):
        pixels = one_image(what, image)
        return _augmented("RandAugment", pixels, random_uniform([2 * num_ops], seed=seed), attrs)


def trivial_augment(
    image: TensorLike,
    num_magnitude_bins: int = 31,
    interpolation: str = "nearest",
    fill: float | Sequence[float] | None = None,
    seed: int | None = None,
) -> Tensor:
    """Applies one change that is drawn from the list of `rand_augment`, of a random magnitude.

    The ranges are wider: shear to 0.99, shift to 32 pixels, rotation to 135 degrees, factors to 1 ±
    0.99, posterise to 2 bits. Pixels are as near to torchvision's as those of `rand_augment`.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255; its shape may be unknown.
        num_magnitude_bins: The number of magnitudes, at least 2.
        interpolation: "nearest" or "bilinear", for what is sheared, shifted and rotated.
        fill: The pixels outside of the image, a number for all channels or one for each. None for
            0.
        seed: With the graph's seed, determines which; see `headrace.graph.get_seed`.

    Returns:
        uint8, the shape of `image`. A run with another shape ends with InvalidArgumentError.

    Raises:
        TypeError: If the image is not uint8.
        ValueError: If an argument is out of range, or the image has another rank.

    Source: "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation" (arXiv:2103.10158),
    `torchvision.transforms.v2.TrivialAugmentWide`.
    """
    what = "trivial_augment"
    _check_integer(what, "num_magnitude_bins", num_magnitude_bins, 2, None)
    attrs = {
        "num_magnitude_bins": int(num_magnitude_bins),
        **_sampling(what, interpolation, fill),
    }
    with name_scope(None, what, [image]):
        pixels = one_image(what, image)
        return _augmented("TrivialAugment", pixels, random_uniform([3], seed=seed), attrs)


def _augmented(op_type: str, image: Tensor, draws: TensorLike, attrs: dict[str, Any]) -> Tensor:
    """Applies changes by random numbers of [0, 1), float32."""
    inputs = [Input("image", image), Input("draws", draws, dtypes.float32)]
    return apply_op(op_type, inputs, same_image, attrs=attrs).outputs[0]


def _check_integer(what: str, name: str, value: int, least: int, most: int | None) -> None:
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    require(
        is_integer and value >= least and (most is None or value <= most),
        f"{what}: {name} is {value!r}, expected an integer from {least}"
        + ("." if most is None else f" to {most}."),
    )


def _sampling(
    what: str, interpolation: str, fill: float | Sequence[float] | None
) -> dict[str, Any]:
    require(
        interpolation in ("nearest", "bilinear"),
        f"{what}: interpolation is {interpolation!r}, expected 'nearest' or 'bilinear'.",
    )
    values = [] if fill is None else values_of(what, "fill", fill)
    require(
        all(0 <= value <= 255 for value in values),
        f"{what}: fill is {fill!r}, expected numbers from 0 to 255.",
    )
    return {"interpolation": interpolation, "fill": values}


define("RandAugment", is_own=True)
define("TrivialAugment", is_own=True)
