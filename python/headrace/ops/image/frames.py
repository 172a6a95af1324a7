"""Checks image arguments while the graph is built.

An image has the shape (height, width, channels); a batch has one more axis in front. Unknown sizes
are checked when the operation runs, with the same error messages.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard, overload

import numpy as np

from headrace.core.shapes import Dimension, TensorShape
from headrace.graph import SupportsTensor, Tensor, TensorLike
from headrace.ops.framework.conversion import convert_to_tensor, is_tensor

__all__ = ["Size", "is_number", "known_sizes", "require", "resized_shape", "to_image"]

# A height, a width or an offset: a number or a scalar tensor.
Size: TypeAlias = int | np.integer[Any] | Dimension | Tensor | SupportsTensor


def to_image(image: TensorLike, name: str = "image") -> Tensor:
    """Converts an argument to a tensor and checks that it can be an image or a batch of images.

    Raises:
        ValueError: If the rank is neither 3 nor 4, or the image has no pixels.
    """
    tensor = convert_to_tensor(image, name=name)
    shape = tensor.shape
    if shape.rank is None:
        return tensor
    if shape.rank < 3:
        raise ValueError(f"'image' (shape {shape}) must be at least three-dimensional.")
    if shape.rank > 4:
        raise ValueError(f"'image' (shape {shape}) must have either 3 or 4 dimensions.")
    if 0 in shape.as_list()[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {shape}")
    return tensor


def known_sizes(image: Tensor) -> tuple[int | None, int | None]:
    """Returns the height and width, with None for an unknown size."""
    if image.shape.rank is None:
        return None, None
    height, width, _ = image.shape.as_list()[-3:]
    return height, width


def resized_shape(image: Tensor, height: Size | None, width: Size | None) -> TensorShape:
    """Returns the static shape of an image or a batch with a new size.

    Args:
        image: The old image. If the rank is unknown, it counts as a single image.
        height: The new height. It can be a tensor, or None if it is unknown.
        width: The new width.
    """
    sizes = [number if is_number(number) else None for number in (height, width)]
    if image.shape.rank is None:
        return TensorShape([*sizes, None])
    dims = image.shape.as_list()
    return TensorShape([*dims[:-3], *sizes, dims[-1]])


@overload
def is_number(value: Size | None) -> TypeGuard[int | np.integer[Any] | Dimension]: ...


@overload
def is_number(value: float | Tensor | SupportsTensor) -> TypeGuard[float]: ...


def is_number(value: object) -> bool:
    """Returns whether a value is a number rather than a tensor or None."""
    return value is not None and not is_tensor(value)


def require(condition: bool | None, text: str) -> None:
    """Raises ValueError if a condition is False. None means unknown and does not raise."""
    if condition is not None and not condition:
        raise ValueError(text)
