"""CSV files, as fast as the names of TensorFlow 1 let one write it: many lines at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 256
MIN_AFTER_DEQUEUE = 10_000
NUM_LINES = 1_024
NUM_READERS = 2


def read_and_parse(names):
    _, lines = tf.TextLineReader().read_up_to(names, NUM_LINES)
    *columns, labels = tf.decode_csv(lines, record_defaults=[[0.0]] * 10 + [[0]])
    return tf.stack(columns, axis=1), labels


def numbers(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    return tf.train.shuffle_batch_join(
        [read_and_parse(names) for _ in range(NUM_READERS)],
        batch_size=BATCH_SIZE,
        capacity=MIN_AFTER_DEQUEUE + (NUM_READERS + 3) * NUM_LINES,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )


if __name__ == "__main__":
    loop.run(tf, {"numbers": numbers})
