"""CIFAR's binary files as a pipeline."""

import headrace as hr
from benchmarks.pipelines import consume

BATCH_SIZE = 128
WINDOW = 10_000
SIZE = 32
CROP = 24
RECORD_BYTES = 1 + 3 * SIZE * SIZE


@hr.native
def decode(example):
    record = hr.ops.reshape(hr.ops.decode_raw(example["record"], "uint8"), [RECORD_BYTES])
    planes = hr.ops.reshape(record[1:], [3, SIZE, SIZE])
    image = hr.ops.transpose(planes, [1, 2, 0])
    return {"image": image, "label": hr.ops.cast(record[0], "int32")}


@hr.native
def distort(example):
    image = hr.ops.random_crop(example["image"], [CROP, CROP, 3])
    image = hr.ops.random_flip_left_right(image)
    return {"image": hr.ops.cast(image, "float32"), "label": example["label"]}


@hr.native
def standardise(batch):
    images, axes = batch["image"], [1, 2, 3]
    centred = images - hr.ops.reduce_mean(images, axes, keepdims=True)
    deviation = hr.ops.sqrt(hr.ops.reduce_mean(hr.ops.square(centred), axes, keepdims=True))
    images = centred / hr.ops.maximum(deviation, (3 * CROP * CROP) ** -0.5)
    return {"image": images, "label": batch["label"]}


def shuffled(files, num_epochs):
    return (
        hr.fixed_length_records(files, RECORD_BYTES)
        .map(decode)
        .shuffle(window=WINDOW)
        .epochs(num_epochs)
    )


def augmented_images(files, num_epochs):
    return shuffled(files, num_epochs).map(distort, seed=1).batch(BATCH_SIZE).map(standardise)


def images(files, num_epochs):
    return shuffled(files, num_epochs).batch(BATCH_SIZE)


def batches(task, files, num_epochs):
    make = augmented_images if task == "augmented_images" else images
    for batch in make(files, num_epochs):
        yield batch["image"], batch["label"]


if __name__ == "__main__":
    consume.run(batches)
