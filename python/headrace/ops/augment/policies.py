"""Policies that apply random augmentations from a list.

Source: `torchvision.transforms.v2.RandAugment` and `TrivialAugmentWide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.augment.arguments import GREY_OR_RGB, one_image, same_image, values_of
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
    """Applies several changes, drawn from a list of 14, all of the same magnitude.

    The changes are: none, shear (up to 0.3) and shift (up to 150/331 of the side) along either
    axis, rotation (up to 30 degrees), brightness, saturation, contrast and sharpness (factors up to
    1 ± 0.9), posterise (down to 4 bits), solarise, autocontrast and equalise. All except none and
    the last four have a random sign.

    For the same changes, pixels differ from torchvision's results for tensors by at most 1 for each
    colour change. After a shear, shift or rotation, pixels are equal unless a source position is
    within 1/1000 pixel of the midpoint between two pixels. With "bilinear", pixels differ by at
    most 1.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255. The shape may be unknown.
        num_ops: The number of changes, applied one after the other.
        magnitude: The strength of the changes, from 0 to `num_magnitude_bins - 1`. The highest
            magnitude selects the maximum of each range.
        num_magnitude_bins: The number of magnitudes, at least 2.
        interpolation: "nearest" or "bilinear", for shear, shift and rotation.
        fill: The value of pixels outside the image: one number for all channels, or one per
            channel. Defaults to 0.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        uint8, with the shape of `image`.

    Raises:
        InvalidArgumentError: At run time, if the image has the wrong shape.
        TypeError: If the image is not uint8.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: "RandAugment: Practical automated data augmentation with a reduced search space"
    (arXiv:1909.13719), `torchvision.transforms.v2.RandAugment`.

    Examples:
        >>> augment = hr.native(lambda one: {"x": hr.ops.rand_augment(one["x"])})
        >>> pipe = hr.arrays({"x": np.zeros((2, 8, 8, 3), np.uint8)}).map(augment, seed=7)
        >>> next(iter(pipe.batch(2)))["x"].shape
        (2, 8, 8, 3)
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
        pixels = one_image(what, image, channels=GREY_OR_RGB)
        return _augmented("RandAugment", pixels, random_uniform([2 * num_ops], seed=seed), attrs)


def trivial_augment(
    image: TensorLike,
    num_magnitude_bins: int = 31,
    interpolation: str = "nearest",
    fill: float | Sequence[float] | None = None,
    seed: int | None = None,
) -> Tensor:
    """Applies one random change of a random magnitude, from the list of `rand_augment`.

    The ranges are wider: shear up to 0.99, shift up to 32 pixels, rotation up to 135 degrees,
    factors up to 1 ± 0.99, and posterise down to 2 bits. The difference from torchvision is the
    same as for `rand_augment`.

    Args:
        image: uint8, (height, width, 1 or 3), 0-255. The shape may be unknown.
        num_magnitude_bins: The number of magnitudes, at least 2.
        interpolation: "nearest" or "bilinear", for shear, shift and rotation.
        fill: The value of pixels outside the image: one number for all channels, or one per
            channel. Defaults to 0.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.

    Returns:
        uint8, with the shape of `image`.

    Raises:
        InvalidArgumentError: At run time, if the image has the wrong shape.
        TypeError: If the image is not uint8.
        ValueError: If an argument is out of range, or the image has the wrong rank.

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
        pixels = one_image(what, image, channels=GREY_OR_RGB)
        return _augmented("TrivialAugment", pixels, random_uniform([3], seed=seed), attrs)


def _augmented(op_type: str, image: Tensor, draws: TensorLike, attrs: dict[str, Any]) -> Tensor:
    """Applies the augmentations selected by float32 random numbers in [0, 1)."""
    inputs = [Input("image", image), Input("draws", draws, dtypes.float32)]
    return apply_op(op_type, inputs, same_image, attrs=attrs).outputs[0]


def _check_integer(what: str, name: str, value: int, least: int, most: int | None) -> None:
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    require(
        is_integer and value >= least and (most is None or value <= most),
        f"{what}: {name} is {value!r}, expected an integer {bounds}.",
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
