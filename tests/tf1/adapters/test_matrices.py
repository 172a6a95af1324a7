"""Old forms of functions over matrices and sequences."""

import numpy as np
import pytest

import headrace.tf1 as tf

CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.fixture
def run():
    with tf.Session() as session:
        yield session.run


def test_matrix_transpose_swaps_the_last_two_axes(run):
    np.testing.assert_array_equal(run(tf.matrix_transpose(CUBE)), CUBE.swapaxes(1, 2))
    hidden = tf.placeholder_with_default(CUBE + 1j, None)
    turned = run(tf.matrix_transpose(hidden, conjugate=True))
    np.testing.assert_array_equal(turned, (CUBE - 1j).swapaxes(1, 2))
    with pytest.raises(ValueError, match="matrix, with rank >= 2"):
        tf.matrix_transpose([1.0])


def test_batch_gather_gathers_within_each_row(run):
    result = tf.batch_gather(CUBE, [[[3], [0], [1]]] * 2)
    np.testing.assert_array_equal(run(result)[..., 0], CUBE[:, [0, 1, 2], [3, 0, 1]])
    with pytest.raises(ValueError, match="does not allow indices with unknown shape"):
        tf.batch_gather(CUBE, tf.placeholder(tf.int32))


def test_accumulate_n_adds_tensors_of_equal_shape(run):
    total = tf.accumulate_n([tf.placeholder_with_default([1], [None]), [2], [3]], shape=[1])
    assert (total.shape, run(total).tolist()) == ([1], [6])
    single = tf.constant([1])
    assert tf.accumulate_n([single]) is single
    assert tf.accumulate_n([single], name="sum").op.name == "sum"
    for inputs in ([], 3, [[1], [1.5]]):
        with pytest.raises(ValueError, match="inputs must be a list of at least one Tensor"):
            tf.accumulate_n(inputs)
    with pytest.raises(TypeError, match="but input is of type"):
        tf.accumulate_n([[1], [2]], tensor_dtype=tf.float32)
    with pytest.raises(ValueError, match="not compatible"):
        tf.accumulate_n([[1], [1, 2]])
