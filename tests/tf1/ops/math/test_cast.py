import re

import numpy as np
import pytest

import headrace.tf1 as tf


def test_floats_are_truncated(run):
    assert run(tf.cast([1.9, -1.9], tf.int32)).tolist() == [1, -1]


def test_nonzero_numbers_cast_to_true(run):
    assert run(tf.cast([0.0, 0.5, -1.0], tf.bool)).tolist() == [False, True, True]
    assert run(tf.cast([True, False], tf.float32)).tolist() == [1.0, 0.0]


def test_integers_wrap(run):
    assert run(tf.cast([300, -1], tf.uint8)).tolist() == [44, 255]


def test_tensor_of_the_target_type_is_returned_unchanged():
    x = tf.constant(1)
    assert tf.cast(x, tf.int32) is x
    assert tf.cast(x, "int32") is x


def test_cast_operation_has_both_types_as_attributes():
    op = tf.cast(tf.constant(1), tf.float32).op
    assert (op.name, op.type) == ("Cast", "Cast")
    assert (op.get_attr("SrcT"), op.get_attr("DstT")) == (tf.int32, tf.float32)


def test_sparse_tensor_values_are_cast():
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
def test_cast_shortcuts_have_the_expected_types_and_names(function, name, dtype):
    result = function(tf.placeholder(tf.int8))
    assert (result.op.name, result.dtype) == (name, dtype)


@pytest.mark.parametrize("source", [tf.int8, tf.uint16, tf.int64, tf.float32, tf.float64, tf.bool])
@pytest.mark.parametrize("target", [tf.uint8, tf.int32, tf.int64, tf.float16, tf.float64, tf.bool])
def test_casts_match_numpy(run, source, target):
    value = np.array([0, 1, 3], source.as_numpy_dtype)
    result = run(tf.cast(tf.constant(value), target))
    assert result.dtype == target.as_numpy_dtype
    assert np.array_equal(result, value.astype(target.as_numpy_dtype))


def test_complex_numbers_are_cast(run):
    assert run(tf.cast([1.5], tf.complex64)).tolist() == [1.5 + 0j]
    assert run(tf.cast([1 + 2j, 2j], tf.float32)).tolist() == [1.0, 0.0]
    assert run(tf.cast([1 + 2j, 2j, 0], tf.bool)).tolist() == [True, True, False]
    assert run(tf.cast(tf.constant([1 + 2j], tf.complex64), tf.complex128)).dtype == np.complex128


class TestBitcast:
    @pytest.mark.parametrize(
        ("values", "source", "target", "expected"),
        [
            ([1.0, 2.0], tf.float32, tf.int32, [0x3F800000, 0x40000000]),
            ([1, 258], tf.int32, tf.uint8, [[1, 0, 0, 0], [2, 1, 0, 0]]),
            (3, tf.int32, tf.uint8, [3, 0, 0, 0]),
            ([[1, 2], [3, 4]], tf.int32, tf.int64, [(2 << 32) + 1, (4 << 32) + 3]),
            ([1, 2, 3, 4], tf.uint8, tf.int32, 0x04030201),
        ],
    )
    def test_bitcast_reinterprets_the_bytes(self, run, values, source, target, expected):
        result = tf.bitcast(tf.constant(values, source), target)
        assert (result.dtype, result.shape) == (target, np.shape(expected))
        assert run(result).tolist() == expected

    def test_bitcast_keeps_known_dimensions(self):
        numbers, raw = tf.placeholder(tf.int32, [None, 3]), tf.placeholder(tf.uint8, [None, None])
        assert tf.bitcast(numbers, tf.uint8).shape.as_list() == [None, 3, 4]
        assert tf.bitcast(raw, tf.int32).shape.as_list() == [None]
        assert tf.bitcast(tf.placeholder(tf.uint8), tf.int32).shape.rank is None

    def test_bitcast_rejects_invalid_arguments(self, run, hidden):
        words = "Cannot bitcast from int32 to int64 due to shape. 3 does not match 2"
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.bitcast([1, 2, 3], tf.int64)
        with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
            tf.bitcast(3, tf.int64)
        with pytest.raises(TypeError, match="'type' has DataType bool not in list of allowed"):
            tf.bitcast([1], tf.bool)
        words = re.escape("Cannot bitcast from int32 to int64: shape [3]")
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.bitcast(hidden([1, 2, 3]), tf.int64))
