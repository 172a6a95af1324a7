"""Models of image augmentations in NumPy, written from torchvision's documentation."""

import math
from typing import Any

import numpy as np

import headrace as hr

Image = np.ndarray[Any, np.dtype[Any]]


def computed(function: Any, seed: int | None = None, **components: Any) -> Any:
    """Runs a native function of one example, and returns its only result."""
    rows = hr.arrays({name: _row(value) for name, value in components.items()})
    native = hr.native(lambda example: {"y": function(**example)})
    [example] = rows.map(native, seed=seed)
    return example["y"]


def drawn(function: Any, **components: Any) -> Any:
    """Runs a native function that draws random numbers, as `computed` does."""
    return computed(function, seed=1, **components)


def _row(value: Any) -> Image:
    row = np.empty(1, object)
    row[0] = value
    return row if isinstance(value, bytes) else np.asarray(value)[None]


def greys(image: Image) -> Image:
    """Returns the grey values of pixels, truncated to integers."""
    if image.shape[2] == 1:
        return image[..., 0].astype(np.float64)
    return np.floor(image @ np.array([0.2989, 0.587, 0.114]))


def blended(image: Image, other: Image | float, factor: float) -> Image:
    """Scales the difference between pixels and other pixels by a factor."""
    mixed = image.astype(np.float64) * factor + np.asarray(other, np.float64) * (1 - factor)
    return np.clip(mixed, 0, 255).astype(np.uint8)


def contrasted(image: Image, factor: float) -> Image:
    return blended(image, greys(image).mean(), factor)


def saturated(image: Image, factor: float) -> Image:
    return image if image.shape[2] == 1 else blended(image, greys(image)[..., None], factor)


def sharpened(image: Image, factor: float) -> Image:
    """Moves pixels away from the weighted mean of their 3x3 neighbourhood, except at the edge."""
    pixels = image.astype(np.float64)
    height, width = image.shape[:2]
    mean = 4 * pixels[1:-1, 1:-1]
    for y in range(3):
        for x in range(3):
            mean = mean + pixels[y : height - 2 + y, x : width - 2 + x]
    sharp = image.copy()
    sharp[1:-1, 1:-1] = blended(pixels[1:-1, 1:-1], np.rint(mean / 13), factor)
    return sharp


def stretched(image: Image) -> Image:
    low, high = image.min((0, 1)), image.max((0, 1))
    scale = np.float32(1 / 255) * (high - low).astype(np.float32)
    return np.where(low == high, image, (image - low) / np.where(low == high, 1, scale)).astype(
        np.uint8
    )


def equalized(image: Image) -> Image:
    result = image.copy()
    for channel in range(image.shape[2]):
        values = image[..., channel]
        counts = np.bincount(values.ravel(), minlength=256)
        step = (counts.sum() - counts[values.max()]) // 255
        if step:
            below = np.cumsum(counts) - counts
            table = np.minimum((below + step // 2) // step, 255).astype(np.uint8)
            result[..., channel] = table[values]
    return result


def warped(image: Image, matrix: Any, fill: float = 0) -> tuple[Image, Image]:
    """Takes each pixel from the nearest pixel to a position, given by a map relative to the centre.

    Returns:
        The image, and where positions are too close to the middle between two pixels to decide.
    """
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width]
    positions = np.stack([x - (width - 1) / 2, y - (height - 1) / 2, np.ones_like(x)], -1)
    x, y = np.moveaxis(positions @ np.asarray(matrix).T, -1, 0)
    x, y = x + (width - 1) / 2, y + (height - 1) / 2
    column, row = np.rint(x).astype(int), np.rint(y).astype(int)
    is_inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    nearest = image[row.clip(0, height - 1), column.clip(0, width - 1)]
    is_near = np.zeros(x.shape, bool)
    for position in (x, y):
        is_near |= abs(position - np.floor(position) - 0.5) < 1e-3
    return np.where(is_inside[..., None], nearest, np.uint8(fill)), is_near


def resized(image: Image, height: int, width: int) -> Image:
    """Resizes bilinearly with antialiasing, without rounding."""
    rows, columns = _weights(image.shape[0], height), _weights(image.shape[1], width)
    return np.einsum("ay,yxc,bx->abc", rows, image.astype(np.float64), columns)


def _weights(size: int, new_size: int) -> Image:
    scale = size / new_size
    reach = max(scale, 1)
    centres = (np.arange(new_size) + 0.5) * scale
    weights = 1 - abs(np.arange(size) + 0.5 - centres[:, None]) / reach
    weights = weights.clip(0)
    return weights / weights.sum(1, keepdims=True)


def region(
    height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float], draws: Any
) -> tuple[int, int, int, int] | None:
    """Returns row, column, height and width of a random part; None if none fits.

    The ratio is the width divided by the height.
    """
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for share, shape in np.asarray(draws[:20], np.float64).reshape(10, 2):
        area = height * width * (scale[0] + share * (scale[1] - scale[0]))
        aspect = math.exp(low + shape * (high - low))
        part = round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))
        if 0 < part[0] <= height and 0 < part[1] <= width:
            row = int(float(draws[20]) * (height - part[0] + 1))
            column = int(float(draws[21]) * (width - part[1] + 1))
            return row, column, *part
    return None
