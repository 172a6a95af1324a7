"""`tf.data`, vectorised: what is raw is shuffled, and whole batches are parsed."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from benchmarks.pipelines import consume

POOL = 10_000
READ_BYTES = 1 << 20
ANY_NUMBER = tf.data.AUTOTUNE


def of_files(files: list[str], num_epochs: int, read: Callable[[Any], Any]) -> Any:
    names = tf.data.Dataset.from_tensor_slices(files)
    return (
        names.shuffle(len(files), reshuffle_each_iteration=True).repeat(num_epochs).flat_map(read)
    )


def examples(files: list[str], num_epochs: int) -> Any:
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(records: Any) -> Any:
        parsed = tf.io.parse_example(records, features)
        pixels = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), [-1, 784])
        return tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5, parsed["label"]

    records = of_files(
        files, num_epochs, lambda name: tf.data.TFRecordDataset(name, None, READ_BYTES)
    )
    return records.shuffle(POOL).batch(128).map(parse, ANY_NUMBER)


def cifar(files: list[str], num_epochs: int, prepare: Callable[[Any], Any]) -> Any:
    def decode(values: Any) -> Any:
        records = tf.reshape(tf.io.decode_raw(values, tf.uint8), [-1, 3_073])
        planes = tf.reshape(records[:, 1:], [-1, 3, 32, 32])
        return prepare(tf.transpose(planes, [0, 2, 3, 1])), tf.cast(records[:, 0], tf.int32)

    def read(name: Any) -> Any:
        return tf.data.FixedLengthRecordDataset(name, 3_073, buffer_size=READ_BYTES)

    records = of_files(files, num_epochs, read)
    return records.shuffle(POOL).batch(128).map(decode, ANY_NUMBER)


def images(files: list[str], num_epochs: int) -> Any:
    return cifar(files, num_epochs, lambda images: images)


def augmented_images(files: list[str], num_epochs: int) -> Any:
    """Crops and mirror images of a whole batch are one `gather`."""

    def augment(images: Any) -> Any:
        count = tf.shape(images)[0]
        corners = tf.random.uniform([count, 2], 0, 9, tf.int32)
        steps = tf.range(24)[tf.newaxis]
        rows, columns = corners[:, :1] + steps, corners[:, 1:] + steps
        is_mirrored = tf.random.uniform([count, 1]) < 0.5
        columns = tf.where(is_mirrored, columns[:, ::-1], columns)
        starts = tf.range(count)[:, tf.newaxis, tf.newaxis] * 1_024
        positions = starts + rows[:, :, tf.newaxis] * 32 + columns[:, tf.newaxis]
        crops = tf.cast(tf.gather(tf.reshape(images, [-1, 3]), positions), tf.float32)
        mean, variance = tf.nn.moments(crops, [1, 2, 3], keepdims=True)
        return (crops - mean) / tf.maximum(tf.sqrt(variance), 1_728**-0.5)

    return cifar(files, num_epochs, augment)


def photos(files: list[str], num_epochs: int) -> Any:
    ratio = 2 if "--half" in sys.argv else 1
    labels = [int(name.rsplit("/", 2)[1]) for name in files]

    def load(name: Any, label: Any) -> Any:
        pixels = tf.io.decode_jpeg(tf.io.read_file(name), channels=3, ratio=ratio)
        return tf.cast(tf.image.resize(pixels, [224, 224]), tf.uint8), label

    pairs = tf.data.Dataset.from_tensor_slices((files, labels))
    return pairs.shuffle(len(files)).repeat(num_epochs).map(load, ANY_NUMBER).batch(64)


def numbers(files: list[str], num_epochs: int) -> Any:
    defaults = [tf.constant(0.0)] * 10 + [tf.constant(0)]

    def parse(lines: Any) -> Any:
        *columns, labels = tf.io.decode_csv(lines, defaults)
        return tf.stack(columns, axis=1), labels

    lines = of_files(
        files, num_epochs, lambda name: tf.data.TextLineDataset(name, None, READ_BYTES)
    )
    return lines.shuffle(POOL).batch(256).map(parse, ANY_NUMBER)


def lines(files: list[str], num_epochs: int) -> Any:
    lines = of_files(
        files, num_epochs, lambda name: tf.data.TextLineDataset(name, None, READ_BYTES)
    )
    return lines.shuffle(POOL).batch(1_024)


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    options = tf.data.Options()
    options.deterministic = False
    data = globals()[task](files, num_epochs).prefetch(ANY_NUMBER).with_options(options)
    return data.as_numpy_iterator()


if __name__ == "__main__":
    consume.run(batches_of)
