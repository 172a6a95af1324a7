"""Digits in TFRecords as a pipeline."""

import headrace as hr
from benchmarks.pipelines import consume

BATCH_SIZE = 128
WINDOW = 10_000
NUM_PIXELS = 784


@hr.native
def decode(example):
    pixels = hr.ops.reshape(hr.ops.decode_raw(example["image"], "uint8"), [NUM_PIXELS])
    image = hr.ops.cast(pixels, "float32") * (1.0 / 255) - 0.5
    return {"image": image, "label": example["label"]}


def examples(files, num_epochs):
    """A window holds records; they are parsed and decoded when their batch is made."""
    return (
        hr.tfrecords(files)
        .parse({"image": bytes, "label": int})
        .map(decode)
        .shuffle(window=WINDOW)
        .epochs(num_epochs)
        .batch(BATCH_SIZE)
    )


def batches(task, files, num_epochs):
    for batch in examples(files, num_epochs):
        yield batch["image"], batch["label"]


if __name__ == "__main__":
    consume.run(batches)
