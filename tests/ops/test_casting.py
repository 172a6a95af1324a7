import numpy as np
import pytest

import headrace.tf1 as tf


def test_floats_lose_their_fraction(run):
    assert run(tf.cast([1.9, -1.9], tf.int32)).tolist() == [1, -1]


def test_numbers_are_true_unless_zero(run):
    assert run(tf.cast([0.0, 0.5, -1.0], tf.bool)).tolist() == [False, True, True]
    assert run(tf.cast([True, False], tf.float32)).tolist() == [1.0, 0.0]


def test_integers_wrap(run):
    assert run(tf.cast([300, -1], tf.uint8)).tolist() == [44, 255]


def test_a_tensor_of_the_type_is_returned_as_it_is():
    x = tf.constant(1)
    assert tf.cast(x, tf.int32) is x
    assert tf.cast(x, "int32") is x


def test_the_operation_knows_both_types():
    op = tf.cast(tf.constant(1), tf.float32).op
    assert (op.name, op.type) == ("Cast", "Cast")
    assert (op.get_attr("SrcT"), op.get_attr("DstT")) == (tf.int32, tf.float32)


def test_the_values_of_a_sparse_tensor_are_cast():
    sparse = tf.cast(tf.SparseTensor([[0, 1]], [5], [3, 4]), tf.float32)
    assert isinstance(sparse, tf.SparseTensor)
    assert sparse.dtype == tf.float32


@pytest.mark.parametrize(
    ("function", "name", "dtype"),
    [
        (tf.to_float, "ToFloat", tf.float32),
        (tf.to_double, "ToDouble", tf.float64),
        (tf.to_int32, "ToInt32", tf.int32),
        (tf.to_int64, "ToInt64", tf.int64),
        (tf.to_complex64, "ToComplex64", tf.complex64),
        (tf.to_complex128, "ToComplex128", tf.complex128),
    ],
)
def test_short_forms(function, name, dtype):
    result = function(tf.placeholder(tf.int8))
    assert (result.op.name, result.dtype) == (name, dtype)


@pytest.mark.parametrize("source", [tf.int8, tf.uint16, tf.int64, tf.float32, tf.float64, tf.bool])
@pytest.mark.parametrize("target", [tf.uint8, tf.int32, tf.int64, tf.float16, tf.float64, tf.bool])
def test_casts_agree_with_numpy(run, source, target):
    value = np.array([0, 1, 3], source.as_numpy_dtype)
    result = run(tf.cast(tf.constant(value), target))
    assert result.dtype == target.as_numpy_dtype
    assert np.array_equal(result, value.astype(target.as_numpy_dtype))


def test_complex_numbers_are_cast(run):
    assert run(tf.cast([1.5], tf.complex64)).tolist() == [1.5 + 0j]
    assert run(tf.cast([1 + 2j, 2j], tf.float32)).tolist() == [1.0, 0.0]
    assert run(tf.cast([1 + 2j, 2j, 0], tf.bool)).tolist() == [True, True, False]
    assert run(tf.cast(tf.constant([1 + 2j], tf.complex64), tf.complex128)).dtype == np.complex128
