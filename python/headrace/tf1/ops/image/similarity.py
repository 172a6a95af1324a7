"""The structural similarity of images, at one or several scales.

Source: `tf.image.ssim` and `tf.image.ssim_multiscale` in TensorFlow 1.15; Wang et al., Image
quality assessment: from error visibility to structural similarity, 2004.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import broadcast_shapes
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.image.colour import convert_image_dtype
from headrace.ops.math.cast import cast

__all__ = ["ssim", "ssim_multiscale"]

_POWERS: Final = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


class _Filter(NamedTuple):
    """The comparison window and the formula's constants."""

    filter_size: int
    filter_sigma: float
    k1: float
    k2: float

    def weights(self) -> Array:
        """Returns the weights along one axis. Their sum is 1."""
        positions = np.arange(self.filter_size) - (self.filter_size - 1) / 2
        weights: Array = np.exp(-(positions**2) / (2 * self.filter_sigma**2))
        normalised: Array = weights / weights.sum()
        return normalised


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Returns the structural similarity of images.

    Args:
        img1: Images, (…, height, width, channels).
        img2: Images of the same size. Leading axes are broadcast.
        max_val: The difference between the largest and the smallest possible pixel value.
        filter_size: The height and width of the window in which pixels are compared.
        filter_sigma: The standard deviation of the Gaussian weights in the window.
        k1: The constant for the comparison of luminance.
        k2: The constant for the comparison of contrast.

    Returns:
        One float32 per image, which is 1 if the images are equal.

    Raises:
        InvalidArgumentError: At run time, if the images are smaller than the window.
        ValueError: If the shapes do not match, or have fewer than three axes.
    """
    window = _Filter(int(filter_size), float(filter_sigma), float(k1), float(k2))
    return _prepared("SSIM", (img1, img2), max_val, window, ())


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Returns the structural similarity of images at several scales: full size, half, quarter, ….

    Args:
        img1: Images, (…, height, width, channels).
        img2: Images of the same size. Leading axes are broadcast.
        max_val: The difference between the largest and the smallest possible pixel value.
        power_factors: The weight of each scale, starting with the full size.
        filter_size: The height and width of the window in which pixels are compared.
        filter_sigma: The standard deviation of the Gaussian weights in the window.
        k1: The constant for the comparison of luminance.
        k2: The constant for the comparison of contrast.

    Returns:
        A float32 for each image, from 0 to 1.

    Raises:
        InvalidArgumentError: At run time, if an image is smaller than the window at one of the
            scales.
        ValueError: If the shapes do not match, or have fewer than three axes.
    """
    window = _Filter(int(filter_size), float(filter_sigma), float(k1), float(k2))
    powers = [float(power) for power in power_factors]
    return _prepared("MS-SSIM", (img1, img2), max_val, window, powers)


def _prepared(
    scope: str,
    images: tuple[TensorLike, TensorLike],
    max_val: Any,
    window: _Filter,
    powers: Sequence[float],
) -> Tensor:
    """Converts images to floats and adds the operation."""
    with name_scope(None, scope, list(images)):
        first = convert_to_tensor(images[0], name="img1")
        second = convert_to_tensor(images[1], name="img2")
        peak = convert_image_dtype(cast(max_val, first.dtype.base_dtype), dtypes.float32)
        _check(first.shape, second.shape, window.filter_size, len(powers) or 1)
        first = convert_image_dtype(first, dtypes.float32)
        second = convert_image_dtype(second, dtypes.float32)
        return structural_similarity(first, second, peak, *window, power_factors=powers)


def structural_similarity(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    power_factors: Sequence[float] = (),
    name: str | None = None,
) -> Tensor:
    """Adds the `ssim` operation, or the `ssim_multiscale` operation if powers are passed."""
    window = _Filter(filter_size, filter_sigma, k1, k2)

    def infer(a: Tensor, b: Tensor, _: Tensor) -> Outputs:
        if a.shape.rank is None or b.shape.rank is None:
            return [(dtypes.float32, unknown_shape())]
        return [(dtypes.float32, broadcast_shapes(a.shape[:-3], b.shape[:-3]))]

    def kernel(first: Array, second: Array, peak: Array) -> Array:
        product: Any = 1.0
        for number, power in enumerate(power_factors or (None,)):
            if number:
                first, second = _halved(first), _halved(second)
            similarity, contrast = _compare(first, second, peak, window)
            if power is None:
                product = similarity
            else:
                is_last = number == len(power_factors) - 1
                product = product * np.maximum(similarity if is_last else contrast, 0) ** power
        result: Array = product.mean(-1)
        return result

    inputs = [
        Input("img1", img1, dtypes.float32),
        Input("img2", img2, dtypes.float32),
        Input("max_val", max_val, dtypes.float32),
    ]
    attrs = {**window._asdict(), "power_factors": list(power_factors)}
    op = apply_op("StructuralSimilarity", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _check(first: TensorShape, second: TensorShape, window: int, num_scales: int) -> None:
    first, second = first.with_rank_at_least(3), second.with_rank_at_least(3)
    first[-3:].assert_is_compatible_with(second[-3:])
    for shape in (first, second):
        sizes = [] if shape.rank is None else shape.as_list()[-3:-1]
        present = [math.ceil(size / 2 ** (num_scales - 1)) for size in sizes if size is not None]
        if present and min(present) < window:
            raise ValueError(_too_small(tuple(sizes), window))
    if first.rank is None or second.rank is None:
        return
    for a, b in zip(first.as_list()[-4::-1], second.as_list()[-4::-1], strict=False):
        if a is not None and b is not None and a != b and 1 not in (a, b):
            raise ValueError(f"Two images are not compatible: {first} and {second}")


def _compare(first: Array, second: Array, peak: Array, window: _Filter) -> tuple[Array, Array]:
    """Returns the similarity and contrast-structure term of each channel in double precision."""
    if first.ndim < 3 or second.ndim < 3 or first.shape[-3:] != second.shape[-3:]:
        fail(f"Incompatible shapes: {bracketed(first.shape)} vs. {bracketed(second.shape)}")
    if min(first.shape[-3:-1]) < window.filter_size:
        fail(f"assertion failed: {_too_small(first.shape[-3:-1], window.filter_size)}")
    a, b = first.astype(np.float64), second.astype(np.float64)
    largest = float(peak)
    c1, c2 = (window.k1 * largest) ** 2, (window.k2 * largest) ** 2
    weights = window.weights()
    mean_a, mean_b = _filtered(a, weights), _filtered(b, weights)
    means = 2 * mean_a * mean_b, mean_a**2 + mean_b**2
    luminance = (means[0] + c1) / (means[1] + c1)
    products = 2 * _filtered(a * b, weights), _filtered(a**2 + b**2, weights)
    contrast = (products[0] - means[0] + c2) / (products[1] - means[1] + c2)
    return (luminance * contrast).mean((-3, -2)), contrast.mean((-3, -2))


def _too_small(sizes: tuple[int | None, ...], window: int) -> str:
    return (
        f"images with height and width {list(sizes)} are too small: at the smallest scale, both "
        f"must be at least filter_size ({window}). Use a smaller filter_size or fewer "
        "power_factors."
    )


def _filtered(images: Array, weights: Array) -> Array:
    """Returns the weighted means of all complete windows."""
    for axis in (-3, -2):
        count = images.shape[axis] - len(weights) + 1
        rows = np.moveaxis(images, axis, 0)
        total = sum(weight * rows[start : start + count] for start, weight in enumerate(weights))
        images = np.moveaxis(np.asarray(total), 0, axis)
    return images


def _halved(images: Array) -> Array:
    """Returns the means of 2 x 2 pixels. A last odd row or column counts twice."""
    height, width = images.shape[-3:-1]
    edges = [(0, 0)] * (images.ndim - 3) + [(0, height % 2), (0, width % 2), (0, 0)]
    padded = np.pad(images, edges, mode="symmetric")
    shape = *images.shape[:-3], math.ceil(height / 2), 2, math.ceil(width / 2), 2, images.shape[-1]
    halves: Array = padded.reshape(shape).mean((-4, -2))
    return halves


define("StructuralSimilarity")
