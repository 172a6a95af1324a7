"""Real photographs, which scikit-image ships; only its files are used."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers.environments import python_of
from PIL import Image

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


class MissingSourceError(Exception):
    """The material of the data cannot be had."""


@cache
def photographs() -> list[Image.Image]:
    """Returns the photographs, RGB, of several sizes.

    Raises:
        MissingSourceError: The package that has them cannot be installed.
    """
    python = python_of("photographs")
    if python is None:
        raise MissingSourceError("the photographs of scikit-image could not be installed")
    [home] = Path(python).parent.parent.glob("lib/python*/site-packages/skimage/data")
    return [Image.open(home / name).convert("RGB") for name in NAMES]


def section(
    photo: Image.Image, rng: np.random.Generator, width: int, height: int, zoom: float
) -> NDArray[Any]:
    """Returns a random section of a photograph, or its mirror image.

    Args:
        photo: The photograph.
        rng: Chooses the section.
        width: Of the result.
        height: Of the result.
        zoom: How much larger the photograph should be than is needed to fill the result.

    Returns:
        uint8, (height, width, 3), RGB.
    """
    scale = max(width / photo.width, height / photo.height) * zoom
    x = rng.uniform(0, photo.width - width / scale)
    y = rng.uniform(0, photo.height - height / scale)
    box = (x, y, x + width / scale, y + height / scale)
    pixels = np.asarray(photo.resize((width, height), Image.Resampling.BICUBIC, box))
    return pixels[:, ::-1] if rng.integers(2) else pixels
