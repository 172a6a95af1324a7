"""Writes and reads the binary format of CIFAR-10, with the input pipelines of its classic example.

A record consists of a label (one byte) and an image: 32 x 32 bytes of red, then of green, then of
blue. The images here are digits in random colours. `write_files` writes them in this format.
"""

from pathlib import Path

import numpy as np
from digits import load

import headrace.tf1 as tf

HEIGHT = WIDTH = 32
CROP = 24
NUM_CLASSES = 10
NUM_TRAINING_FILES = 5


def training_files(directory: Path) -> list[str]:
    """Returns the names of the training files."""
    return [str(directory / f"data_batch_{n}.bin") for n in range(1, NUM_TRAINING_FILES + 1)]


def test_files(directory: Path) -> list[str]:
    """Returns the names of the evaluation files."""
    return [str(directory / "test_batch.bin")]


def write_files(directory: Path, num_train: int) -> None:
    """Writes digits as coloured images to files in CIFAR-10's format."""
    directory.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(1)
    (images, labels), (test_images, test_labels) = load(num_train)
    paths = training_files(directory)
    for number, path in enumerate(paths):
        _write(path, images[number :: len(paths)], labels[number :: len(paths)], generator)
    _write(test_files(directory)[0], test_images, test_labels, generator)


def _write(
    path: str, images: np.ndarray, labels: np.ndarray, generator: np.random.Generator
) -> None:
    shades = np.zeros((len(images), 1, HEIGHT, WIDTH))
    shades[:, 0, 2:30, 2:30] = (images + 0.13).reshape(-1, 28, 28)
    ink = generator.uniform(150, 255, size=(len(images), 3, 1, 1))
    paper = generator.uniform(0, 100, size=(len(images), 3, 1, 1))
    pictures = (paper + shades * (ink - paper)).astype(np.uint8)
    records = np.concatenate(
        [labels[:, None].astype(np.uint8), pictures.reshape(len(images), -1)], 1
    )
    Path(path).write_bytes(records.tobytes())


def read_picture(names: tf.QueueBase) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds the operations that read one record.

    Returns:
        The image, float32, (32, 32, 3), 0 to 255, and the label, int32, a scalar, 0 to 9.
    """
    label_bytes = 1
    reader = tf.FixedLengthRecordReader(record_bytes=label_bytes + 3 * HEIGHT * WIDTH)
    _, value = reader.read(names)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.strided_slice(record, [0], [label_bytes]), tf.int32)
    planes = tf.reshape(
        tf.strided_slice(record, [label_bytes], [label_bytes + 3 * HEIGHT * WIDTH]),
        [3, HEIGHT, WIDTH],
    )
    return tf.cast(tf.transpose(planes, [1, 2, 0]), tf.float32), tf.reshape(label, [])


def distorted_batches(
    directory: Path, batch_size: int, min_after_dequeue: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns endless shuffled batches for training, with new distortions every time.

    Returns:
        Images, float32, (batch, 24, 24, 3), with mean 0 and variance 1, and labels, int32,
        (batch,).
    """
    picture, label = read_picture(tf.train.string_input_producer(training_files(directory)))
    distorted = tf.random_crop(picture, [CROP, CROP, 3])
    distorted = tf.image.random_flip_left_right(distorted)
    distorted = tf.image.random_brightness(distorted, max_delta=63)
    distorted = tf.image.random_contrast(distorted, lower=0.2, upper=1.8)
    return tf.train.shuffle_batch(
        [tf.image.per_image_standardization(distorted), label],
        batch_size=batch_size,
        num_threads=2,
        capacity=min_after_dequeue + 3 * batch_size,
        min_after_dequeue=min_after_dequeue,
    )


def evaluation_batches(directory: Path, batch_size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the test images once, cropped in the centre; see `distorted_batches`."""
    names = tf.train.string_input_producer(test_files(directory), num_epochs=1, shuffle=False)
    picture, label = read_picture(names)
    cut = tf.image.resize_image_with_crop_or_pad(picture, CROP, CROP)
    return tf.train.batch(
        [tf.image.per_image_standardization(cut), label],
        batch_size,
        num_threads=2,
        allow_smaller_final_batch=True,
    )
