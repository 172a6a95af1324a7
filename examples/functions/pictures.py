"""Writes JPEG files for the other examples in this folder, with one folder per class."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import headrace as hr

CLASSES = ("horizontal", "vertical")


@hr.native
def encoded(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Returns an image as a JPEG file."""
    return {"data": hr.ops.encode_jpeg(example["image"])}


def picture(number: int, height: int = 240, width: int = 320) -> NDArray[np.uint8]:
    """Returns coloured waves, horizontal for even numbers: uint8, (height, width, 3), RGB."""
    rng = np.random.default_rng(number)
    ramps = np.linspace(0, 1, height)[:, None], np.linspace(0, 1, width)[None, :]
    along, across = ramps if number % 2 == 0 else ramps[::-1]
    waves = np.sin(rng.uniform(20, 40) * along + np.sin(6 * across + rng.uniform(0, 6)))
    colour = rng.uniform(60, 120, 3)
    return (128 + waves[..., None] * colour).clip(0, 255).astype(np.uint8)


def write(folder: Path, count: int) -> None:
    """Writes images, unless they exist."""
    for number in range(count):
        path = folder / CLASSES[number % 2] / f"{number:04}.jpg"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded({"image": picture(number)})["data"])
