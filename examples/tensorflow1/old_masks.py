"""Augments images and masks in the same way, with names from before TensorFlow 1.0.

This is an input pipeline of a segmentation network from 2016: a list of pairs, `tf.pack`, `tf.mul`,
`tf.concat` with the axis first, and `tf.reverse` with a bool for each axis.
`install(before_1_0=True)` provides these names.
"""

import argparse
from pathlib import Path

import headrace.tf1

headrace.tf1.compat.install("tensorflow", before_1_0=True)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

IGNORED = 255
MEAN = np.array((104.0, 116.7, 122.7), dtype=np.float32)


def write_pairs(directory, count):
    """Writes images, masks, and a list of them."""
    data = tf.placeholder(tf.uint8, [None, None, None])
    as_jpeg, as_png = tf.image.encode_jpeg(data, quality=100), tf.image.encode_png(data)
    lines = []
    with tf.Session() as session:
        for number in range(count):
            mask = np.zeros([40 + number, 50, 1], np.uint8)
            mask[10:30, 5 + number : 25 + number] = 1 + number % 3
            picture = np.repeat(mask * 60, 3, axis=2)
            files = (f"/{number}.jpg", picture, as_jpeg), (f"/{number}.png", mask, as_png)
            for name, pixels, encode in files:
                with tf.gfile.GFile(str(directory) + name, "wb") as file:
                    file.write(session.run(encode, {data: pixels}))
            lines.append(" ".join(name for name, _, _ in files))
    (directory / "list.txt").write_text("\n".join(lines) + "\n")


def scaled(image, mask):
    """Scales both by the same random number."""
    scale = tf.random_uniform([1], minval=0.8, maxval=1.5, dtype=tf.float32, seed=None)
    height = tf.to_int32(tf.mul(tf.to_float(tf.shape(image)[0]), scale))
    width = tf.to_int32(tf.mul(tf.to_float(tf.shape(image)[1]), scale))
    size = tf.squeeze(tf.pack([height, width]), squeeze_dims=[1])
    image = tf.image.resize_images(image, size)
    mask = tf.image.resize_nearest_neighbor(tf.expand_dims(mask, 0), size)
    return image, tf.squeeze(mask, squeeze_dims=[0])


def mirrored(image, mask):
    """Flips both, or neither."""
    number = tf.random_uniform([1], 0, 1.0, dtype=tf.float32)[0]
    axes = tf.less(tf.pack([1.0, number, 1.0]), 0.5)
    return tf.reverse(image, axes), tf.reverse(mask, axes)


def cropped(image, mask, height, width):
    """Crops both to the same window. Pixels outside the images are marked to be ignored."""
    mask = tf.cast(mask, dtype=tf.float32) - IGNORED  # The padding adds zeros.
    both = tf.concat(2, [image, mask])
    shape = tf.shape(image)
    both = tf.image.pad_to_bounding_box(
        both, 0, 0, tf.maximum(height, shape[0]), tf.maximum(width, shape[1])
    )
    both = tf.random_crop(both, [height, width, 4])
    image, mask = both[:, :, :3], tf.cast(both[:, :, 3:] + IGNORED, dtype=tf.uint8)
    image.set_shape((height, width, 3))
    mask.set_shape((height, width, 1))
    return image, mask


class PairReader:
    """Reads the pairs of a list in random order."""

    def __init__(self, directory, size, num_epochs):
        lines = (directory / "list.txt").read_text().splitlines()
        names = [[str(directory) + name for name in line.split(" ")] for line in lines]
        columns = [tf.convert_to_tensor(list(c), dtype=tf.string) for c in zip(*names, strict=True)]
        queue = tf.train.slice_input_producer(columns, shuffle=True, num_epochs=num_epochs)
        image = tf.image.decode_jpeg(tf.read_file(queue[0]), channels=3)
        red, green, blue = tf.split(split_dim=2, num_split=3, value=image)
        image = tf.cast(tf.concat(2, [blue, green, red]), dtype=tf.float32) - MEAN
        mask = tf.image.decode_png(tf.read_file(queue[1]), channels=1)
        self._pair = cropped(*mirrored(*scaled(image, mask)), *size)

    def dequeue(self, number):
        """Returns a batch of images and a batch of masks."""
        return tf.train.batch(list(self._pair), number)


def main():
    """Writes pairs, reads them, and checks that masks and images still match."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pairs", type=int, default=12)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    write_pairs(args.directory, args.pairs)
    coord = tf.train.Coordinator()
    with tf.name_scope("create_inputs"):
        images, masks = PairReader(args.directory, (48, 64), num_epochs=4).dequeue(4)
    tf.image_summary("images", images)
    summaries = tf.merge_all_summaries()
    num_batches, shares = 0, []
    with tf.Session() as session:
        session.run([tf.initialize_all_variables(), tf.initialize_local_variables()])
        writer = tf.train.SummaryWriter(str(args.directory / "log"), session.graph)
        threads = tf.train.start_queue_runners(coord=coord, sess=session)
        try:
            while not coord.should_stop():
                pictures, labels, summary = session.run([images, masks, summaries])
                writer.add_summary(summary, num_batches)
                num_batches += 1
                seen = labels[..., 0] != IGNORED
                expected = (pictures + MEAN).mean(axis=3) / 60
                shares.append(float((np.abs(expected - labels[..., 0]) < 0.5)[seen].mean()))
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
        writer.close()
    print(f"{num_batches} batches of {images.get_shape()} and {masks.get_shape()}")
    print(f"mask and picture agree in {min(shares):.0%} of the pixels or more")


if __name__ == "__main__":
    main()
