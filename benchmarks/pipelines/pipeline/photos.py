"""A folder of JPEG photos as a pipeline."""

from pathlib import Path

import numpy as np

import headrace as hr
from benchmarks.pipelines import consume

BATCH_SIZE = 64


@hr.native
def decode(example):
    image = hr.ops.decode_jpeg(example["data"], channels=3, dct_method="fast")
    image = hr.ops.cast(hr.ops.resize(image, [224, 224]), "uint8")
    return {"image": image, "path": example["path"]}


def photos(files, num_epochs):
    shuffled = hr.files(files).shuffle(window=1_000).epochs(num_epochs)
    return shuffled.map(decode).batch(BATCH_SIZE)


def batches(task, files, num_epochs):
    for batch in photos(files, num_epochs):
        labels = np.array([int(Path(path).parent.name) for path in batch["path"]])
        yield batch["image"], labels


if __name__ == "__main__":
    consume.run(batches)
