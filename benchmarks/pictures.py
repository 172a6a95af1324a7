"""Pictures out of a seed, as smooth and as detailed as photographs are."""

import numpy as np
from PIL import Image

CONTRAST = 60.0
FADING = 1.7
"""How often less contrast there is in detail of half of the size."""
NOISE = 5.0
"""As a camera's."""


def picture(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Returns an RGB picture: colours that change over the whole of it, and less in detail."""
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
