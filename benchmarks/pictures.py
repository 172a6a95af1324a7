"""Pictures for the data: sections of real photographs, and generated pictures."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.environments import python_of

NAMES = [
    "astronaut.png",
    "chelsea.png",
    "coffee.png",
    "motorcycle_left.png",
    "motorcycle_right.png",
    "rocket.jpg",
    "hubble_deep_field.jpg",
    "retina.jpg",
    "brick.png",
    "grass.png",
    "gravel.png",
]
"""Photographs from scikit-image. Only the package's files are used."""

CONTRAST = 60.0
FADING = 1.7
"""The factor by which contrast decreases each time the size of details is halved."""
NOISE = 5.0
"""Noise like a camera's."""


class MissingPhotographsError(Exception):
    """The photographs are not available."""


@cache
def photographs() -> list[Image.Image]:
    """Returns RGB photographs of several sizes.

    Raises:
        MissingPhotographsError: If the package that contains them can't be installed.
    """
    python = python_of("photographs")
    if python is None:
        raise MissingPhotographsError("the photographs of scikit-image could not be installed")
    [home] = Path(python).parent.parent.glob("lib/python*/site-packages/skimage/data")
    return [Image.open(home / name).convert("RGB") for name in NAMES]


def section(
    photo: Image.Image, rng: np.random.Generator, width: int, height: int, zoom: float
) -> NDArray[Any]:
    """Returns a random section of a photograph, or its mirror image.

    Args:
        photo: The photograph.
        rng: The generator that selects the section.
        width: The width of the result.
        height: The height of the result.
        zoom: How much larger the photograph should be than needed to fill the result.

    Returns:
        uint8, (height, width, 3), RGB.
    """
    scale = max(width / photo.width, height / photo.height) * zoom
    x = rng.uniform(0, photo.width - width / scale)
    y = rng.uniform(0, photo.height - height / scale)
    box = (x, y, x + width / scale, y + height / scale)
    pixels = np.asarray(photo.resize((width, height), Image.Resampling.BICUBIC, box))
    return pixels[:, ::-1] if rng.integers(2) else pixels


def picture(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Returns an RGB picture with large-scale colour gradients and a little fine detail."""
    pixels = rng.normal(128, NOISE, (height, width, 3)).astype(np.float32)
    size, strength = 2, CONTRAST
    while size < max(width, height):
        rows, columns = (min(size, length) for length in (height, width))
        noise = rng.normal(0, strength, (rows, columns, 3)).astype(np.float32)
        for channel in range(3):
            plane = Image.fromarray(noise[:, :, channel])
            pixels[:, :, channel] += plane.resize((width, height), Image.Resampling.BILINEAR)
        size, strength = size * 2, strength / FADING
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
