"""Augments images with Pillow, which releases the GIL while it decodes and resizes."""

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from callers import compare
from pictures import write
from PIL import Image, ImageEnhance, ImageOps

import headrace as hr


def changed(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Decodes and crops an image, and changes its colours: uint8, (224, 224, 3)."""
    with Image.open(io.BytesIO(example["data"])) as file:
        image = file.convert("RGB")
    side = int(rng.integers(120, min(image.size) + 1))
    left, top = (int(rng.integers(0, length - side + 1)) for length in image.size)
    box = (left, top, left + side, top + side)
    image = image.resize((224, 224), Image.Resampling.BILINEAR, box=box)
    image = ImageEnhance.Color(image).enhance(rng.uniform(0.6, 1.4))
    if rng.random() < 0.5:
        image = ImageOps.mirror(image)
    return {"image": np.asarray(image), "label": example["label"]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 256)
        pictures = hr.image_folder(folder).shuffle(seed=1)
        compare(lambda callers: pictures.map(changed, seed=7, **callers).batch(32), __doc__)
