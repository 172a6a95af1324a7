import numpy as np
import pytest

import headrace.tf1 as tf


def names():
    return [op.name for op in tf.get_default_graph().get_operations()]


class TestFill:
    def test_fill_repeats_one_value(self, run):
        assert run(tf.fill([2, 3], 9)).tolist() == [[9, 9, 9], [9, 9, 9]]
        assert run(tf.fill([2], "a")).tolist() == [b"a", b"a"]
        assert run(tf.fill([], 1.5)) == 1.5

    def test_fill_keeps_known_dimensions(self):
        assert tf.fill([2, 3], 9).shape == [2, 3]
        assert tf.fill(tf.stack([tf.placeholder(tf.int32, []), 3]), 9).shape.as_list() == [None, 3]

    @pytest.mark.parametrize(
        ("dims", "value", "static", "words"),
        [
            ([2], [1], "Shape must be rank 0 but is rank 1", None),
            ([-1], 1, "Fill dimensions must be >= 0", "Dimension -1 must be >= 0"),
            ([[1]], 1, "Shape must be rank 1 but is rank 2", "dims must represent a vector, got"),
        ],
    )
    def test_fill_rejects_invalid_arguments(self, run, hidden, dims, value, static, words):
        with pytest.raises(ValueError, match=static):
            tf.fill(dims, value)
        if words is not None:
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                run(tf.fill(hidden(dims), value))


class TestZerosAndOnes:
    @pytest.mark.parametrize(
        ("dtype", "zero", "one"),
        [(tf.float32, 0.0, 1.0), (tf.int64, 0, 1), (tf.bool, False, True)],
    )
    def test_zeros_and_ones_have_the_requested_type(self, run, dtype, zero, one):
        assert tf.zeros([2], dtype).dtype == dtype
        assert run(tf.zeros([2], dtype)).tolist() == [zero, zero]
        assert run(tf.ones([2], dtype)).tolist() == [one, one]

    def test_zeros_of_strings_are_empty_strings(self, run):
        assert run(tf.zeros([2], tf.string)).tolist() == [b"", b""]
        assert run(tf.zeros_like(tf.constant(["a"]))).tolist() == [b""]

    def test_zeros_accepts_many_kinds_of_shapes(self, run, hidden):
        n = tf.placeholder_with_default(2, [])
        for shape, expected in (
            ([], ()),
            (3, (3,)),
            (tf.TensorShape([2, 3]), (2, 3)),
            ([2000], (2000,)),
            ([n, 3], (2, 3)),
            (hidden([2, 3]), (2, 3)),
            (tf.shape(tf.zeros([1, 2])), (1, 2)),
        ):
            assert run(tf.zeros(shape)).shape == expected

    def test_small_zeros_are_constants_and_large_ones_are_filled(self):
        tf.zeros([2])
        tf.zeros([2000])
        assert names() == ["zeros", "zeros_1/shape_as_tensor", "zeros_1/Const", "zeros_1"]

    def test_zeros_requires_a_known_shape(self):
        with pytest.raises(ValueError, match="Cannot convert a partially known TensorShape"):
            tf.zeros(tf.TensorShape([2, None]))


class TestLike:
    @pytest.mark.parametrize(("function", "value"), [(tf.zeros_like, 0), (tf.ones_like, 1)])
    def test_zeros_like_and_ones_like_copy_shape_and_type(self, run, hidden, function, value):
        for x in (tf.constant([[5, 6]]), hidden([[5, 6]])):
            result = function(x)
            assert (result.op.name.partition("_like")[1], result.dtype) == ("_like", tf.int32)
            assert run(result).tolist() == [[value, value]]

    @pytest.mark.parametrize("function", [tf.zeros_like, tf.ones_like])
    def test_zeros_like_and_ones_like_can_change_the_type(self, run, hidden, function):
        for x in (tf.constant([5]), hidden([5])):
            assert run(function(x, dtype=tf.float32)).dtype == np.float32

    def test_zeros_like_and_ones_like_keep_known_dimensions(self):
        x = tf.placeholder(tf.int32, [None, 2])
        assert tf.zeros_like(x).shape.as_list() == [None, 2]
        assert tf.ones_like(x).shape.as_list() == [None, 2]


def test_fill_value_must_be_a_scalar(run, hidden):
    words = "value must represent a scalar, got shape"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(tf.fill([2], hidden([1, 2])))
