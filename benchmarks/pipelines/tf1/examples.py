"""Digits in TFRecords, as TensorFlow 1's guide writes it: one example at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 128
MIN_AFTER_DEQUEUE = 10_000
NUM_THREADS = 4


def read_and_decode(names):
    reader = tf.TFRecordReader()
    _, serialized = reader.read(names)
    features = tf.parse_single_example(
        serialized,
        features={
            "image": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image"], tf.uint8)
    image.set_shape([784])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    return image, features["label"]


def examples(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    image, label = read_and_decode(names)
    return tf.train.shuffle_batch(
        [image, label],
        batch_size=BATCH_SIZE,
        num_threads=NUM_THREADS,
        capacity=MIN_AFTER_DEQUEUE + (NUM_THREADS + 3) * BATCH_SIZE,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        allow_smaller_final_batch=True,
    )


if __name__ == "__main__":
    loop.run(tf, {"examples": examples})
