"""CSV files, as TensorFlow 1's guide writes it: one line at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 256
MIN_AFTER_DEQUEUE = 10_000
NUM_THREADS = 4


def read_and_decode(names):
    reader = tf.TextLineReader()
    _, line = reader.read(names)
    *columns, label = tf.decode_csv(line, record_defaults=[[0.0]] * 10 + [[0]])
    return tf.stack(columns), label


def numbers(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    features, label = read_and_decode(names)
    return tf.train.shuffle_batch(
        [features, label],
        batch_size=BATCH_SIZE,
        num_threads=NUM_THREADS,
        capacity=MIN_AFTER_DEQUEUE + (NUM_THREADS + 3) * BATCH_SIZE,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        allow_smaller_final_batch=True,
    )


if __name__ == "__main__":
    loop.run(tf, {"numbers": numbers})
