"""Real digits as TFRecords of `Example`s: MNIST's, 28x28, with a strength of their own each."""

import numpy as np

from benchmarks.pipelines import checksums, dataset
from headrace.demo.data import digits_path, load_digits
from headrace.tf1 import python_io, train

NUM_PARTS = 8
PART_COUNT = 7_500


def make() -> None:
    """Writes 60,000 digits into 8 files."""
    images, labels = load_digits(digits_path())
    rng = np.random.default_rng(1)
    home = dataset.ROOT / "examples"
    parts = []
    for number in range(NUM_PARTS):
        rows = rng.integers(0, len(images), PART_COUNT)
        strength = rng.integers(180, 256, (PART_COUNT, 1))
        pixels = (images[rows] * strength // 255).astype(np.uint8)
        name = f"digits-{number}.tfrecord"
        with python_io.TFRecordWriter(str(home / name)) as writer:
            for image, label in zip(pixels, labels[rows], strict=True):
                writer.write(_example(image.tobytes(), int(label)))
        sums = [int(labels[rows].sum()), int(pixels[:, checksums.PIXELS].sum(dtype=np.int64))]
        parts.append(dataset.Part([name], PART_COUNT, sums))
    dataset.write("examples", parts)


def _example(image: bytes, label: int) -> bytes:
    feature = {
        "image": train.Feature(bytes_list=train.BytesList(value=[image])),
        "label": train.Feature(int64_list=train.Int64List(value=[label])),
    }
    example = train.Example(features=train.Features(feature=feature))
    return bytes(example.SerializeToString(deterministic=True))
