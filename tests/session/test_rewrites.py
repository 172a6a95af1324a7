"""Programs with and without rewrites do the same."""

import numpy as np

import headrace.tf1 as tf

PLAIN = tf.ConfigProto(
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    )
)


def test_scaled_bytes_are_the_same():
    pixels = tf.concat([tf.constant(np.arange(256, dtype=np.uint8))] * 2, 0)
    scaled = tf.cast(pixels, tf.float32) * (1 / 255) - 0.5
    with tf.Session() as session, tf.Session(config=PLAIN) as plain:
        assert session.run(scaled).tobytes() == plain.run(scaled).tobytes()
