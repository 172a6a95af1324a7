"""headrace: a folder of photos and a native function."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks import taking
from benchmarks.imagenet_photos import work


@hr.native
def augmented(example: Any) -> Any:
    """Returns a random part of a photo, and its label."""
    image = hr.ops.random_resized_crop(example["data"], work.SIDE, dct_method="fast")
    image = hr.ops.random_horizontal_flip(image)
    return {
        "image": hr.ops.normalize(image, work.MEAN, work.DEVIATION),
        "label": example["label"],
    }


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    photos = hr.image_folder(home)
    classes = [int(name) for name in photos.classes]
    shuffled = photos.shuffle(seed=1).epochs(num_epochs).map(augmented, seed=2)
    for batch in shuffled.batch(work.BATCH_SIZE):
        yield batch["image"], [classes[label] for label in batch["label"].tolist()]


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
