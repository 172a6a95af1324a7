"""Pixels around a mean, as networks take them.

Source: `torchvision.transforms.v2.ToDtype` and `Normalize`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.augment.arguments import layout_axes, values_of
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
    """Subtracts a mean and divides by a standard deviation, and puts the channels in front.

    uint8 is divided by 255 first, so `mean` and `std` are for pixels from 0 to 1; float32 is taken
    as it is. The values are those of torchvision's `ToDtype(float32, scale=True)` and `Normalize`,
    to 1e-6 for pixels and deviations around 1.

    Args:
        image: uint8 or float32, (height, width, channels), or with any axes in front of these.
        mean: One number for each channel, or one for all.
        std: The same, not 0.
        layout: The axes of the result: "CHW" for channels before height and width, as PyTorch
            wants them, or "HWC" for the order of `image`.
        name: Name of the operation.

    Returns:
        float32, (channels, height, width), or (height, width, channels). A run with another number
        of channels than of means ends with InvalidArgumentError.

    Raises:
        TypeError: If the image has another type.
        ValueError: If a deviation is 0, a layout is unknown, or sizes do not fit.

    Source: `torchvision.transforms.v2.Normalize`.
    """
    layout_axes("normalize", layout)
    means = values_of("normalize", "mean", mean)
    deviations = values_of("normalize", "std", std)
    require(
        all(deviation != 0 for deviation in deviations),
        f"normalize: std is {std!r}, expected no number that is 0.",
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
                f"normalize: {parameter} has {len(values)} values and the image has shape "
                f"{image.shape}, expected one value, or one for each channel.",
            )
        sizes = [channels, height, width] if layout == "CHW" else [height, width, channels]
        return [(dtypes.float32, TensorShape([*leading, *sizes]))]

    inputs = [Input("image", image, allowed=(dtypes.uint8, dtypes.float32))]
    attrs = {"mean": means, "std": deviations, "layout": layout}
    return apply_op("NormalizeImage", inputs, infer, name=name, attrs=attrs).outputs[0]


define("NormalizeImage", is_own=True, batch_rule=rows_of_first)
