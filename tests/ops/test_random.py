import numpy as np

import headrace.tf1 as tf


def test_a_seed_gives_tensorflows_orders():
    shuffled = tf.random_shuffle(tf.range(10), seed=7)
    for _ in range(2):  # each session begins the sequence again
        with tf.Session() as session:
            assert session.run(shuffled).tolist() == [7, 2, 0, 9, 8, 4, 5, 1, 6, 3]
            assert session.run(shuffled).tolist() == [3, 7, 9, 5, 8, 4, 2, 0, 6, 1]


def test_rows_stay_together(run):
    rows = np.arange(20).reshape(10, 2)
    shuffled = run(tf.random_shuffle(rows, seed=1))
    assert shuffled.tolist() != rows.tolist()
    assert sorted(shuffled.tolist()) == rows.tolist()


def test_the_seeds_are_attributes():
    assert tf.random_shuffle([1], seed=7).op.get_attr("seed") == 87654321
    assert tf.random_shuffle([1], seed=7).op.get_attr("seed2") == 7
    assert tf.random_shuffle([1]).op.get_attr("seed2") == 0
    tf.set_random_seed(5)
    count = len(tf.get_default_graph().get_operations())
    op = tf.random_shuffle([1]).op
    assert (op.get_attr("seed"), op.get_attr("seed2")) == (5, count)


def test_shape_and_type_stay():
    shuffled = tf.random_shuffle(tf.placeholder(tf.string, [None, 2]))
    assert (shuffled.dtype, shuffled.shape.as_list()) == (tf.string, [None, 2])
