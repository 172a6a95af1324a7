import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def photo() -> Callable[..., np.ndarray]:
    """Makes pixels as a camera might: smooth, with an edge and a little noise."""

    def make(height: int, width: int, channels: int = 3) -> np.ndarray:
        y, x = np.mgrid[:height, :width]
        waves = [np.sin(x / (5 + c)) + np.cos(y / (7 - c)) + (x > y) for c in range(channels)]
        noise = np.random.default_rng(0).normal(0, 4, (height, width, channels))
        return np.clip(90 + 45 * np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)

    return make


@pytest.fixture(scope="session")
def saved() -> Callable[..., bytes]:
    """Writes pixels to an image file with Pillow."""

    def save(pixels: Any, format: str, mode: str | None = None, **options: Any) -> bytes:
        image = pixels
        if not isinstance(pixels, Image.Image):
            image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
        file = io.BytesIO()
        (image.convert(mode) if mode else image).save(file, format, **options)
        return file.getvalue()

    return save


@pytest.fixture(scope="session")
def pillow() -> Callable[..., np.ndarray]:
    """Reads an image file with Pillow, in a mode or as stored."""

    def read(file: bytes, mode: str | None = None) -> np.ndarray:
        image = Image.open(io.BytesIO(file))
        array = np.asarray(image.convert(mode) if mode else image)
        return array if array.ndim == 3 else array[..., np.newaxis]

    return read
