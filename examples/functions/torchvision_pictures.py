"""Augments images with torchvision's `v2` transforms on the CPU.

The transforms use PyTorch's global generator, which the training loop uses too. With
`hr.torch_generator`, they use the example's generator instead. Needs PyTorch and torchvision.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from callers import compare
from pictures import write
from torchvision.transforms import v2

import headrace as hr

torch.set_num_threads(1)  # The threads that call the transform already use the cores.
transform = v2.Compose(
    [
        v2.RandomResizedCrop(224, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.RandAugment(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)


@hr.native
def decoded(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Decodes an image without Python: uint8, (height, width, 3)."""
    return {"image": hr.ops.decode_jpeg(example["data"], channels=3), "label": example["label"]}


def changed(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Augments an image: float32, (3, 224, 224)."""
    image = torch.tensor(example["image"]).permute(2, 0, 1)
    with hr.torch_generator(rng):
        image = transform(image)
    return {"image": image.numpy(), "label": example["label"]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 256)
        pictures = hr.image_folder(folder).shuffle(seed=1).map(decoded)
        compare(lambda callers: pictures.map(changed, seed=7, **callers).batch(32), __doc__)
