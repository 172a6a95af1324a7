"""Affine and perspective transforms of images.

Source: `affine` and `perspective` of `torchvision.transforms.v2.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.reshape import reshape
from headrace.ops.augment.arguments import (
    PIXELS,
    check_fill,
    is_real,
    known_image,
    one_image,
    values_of,
)
from headrace.ops.augment.targets import Move, image_size, takes_targets
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.frames import require
from headrace.ops.math.cast import cast

__all__ = ["affine", "perspective"]

_INTERPOLATIONS = ("nearest", "bilinear")
_HOMOGRAPHY = (dtypes.float64, TensorShape([9]))


@takes_targets
def affine(
    image: TensorLike,
    angle: TensorLike,
    translate: TensorLike,
    scale: TensorLike,
    shear: TensorLike,
    interpolation: str = "nearest",
    fill: float | Sequence[float] | None = None,
    center: TensorLike | None = None,
) -> Move:
    """Rotates, scales, shears and moves an image. The size of the image does not change.

    For random transforms, pass tensors, for example `random_uniform([], -10.0, 10.0)` as the angle.
    Pixels are equal to torchvision's unless a source position is within 1/1000 pixel of the
    midpoint between two pixels. With "bilinear", pixels differ by at most 1. Masks are always
    interpolated with "nearest", and are 0 outside the image.

    Args:
        image: uint8, uint16 or float32, (height, width, channels). The shape may be unknown.
        angle: The rotation in degrees, clockwise.
        translate: (2,): the shift to the right and down, in pixels.
        scale: The factor by which the image is enlarged, above 0.
        shear: The angles in degrees by which the image is sheared along x and along y, (2,). A
            single number is the angle along x.
        interpolation: "nearest" or "bilinear".
        fill: The value of pixels outside the image: one number for all channels, or one per
            channel. Defaults to 0.
        center: (2,): the position x, y that rotation, scaling and shearing leave unchanged.
            Defaults to the centre of the image.

    Returns:
        An image of the same type and shape.

    Raises:
        InvalidArgumentError: At run time, if the scale is not positive, or the image has the wrong
            shape.
        TypeError: If the image has the wrong type.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.functional.affine`.

    Examples:
        >>> @hr.native
        ... def turn(example):
        ...     moved = hr.ops.affine(
        ...         example["image"], 90.0, [0, 0], 1.0, 0.0, boxes=example["boxes"]
        ...     )
        ...     return {"image": moved.image, "boxes": moved.boxes}
        >>> boxes = np.array([[1, 0, 2, 4]], np.float32)
        >>> turn({"image": np.zeros((4, 4, 3), np.uint8), "boxes": boxes})["boxes"]
        array([[0., 1., 4., 2.]], dtype=float32)
    """
    with name_scope(None, "affine", [image]):
        pixels = one_image("affine", image, PIXELS)
        inputs = [
            Input("angle", _numbers(angle, 1), dtypes.float64),
            Input("translate", _numbers(translate, 2), dtypes.float64),
            Input("scale", _numbers(scale, 1), dtypes.float64),
            Input("shear", _numbers(_both_axes(shear), 2), dtypes.float64),
            Input("center", _numbers([] if center is None else center, None), dtypes.float64),
            Input("size", image_size(pixels), dtypes.int32),
        ]
        return _warped("AffineHomographies", pixels, inputs, interpolation, fill)


@takes_targets
def perspective(
    image: TensorLike,
    startpoints: TensorLike,
    endpoints: TensorLike,
    interpolation: str = "bilinear",
    fill: float | Sequence[float] | None = None,
) -> Move:
    """Moves the corners of an image to other positions.

    The difference from torchvision is the same as for `affine`.

    Args:
        image: uint8, uint16 or float32, (height, width, channels). The shape may be unknown.
        startpoints: (4, 2): positions x, y in the image, usually its corners in the order upper
            left, upper right, lower right, lower left.
        endpoints: (4, 2): the positions to which they move.
        interpolation: "nearest" or "bilinear".
        fill: The value of pixels outside the image: one number for all channels, or one per
            channel. Defaults to 0.

    Returns:
        An image of the same type and shape.

    Raises:
        InvalidArgumentError: At run time, if three points lie on one line, or the image has the
            wrong shape.
        TypeError: If the image has the wrong type.
        ValueError: If an argument is out of range, or the image has the wrong rank.

    Source: `torchvision.transforms.v2.functional.perspective`.
    """
    with name_scope(None, "perspective", [image]):
        pixels = one_image("perspective", image, PIXELS)
        inputs = [
            Input("startpoints", _numbers(startpoints, 8), dtypes.float64),
            Input("endpoints", _numbers(endpoints, 8), dtypes.float64),
        ]
        return _warped("PerspectiveHomographies", pixels, inputs, interpolation, fill)


def _warped(
    op_type: str,
    image: Tensor,
    inputs: list[Input],
    interpolation: str,
    fill: float | Sequence[float] | None,
) -> Move:
    what = op_type.removesuffix("Homographies").lower()
    require(
        interpolation in _INTERPOLATIONS,
        f"{what}: interpolation is {interpolation!r}, expected 'nearest' or 'bilinear'.",
    )
    values = [] if fill is None else values_of(what, "fill", fill)
    check_fill(what, image, "fill", values)
    channels = known_image(image).as_list()[2]
    require(
        channels is None or len(values) in (0, 1, channels),
        f"{what}: fill has {len(values)} numbers, but the image has {channels} channels, expected "
        "one number, or one for each channel.",
    )
    homographies = apply_op(op_type, inputs, lambda *_: [_HOMOGRAPHY, _HOMOGRAPHY])
    to_image, to_result = homographies.outputs
    attrs = {"interpolation": interpolation, "fill": values}
    return Move(
        image,
        _warp(image, to_image, known_image(image), attrs),
        homography=lambda *_: to_result,
        masks=lambda masks, _: _warp(
            masks, to_image, masks.shape, {"interpolation": "nearest", "fill": []}
        ),
    )


def _warp(image: Tensor, to_image: Tensor, shape: TensorShape, attrs: dict[str, Any]) -> Tensor:
    def infer(image: Tensor, _: Tensor) -> Outputs:
        return [(image.dtype.base_dtype, shape)]

    inputs = [Input("image", image), Input("homography", to_image, dtypes.float64)]
    return apply_op("WarpImage", inputs, infer, attrs=attrs).outputs[0]


def _numbers(value: TensorLike, count: int | None) -> Tensor:
    """Returns numbers as a float64 vector of this length."""
    array = value if isinstance(value, (Tensor, np.ndarray)) else np.asarray(value, np.float64)
    numbers = cast(convert_to_tensor(array), dtypes.float64)
    return numbers if count is None else reshape(numbers, [count])


def _both_axes(shear: TensorLike) -> TensorLike:
    """Returns the shear along x and along y, as torchvision reads the argument."""
    if is_real(shear):
        return [shear, 0.0]
    if isinstance(shear, Sequence) and len(shear) == 1:
        return [shear[0], shear[0]]
    return shear


define("AffineHomographies", is_own=True)
define("PerspectiveHomographies", is_own=True)
define("WarpImage", is_own=True)
