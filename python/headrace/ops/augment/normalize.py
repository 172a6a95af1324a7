"""Pixel normalization for neural networks.

Source: `torchvision.transforms.v2.ToDtype` and `Normalize`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.augment.arguments import PIXELS, layout_axes, values_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import rows_of_first
from headrace.ops.image.frames import require

__all__ = ["normalize"]


def normalize(
    image: TensorLike,
    mean: float | Sequence[float],
    std: float | Sequence[float],
    layout: str = "CHW",
    name: str | None = None,
) -> Tensor:
    """Subtracts a mean, divides by a standard deviation, and moves the channels to the front.

    uint8 pixels are divided by 255 first, and uint16 pixels by 65,535, so `mean` and `std` refer to
    pixels from 0 to 1. float32 pixels are not scaled. The result is the same as from torchvision's
    `ToDtype(float32, scale=True)` followed by `Normalize`, to within 1e-6 for pixels and deviations
    around 1.

    Args:
        image: uint8, uint16 or float32, (..., height, width, channels).
        mean: One number per channel, or one for all channels.
        std: One number per channel, or one for all channels. All must be nonzero.
        layout: The order of the axes in the result: "CHW" for channels first, as in PyTorch, or
            "HWC" for channels last, as in `image`.
        name: Name of the operation.

    Returns:
        float32, (..., channels, height, width), or (..., height, width, channels).

    Raises:
        InvalidArgumentError: At run time, if the numbers of channels and means differ.
        TypeError: If the image has the wrong type.
        ValueError: If a deviation is 0, the layout is unknown, or sizes do not match.

    Source: `torchvision.transforms.v2.Normalize`.

    Examples:
        >>> scale = hr.native(lambda one: {"x": hr.ops.normalize(one["x"], 0.5, 0.5)})
        >>> scale({"x": np.full((2, 2, 3), 255, np.uint8)})["x"].shape
        (3, 2, 2)
    """
    layout_axes("normalize", layout)
    means = values_of("normalize", "mean", mean)
    deviations = values_of("normalize", "std", std)
    require(
        all(deviation != 0 for deviation in deviations),
        f"normalize: std is {std!r}, but a standard deviation cannot be 0.",
    )

    def infer(image: Tensor) -> Outputs:
        if image.shape.rank is None:
            return [(dtypes.float32, unknown_shape())]
        require(
            image.shape.rank >= 3,
            f"normalize: the image has shape {image.shape}, expected (height, width, channels).",
        )
        *leading, height, width, channels = image.shape.as_list()
        for parameter, values in (("mean", means), ("std", deviations)):
            require(
                channels is None or len(values) in (1, channels),
                f"normalize: {parameter} has {len(values)} values, but the image has shape "
                f"{image.shape}. Pass one value, or one for each channel.",
            )
        sizes = [channels, height, width] if layout == "CHW" else [height, width, channels]
        return [(dtypes.float32, TensorShape([*leading, *sizes]))]

    inputs = [Input("image", image, allowed=PIXELS)]
    attrs = {"mean": means, "std": deviations, "layout": layout}
    return apply_op("NormalizeImage", inputs, infer, name=name, attrs=attrs).outputs[0]


define("NormalizeImage", is_own=True, batch_rule=rows_of_first)
