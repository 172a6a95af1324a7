"""Text lines, as fast as the names of TensorFlow 1 let one write it: many at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 1_024
MIN_AFTER_DEQUEUE = 10_000
NUM_LINES = 1_024
NUM_READERS = 2


def read(names):
    _, lines = tf.TextLineReader().read_up_to(names, NUM_LINES)
    return [lines]


def lines(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    return tf.train.shuffle_batch_join(
        [read(names) for _ in range(NUM_READERS)],
        batch_size=BATCH_SIZE,
        capacity=MIN_AFTER_DEQUEUE + (NUM_READERS + 3) * NUM_LINES,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )


if __name__ == "__main__":
    loop.run(tf, {"lines": lines})
