"""Augments images with OpenCV, which releases the GIL, so threads help.

By default, OpenCV starts one thread per core. With several calling threads, that is too many, so
this program calls `cv2.setNumThreads(1)`. In worker processes, OpenCV uses one thread anyway. Needs
opencv-python-headless.
"""

import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from callers import compare
from pictures import write

import headrace as hr

cv2.setNumThreads(1)


def changed(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Decodes, rotates, blurs and crops an image: uint8, (224, 224, 3)."""
    image = cv2.imdecode(np.frombuffer(example["data"], np.uint8), cv2.IMREAD_COLOR_RGB)
    height, width = image.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), rng.uniform(-15, 15), 1.1)
    image = cv2.warpAffine(image, turn, (width, height), flags=cv2.INTER_LINEAR)
    image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.5, 2))
    top, left = rng.integers(0, (height - 200, width - 200))
    image = cv2.resize(image[top : top + 200, left : left + 200], (224, 224))
    if rng.random() < 0.5:
        image = cv2.flip(image, 1)
    return {"image": image, "label": example["label"]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 256)
        pictures = hr.image_folder(folder).shuffle(seed=1)
        compare(lambda callers: pictures.map(changed, seed=7, **callers).batch(32), __doc__)
