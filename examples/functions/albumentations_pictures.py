"""Augments images with albumentations.

A transform has its own random generators, which are seeded for each example. If threads shared a
transform, one thread could reseed it while another one uses it. So each thread has its own
transform. Needs albumentations.
"""

import os
import tempfile
from collections import defaultdict
from pathlib import Path
from threading import get_ident
from typing import Any

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # Don't look for updates.

import albumentations
import cv2
import numpy as np
from callers import compare
from pictures import write

import headrace as hr

cv2.setNumThreads(1)  # The threads that call the transform already use the cores.


def transform() -> albumentations.Compose:
    """Creates the transform of a thread."""
    return albumentations.Compose(
        [
            albumentations.RandomResizedCrop((224, 224)),
            albumentations.HorizontalFlip(),
            albumentations.RandomBrightnessContrast(p=0.8),
            albumentations.GaussianBlur(p=0.2),
            albumentations.Normalize(),
        ]
    )


transforms: dict[int, albumentations.Compose] = defaultdict(transform)


def changed(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Decodes and augments an image: float32, (224, 224, 3)."""
    image = cv2.imdecode(np.frombuffer(example["data"], np.uint8), cv2.IMREAD_COLOR_RGB)
    own = transforms[get_ident()]
    own.set_random_seed(int(rng.integers(2**32)))
    return {"image": own(image=image)["image"], "label": example["label"]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 256)
        pictures = hr.image_folder(folder).shuffle(seed=1)
        compare(lambda callers: pictures.map(changed, seed=7, **callers).batch(32), __doc__)
