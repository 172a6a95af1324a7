from collections.abc import Callable

import numpy as np
import pytest


@pytest.fixture(scope="session")
def photo() -> Callable[..., np.ndarray]:
    """Returns camera-like pixels: smooth, with an edge and a little noise."""

    def make(height: int = 40, width: int = 56, channels: int = 3) -> np.ndarray:
        y, x = np.mgrid[:height, :width]
        waves = [np.sin(x / (5 + c)) + np.cos(y / (7 - c)) + (x > y) for c in range(channels)]
        noise = np.random.default_rng(0).normal(0, 4, (height, width, channels))
        return np.clip(90 + 45 * np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)

    return make
