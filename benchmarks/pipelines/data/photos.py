"""A folder of JPEG photos, 640x480, about 98 KB each, in a directory for each class."""

import numpy as np
from PIL import Image

from benchmarks.pipelines import checksums, dataset
from benchmarks.pipelines.data.photographs import photographs, section

NUM_PARTS = 4
PART_COUNT = 250
NUM_CLASSES = 10
NOISE = 5.0
"""As a camera's. It makes up for the detail that an enlarged section lacks."""


def make() -> None:
    """Writes 1,000 photos."""
    rng = np.random.default_rng(3)
    home = dataset.ROOT / "photos"
    parts = []
    for number in range(NUM_PARTS):
        names, label_sum, pixel_sum = [], 0, 0
        for label in rng.integers(0, NUM_CLASSES, PART_COUNT).tolist():
            photo = _photo(rng)
            name = f"{label:02}/{number}-{len(names):04}.jpg"
            (home / name).parent.mkdir(exist_ok=True)
            photo.save(home / name, quality=int(rng.integers(89, 95)))
            small = np.asarray(photo.resize((224, 224), Image.Resampling.BILINEAR))
            names.append(name)
            label_sum += label
            pixel_sum += int(small[checksums.ROWS, checksums.ROWS].sum(dtype=np.int64))
        parts.append(dataset.Part(names, PART_COUNT, [label_sum, pixel_sum]))
    dataset.write("photos", parts)


def _photo(rng: np.random.Generator) -> Image.Image:
    original = photographs()[rng.integers(len(photographs()))]
    pixels = section(original, rng, 640, 480, rng.uniform(1.0, 1.5)).astype(np.float64)
    pixels = (pixels - 128) * rng.uniform(0.85, 1.15) + 128 + rng.uniform(-15, 15)
    pixels += rng.normal(0.0, NOISE, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
