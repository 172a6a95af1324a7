import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

REDUCTIONS = [
    (tf.reduce_sum, "Sum", np.sum),
    (tf.reduce_prod, "Prod", np.prod),
    (tf.reduce_max, "Max", np.max),
    (tf.reduce_min, "Min", np.min),
    (tf.reduce_mean, "Mean", np.mean),
]


@pytest.mark.parametrize(("function", "op_type", "reference"), REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, [0, 1], []])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_match_numpy(run, function, op_type, reference, axis, keepdims):
    x = np.array([[1, 2, 3], [4, 5, 7]], np.float32)
    result = function(tf.constant(x), axis, keepdims)
    expected = reference(
        x, axis=None if axis is None else tuple(np.ravel(axis).astype(int)), keepdims=keepdims
    )
    assert result.op.type == op_type
    assert result.shape == expected.shape
    value = run(result)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, expected)


@pytest.mark.parametrize(
    ("function", "op_type", "value"),
    [(tf.reduce_all, "All", [False, True]), (tf.reduce_any, "Any", [True, True])],
)
def test_bool_reductions_return_bools(run, function, op_type, value):
    result = function([[True, False], [True, True]], 1)
    assert (result.op.type, result.dtype) == (op_type, tf.bool)
    assert run(result).tolist() == value


def test_integers_keep_their_type(run):
    assert run(tf.reduce_sum(tf.constant([100, 100], tf.int8))) == np.int8(-56)
    assert run(tf.reduce_mean([3, 4, 4])) == 3
    assert run(tf.reduce_mean([-3, -4])) == -3


def test_reductions_of_empty_tensors_return_the_neutral_element(run):
    floats, ints = tf.zeros([0]), tf.zeros([0], tf.int32)
    assert run(tf.reduce_sum(floats)) == 0.0
    assert run(tf.reduce_max(floats)) == -np.inf
    assert run(tf.reduce_max(ints)) == np.iinfo(np.int32).min
    assert run(tf.reduce_min(ints)) == np.iinfo(np.int32).max
    assert np.isnan(run(tf.reduce_mean(floats)))


def test_old_argument_names_are_accepted(run):
    x = [[1, 2], [3, 4]]
    assert run(tf.reduce_sum(x, reduction_indices=0)).tolist() == [4, 6]
    assert run(tf.reduce_sum(x, axis=0, keep_dims=True)).tolist() == [[4, 6]]
    with pytest.raises(ValueError, match="Cannot specify both 'reduction_indices' and 'axis'"):
        tf.reduce_sum(x, axis=0, reduction_indices=0)
    with pytest.raises(ValueError, match="Cannot specify both 'keep_dims' and 'keepdims'"):
        tf.reduce_sum(x, keepdims=True, keep_dims=True)


def test_axis_operations_are_named_like_tensorflow():
    x = tf.placeholder(tf.int32, [2, 3], name="x")
    tf.reduce_sum(x)
    tf.reduce_sum(x, 1)
    tf.reduce_sum(tf.placeholder(tf.int32, name="y"))
    assert [op.name for op in tf.get_default_graph().get_operations()] == [
        "x",
        "Const",
        "Sum",
        "Sum_1/reduction_indices",
        "Sum_1",
        "y",
        "Rank",
        "range/start",
        "range/delta",
        "range",
        "Sum_2",
    ]


def test_sum_over_all_axes_is_a_scalar_even_for_unknown_rank(run, hidden):
    total = tf.reduce_sum(hidden([[1, 2], [3, 4]]))
    assert total.shape == ()
    assert run(total) == 10


def test_axis_out_of_range_is_rejected(run, hidden):
    with pytest.raises(
        ValueError, match=re.escape("Invalid reduction dimension 2 for input with 2 dimensions.")
    ):
        tf.reduce_max(tf.zeros([2, 3]), 2)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=re.escape("Invalid reduction dimension (3 for input with 1 dimension(s)"),
    ):
        run(tf.reduce_sum(hidden([1, 2]), hidden([3])))


def test_duplicate_axis_is_rejected(run, hidden):
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Invalid reduction arguments: Axes contains duplicate dimension: 0",
    ):
        run(tf.reduce_sum(hidden([1, 2]), hidden([0, 0])))


def test_reduce_sum_rejects_bools_and_reduce_all_rejects_numbers():
    with pytest.raises(TypeError, match="DataType bool not in list of allowed values"):
        tf.reduce_sum([True])
    with pytest.raises(TypeError, match="Expected bool passed to parameter 'input' of op 'All'"):
        tf.reduce_all([1])


def test_count_nonzero_counts_nonzero_elements(run):
    assert run(tf.count_nonzero([[0, 1], [2, 3]])) == 3
    assert run(tf.count_nonzero([[0, 1], [2, 3]], axis=1)).tolist() == [1, 2]
    assert run(tf.count_nonzero(["", "a"], dtype=tf.int32)) == 1
    old_names = tf.count_nonzero(input=[[0, 1]], reduction_indices=[1], keep_dims=True)
    assert run(old_names).tolist() == [[1]]


def test_mean_of_integers_does_not_overflow(run):
    for dtype in (np.uint8, np.int8, np.int32, np.uint64):
        largest = np.iinfo(dtype).max >> (dtype == np.uint64)
        assert run(tf.reduce_mean(np.array([largest, largest], dtype))) == largest
    assert run(tf.reduce_mean([-7, -2])) == -4


class TestArg:
    def test_argmax_returns_the_first_of_equal_elements(self, run):
        assert run(tf.argmax([1, 3, 3, 2])) == 1
        assert run(tf.argmin([[5, 1], [0, 3]], axis=1)).tolist() == [1, 0]

    def test_argmax_has_the_requested_type(self):
        x = tf.zeros([2, 3])
        assert (tf.argmax(x, 1).dtype, tf.argmax(x, 1).shape) == (tf.int64, [2])
        assert tf.argmin(x, output_type=tf.int32).dtype == tf.int32
        assert tf.argmax(x, dimension=0).shape == [3]

    def test_argmax_has_old_names(self, run):
        assert run(tf.arg_max([[1, 3], [4, 2]], 1)).tolist() == [1, 0]
        assert run(tf.arg_min([[1, 3], [4, 2]], 1)).tolist() == [0, 1]

    def test_argmax_output_type_must_be_an_integer(self, run, hidden):
        with pytest.raises(TypeError, match="'output_type' has DataType float32 not in list"):
            tf.argmax([1], output_type=tf.float32)

    def test_argmax_ignores_nan(self, run):
        values = [np.nan, 1.0, np.nan, 3.0]
        assert run([tf.argmax(values), tf.argmin(values)]) == [3, 1]
        assert run(tf.argmax([np.nan, np.nan])) == 0

    def test_argmax_axis_must_be_a_scalar(self, run, hidden):
        words = re.escape("dim must be a scalar, but received tensor of shape: [1]")
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.argmax(hidden([1, 2]), hidden([0])))

    def test_argmax_rejects_both_names_of_the_axis(self):
        with pytest.raises(ValueError, match="Cannot specify both 'dimension' and 'axis'"):
            tf.argmax([1], axis=0, dimension=0)

    def test_argmax_rejects_an_axis_out_of_range(self, run, hidden):
        words = re.escape("Dimension (3) must be in the range [-1, 1)")
        with pytest.raises(ValueError, match=words):
            tf.argmax([1, 2], 3)
        words = re.escape("Expected dimension in the range [-1, 1), but got 3")
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.argmax(hidden([1, 2]), hidden(3)))

    def test_argmax_of_an_empty_tensor_is_an_error(self, run):
        words = re.escape("Reduction axis 0 is empty in shape [0]")
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.argmax(tf.zeros([0])))


@given(
    st.lists(st.none() | st.integers(0, 3), max_size=4),
    st.sets(st.integers(0, 3)),
    st.booleans(),
)
def test_static_shape_matches_numpy(sizes, axes, keepdims):
    axes = [axis for axis in axes if axis < len(sizes)]
    with tf.Graph().as_default():
        result = tf.reduce_sum(tf.placeholder(tf.int32, sizes), axes, keepdims)
    zeros = np.zeros([size or 0 for size in sizes])
    assert result.shape.is_compatible_with(np.sum(zeros, tuple(axes), keepdims=keepdims).shape)
    left = [size for axis, size in enumerate(sizes) if axis not in axes]
    assert keepdims or result.shape == left
