"""Small images in the binary files of CIFAR-10: a label and 3x32x32 pixels, out of photographs."""

import numpy as np

from benchmarks.pipelines import dataset
from benchmarks.pipelines.data.photographs import photographs

NUM_PARTS = 5
PART_COUNT = 10_000


def make() -> None:
    """Writes 50,000 images into 5 files. Labels go up to 255, so that their sums say more."""
    rng = np.random.default_rng(2)
    photos = [np.asarray(photo.reduce(4)) for photo in photographs()]
    parts = []
    for number in range(NUM_PARTS):
        records = np.empty((PART_COUNT, 3_073), np.uint8)
        records[:, 0] = rng.integers(0, 256, PART_COUNT)
        for record in records:
            photo = photos[rng.integers(len(photos))]
            y, x = rng.integers(0, np.array(photo.shape[:2]) - 31)
            record[1:] = photo[y : y + 32, x : x + 32].transpose(2, 0, 1).ravel()
        name = f"images-{number}.bin"
        records.tofile(dataset.ROOT / "images" / name)
        labels = records[:, 0].astype(np.int64)
        middle = records[:, 1:].reshape(-1, 3, 32, 32)[:, :, 16, 16].sum(dtype=np.int64)
        sums = [int(labels.sum()), int(labels @ labels), int(middle)]
        parts.append(dataset.Part([name], PART_COUNT, sums))
    dataset.write("images", parts)
