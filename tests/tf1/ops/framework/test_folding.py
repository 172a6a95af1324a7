import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.ops.framework.conversion import constant_value, constant_value_as_shape
from headrace.ops.framework.folding import fold_scalar


def test_constants_have_a_constant_value():
    assert constant_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert constant_value(tf.constant("a")).item() == b"a"


def test_fed_and_random_tensors_have_no_constant_value():
    assert constant_value(tf.placeholder(tf.int32)) is None
    assert constant_value(tf.placeholder_with_default(1, [])) is None
    assert constant_value(tf.random_shuffle([1, 2])) is None
    assert constant_value(tf.py_func(lambda: 1, [], tf.int64)) is None


def test_tensor_is_not_feedable_after_its_constant_value_was_read():
    expected, unknown = tf.constant(1), tf.placeholder(tf.int32)
    constant_value(expected)
    constant_value(unknown)
    assert not expected.graph.is_feedable(expected)
    assert expected.graph.is_feedable(unknown)


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda x: tf.shape(x)[1], 3),
        (lambda x: tf.shape(x)[1] * 2 + 1, 7),
        (tf.rank, 2),
        (lambda x: tf.stack([tf.shape(x)[1], 4]), [3, 4]),
        (lambda x: tf.concat([[1], [2, 3]], 0), [1, 2, 3]),
        (lambda x: tf.cast(tf.constant(2.7), tf.int32), 2),
        (lambda x: tf.range(1, 7, 2), [1, 3, 5]),
        (lambda x: tf.fill([2], 5), [5, 5]),
        (lambda x: tf.constant(7) // 2, 3),
        (lambda x: tf.reduce_sum(tf.constant([1, 2, 3])), 6),
        (lambda x: tf.reshape([1, 2, 3, 4], [2, 2]), [[1, 2], [3, 4]]),
    ],
)
def test_computations_on_constants_are_folded(make, value):
    x = tf.placeholder(tf.float32, [None, 3])
    assert constant_value(make(x)).tolist() == value


def test_failing_computation_is_not_folded():
    assert constant_value(tf.constant(1) // 0) is None


def test_large_values_are_not_folded():
    assert constant_value(tf.range(2_000_000)) is None
    assert constant_value(tf.fill([1000, 1000], 0.5)) is None
    large, small = tf.linspace(0.0, 1.0, 2_000_000), tf.linspace(0.0, 1.0, 20)
    calls = []
    for tensor in (large, small):
        kernel = tensor.op.kernel

        def counted(*inputs, kernel=kernel):
            calls.append(kernel)
            return kernel(*inputs)

        tensor.op.kernel = counted
    with tf.Session() as session:
        for _ in range(3):
            assert session.run([large, small])[0][-1] == 1
    # The large one in each run, the small one before them.
    assert len(calls) == 4


def test_stack_can_be_partially_constant():
    x = tf.placeholder(tf.int32, [])
    assert constant_value(tf.stack([x, 2])) is None
    assert constant_value(tf.stack([x, 2]), partial=True).tolist() == [None, 2]


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (lambda x, n: tf.constant([2, -1]), [2, None]),
        (lambda x, n: tf.shape(x), [None, 3]),
        (lambda x, n: tf.cast(tf.shape(x), tf.int64), [None, 3]),
        (lambda x, n: tf.stack([n, 5]), [None, 5]),
        (lambda x, n: tf.stack([tf.shape(x)[0], tf.shape(x)[1]]), [None, 3]),
        (lambda x, n: tf.concat([tf.shape(x), [7]], 0), [None, 3, 7]),
        (lambda x, n: tf.concat([[7], tf.placeholder(tf.int32, [2])], 0), [7, None, None]),
        (lambda x, n: tf.shape(x)[1:], [3]),
        (lambda x, n: tf.shape(x)[::-1], [3, None]),
        (lambda x, n: tf.placeholder(tf.int32, [2]), [None, None]),
    ],
)
def test_partially_known_sizes_yield_a_partially_known_shape(make, sizes):
    x, n = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [])
    assert constant_value_as_shape(make(x, n)).as_list() == sizes


def test_shape_of_unknown_rank_is_unknown():
    assert constant_value_as_shape(tf.placeholder(tf.int32, [None])).rank is None
    assert constant_value_as_shape(tf.constant(-1)).rank is None


def test_shape_must_be_a_vector():
    with pytest.raises(ValueError, match="Received a scalar with unknown value as shape"):
        constant_value_as_shape(tf.constant(3))
    with pytest.raises(ValueError, match="must have rank 1"):
        constant_value_as_shape(tf.constant([[3]]))


def test_fold_scalar_accepts_single_elements():
    assert fold_scalar(tf.constant(3)) == 3
    assert fold_scalar(tf.constant([3])) == 3
    assert fold_scalar(tf.constant([3, 4])) is None
    assert fold_scalar(tf.placeholder(tf.int32)) is None
    assert isinstance(fold_scalar(tf.constant(np.int64(3))), int)
