"""Checks for arguments that several augmentations share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TypeAlias, TypeGuard

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike
from headrace.ops.framework.arguments import Outputs
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.image.frames import require

__all__ = [
    "GREY_OR_RGB",
    "LAYOUTS",
    "PIXELS",
    "Pair",
    "check_fill",
    "is_real",
    "known_image",
    "layout_axes",
    "one_image",
    "probability",
    "range_of",
    "same_image",
    "size_of",
    "values_of",
]

# One number for both sides, or two.
Pair: TypeAlias = int | Sequence[int]

# The types of images whose pixels are moved or interpolated.
PIXELS = (dtypes.uint8, dtypes.uint16, dtypes.float32)
# How many channels an image may have if its colours are changed.
GREY_OR_RGB = (1, 3)

# The height, width and channel axes.
LAYOUTS = {"HWC": (0, 1, 2), "CHW": (1, 2, 0)}


def one_image(
    what: str,
    image: TensorLike,
    types: Sequence[DType] = (dtypes.uint8,),
    channels: Sequence[int] = (),
) -> Tensor:
    """Converts an argument to a tensor and checks that it can be one image.

    Args:
        what: Name of the function, for error messages.
        image: The image. Its rank may be unknown.
        types: The allowed types.
        channels: The allowed numbers of channels. Empty if any number is allowed.

    Raises:
        TypeError: If the image has the wrong type.
        ValueError: If the image has the wrong rank, or is known to have the wrong number of
            channels.
    """
    tensor = convert_to_tensor(image, name="image")
    dtype = tensor.dtype.base_dtype
    if dtype not in types:
        names = " or ".join(item.name for item in types)
        remedy = (
            f"Call {what} before normalize, on the image that decode_image returns."
            if dtype.is_floating
            else f"Convert it with convert_image_dtype(image, {types[0].name!r}), or decode it to "
            "this type."
        )
        raise TypeError(f"{what}: the image has type {dtype.name}, expected {names}. {remedy}")
    rank = tensor.shape.rank
    require(
        None if rank is None else rank == 3,
        f"{what}: the image has shape {tensor.shape}, expected one image (height, width, "
        f"channels). Call {what} on each image, before batch.",
    )
    depth = known_image(tensor).as_list()[2]
    require(
        not channels or depth is None or depth in channels,
        f"{what}: the image has {depth} channels, expected {' or '.join(map(str, channels))}. "
        "Decode with channels=3, or reorder the axes to (height, width, channels).",
    )
    return tensor


def check_fill(what: str, image: Tensor, name: str, values: Sequence[float]) -> None:
    """Raises ValueError if an integer image cannot hold the fill values."""
    dtype = image.dtype.base_dtype
    most = {dtypes.uint8: 255, dtypes.uint16: 65_535}.get(dtype)
    require(
        most is None or all(0 <= value <= most for value in values),
        f"{what}: {name} is {_shown(values)}, expected a number from 0 to {most} for {dtype.name}.",
    )


def _shown(values: Sequence[float]) -> str:
    numbers = [f"{value:g}" for value in values]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def same_image(image: Tensor, *_: Tensor) -> Outputs:
    """Infers an output with the type and size of the first input."""
    return [(image.dtype.base_dtype, known_image(image))]


def known_image(image: Tensor) -> TensorShape:
    """Returns the shape of one image, with unknown sizes if the rank is unknown."""
    return image.shape if image.shape.rank == 3 else TensorShape([None, None, None])


def layout_axes(what: str, layout: str) -> tuple[int, int, int]:
    """Returns the height, width and channel axes.

    Raises:
        ValueError: If the layout does not exist.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"{what}: layout is {layout!r}, expected 'HWC' or 'CHW'.")
    return LAYOUTS[layout]


def is_real(value: object) -> TypeGuard[float]:
    """Returns whether a value is a number, not a sequence of numbers."""
    return isinstance(value, Real)


def size_of(what: str, name: str, value: Pair, is_odd: bool = False) -> tuple[int, int]:
    """Returns two positive integers.

    Raises:
        ValueError: If the value is anything else.
    """
    numbers = _listed(value) * (2 if is_real(value) else 1)
    are_sizes = len(numbers) == 2 and all(
        isinstance(number, Integral) and not isinstance(number, bool) for number in numbers
    )
    if not are_sizes or any(number <= 0 or (is_odd and number % 2 == 0) for number in numbers):
        kind = "odd " if is_odd else ""
        raise ValueError(
            f"{what}: {name} is {value!r}, expected a positive {kind}integer, or two of them."
        )
    return int(numbers[0]), int(numbers[1])


def probability(what: str, value: float) -> float:
    """Returns a number from 0 to 1.

    Raises:
        ValueError: If the value is anything else.
    """
    if not is_real(value) or not 0 <= value <= 1:
        raise ValueError(f"{what}: p is {value!r}, expected a number from 0 to 1.")
    return float(value)


def range_of(
    what: str,
    name: str,
    value: float | Sequence[float],
    holds: Callable[[float], bool],
    expected: str,
) -> tuple[float, float]:
    """Returns the minimum and maximum of a range.

    Args:
        what: Name of the function, for error messages.
        name: Name of the argument, for error messages.
        value: Two numbers, or one for both.
        holds: A function that returns whether a number is allowed.
        expected: A description of the allowed numbers, for example "numbers from 0 to 1".

    Raises:
        ValueError: If the numbers are not allowed, or in the wrong order.
    """
    numbers = _listed(value) * (2 if is_real(value) else 1)
    are_numbers = len(numbers) == 2 and all(
        _is_finite(number) and holds(number) for number in numbers
    )
    if not are_numbers or numbers[0] > numbers[1]:
        raise ValueError(
            f"{what}: {name} is {value!r}, expected two {expected}, the smaller one first."
        )
    return float(numbers[0]), float(numbers[1])


def values_of(what: str, name: str, value: float | Sequence[float] | str) -> list[float]:
    """Returns one number, or one for each channel.

    Raises:
        ValueError: If the value is anything else.
    """
    numbers = _listed(value)
    if not numbers or not all(_is_finite(number) for number in numbers):
        raise ValueError(
            f"{what}: {name} is {value!r}, expected a number, or one for each channel."
        )
    return [float(number) for number in numbers]


def _listed(value: float | Sequence[float] | str) -> list[float]:
    if is_real(value):
        return [value]
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(value)
    return []


def _is_finite(number: object) -> bool:
    return is_real(number) and math.isfinite(number)
