"""Text lines, as TensorFlow 1's guide writes it: one at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 1_024
MIN_AFTER_DEQUEUE = 10_000
NUM_THREADS = 4


def read_line(names):
    reader = tf.TextLineReader()
    _, line = reader.read(names)
    return line


def lines(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    line = read_line(names)
    return tf.train.shuffle_batch(
        [line],
        batch_size=BATCH_SIZE,
        num_threads=NUM_THREADS,
        capacity=MIN_AFTER_DEQUEUE + (NUM_THREADS + 3) * BATCH_SIZE,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        allow_smaller_final_batch=True,
    )


if __name__ == "__main__":
    loop.run(tf, {"lines": lines})
