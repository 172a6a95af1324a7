"""Digits in TFRecords, as fast as the names of TensorFlow 1 let one write it: many at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 128
MIN_AFTER_DEQUEUE = 10_000
NUM_RECORDS = 128
# On two cores: headrace reads and shuffles faster than the training loop takes batches.
NUM_READERS = 2 if "--tensorflow" in sys.argv else 1


def read_and_parse(names):
    _, serialized = tf.TFRecordReader().read_up_to(names, NUM_RECORDS)
    features = tf.parse_example(
        serialized,
        features={
            "image": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    pixels = tf.reshape(tf.decode_raw(features["image"], tf.uint8), [-1, 784])
    return pixels, features["label"]


def examples(files, num_epochs):
    """Bytes wait in the queue, and become floats a batch at a time: a quarter of the memory."""
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    pixels, labels = tf.train.shuffle_batch_join(
        [read_and_parse(names) for _ in range(NUM_READERS)],
        batch_size=BATCH_SIZE,
        capacity=MIN_AFTER_DEQUEUE + (NUM_READERS + 3) * NUM_RECORDS,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )
    return tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5, labels


if __name__ == "__main__":
    loop.run(tf, {"examples": examples})
