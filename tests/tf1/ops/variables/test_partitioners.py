"""Partitioners: functions that return the number of parts of a variable."""

import pytest

import headrace.tf1 as tf

SHAPE = tf.TensorShape([10, 4])


@pytest.mark.parametrize(
    ("partitioner", "shape", "dtype", "parts"),
    [
        (tf.fixed_size_partitioner(3), SHAPE, tf.float32, [3, 1]),
        (tf.fixed_size_partitioner(7, axis=1), SHAPE, tf.float32, [1, 4]),
        (tf.variable_axis_size_partitioner(16), SHAPE, tf.float32, [10, 1]),
        (tf.variable_axis_size_partitioner(80), SHAPE, tf.float32, [2, 1]),
        (tf.variable_axis_size_partitioner(8, axis=1, max_shards=3), SHAPE, tf.float32, [1, 3]),
        (tf.variable_axis_size_partitioner(160), SHAPE, tf.string, [5, 1]),
        (tf.min_max_variable_partitioner(4, min_slice_size=80), SHAPE, tf.float32, [2, 1]),
        (tf.min_max_variable_partitioner(4, min_slice_size=8), SHAPE, tf.float32, [4, 1]),
        (tf.min_max_variable_partitioner(4), SHAPE, tf.float32, [1, 1]),
    ],
)
def test_partitioner_divides_each_axis(partitioner, shape, dtype, parts):
    assert partitioner(shape=shape, dtype=dtype) == parts


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.variable_axis_size_partitioner(0), "must be positive. Currently: max_shard_b"),
        (lambda: tf.variable_axis_size_partitioner(1, max_shards=-1), "max_shards must be positi"),
        (lambda: tf.variable_axis_size_partitioner(9)([3], tf.int32), "shape is not a TensorShape"),
        (
            lambda: tf.variable_axis_size_partitioner(9)(tf.TensorShape([None]), tf.int32),
            r"shape is not fully defined: \(\?,\)",
        ),
        (lambda: tf.variable_axis_size_partitioner(9)(SHAPE, "int32"), "dtype is not a DType"),
        (
            lambda: tf.min_max_variable_partitioner(axis=2)(SHAPE, tf.int32),
            r"along axis 2 when shape is only \(10, 4\)",
        ),
        (
            lambda: tf.get_variable("v", [4], partitioner=tf.fixed_size_partitioner(2)),
            "partitioner is not supported: headrace neither partitions",
        ),
    ],
)
def test_invalid_arguments_are_rejected(call, words):
    with pytest.raises(ValueError, match=words):
        call()
