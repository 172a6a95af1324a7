import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf


class TestReshape:
    def test_reshape_keeps_the_elements(self, run):
        assert run(tf.reshape([1, 2, 3, 4], [2, 2])).tolist() == [[1, 2], [3, 4]]
        assert run(tf.reshape(["a", "b"], [2, 1])).tolist() == [[b"a"], [b"b"]]
        assert run(tf.reshape([7], [])) == 7

    @pytest.mark.parametrize(
        ("old", "new", "result"),
        [
            ([6], [2, -1], [2, 3]),
            (None, [2, -1], [2, None]),
            ([None, 3], [-1], [None]),
            ([0], [0, -1], [0, None]),
            ([6], [-1, -1], [None, None]),
            ([2, 3], [], None),
        ],
    )
    def test_reshape_infers_the_omitted_size(self, old, new, result):
        x = tf.placeholder(tf.int32, old)
        if result is None:
            with pytest.raises(ValueError, match="Cannot reshape a tensor with 6 elements"):
                tf.reshape(x, new)
        else:
            assert tf.reshape(x, new).shape.as_list() == result

    def test_reshape_can_depend_on_the_input_shape(self, run):
        x = tf.placeholder_with_default([[1, 2, 3], [4, 5, 6]], [None, 3])
        flat = tf.reshape(x, [tf.shape(x)[0] * 3])
        assert flat.shape.as_list() == [None]
        assert run(flat).tolist() == [1, 2, 3, 4, 5, 6]

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ([5], [2, -1], "Dimension size must be evenly divisible by 2 but is 5 for 'Reshape'"),
            ([6], [4], "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)"),
            ([6], [-2, 3], "Invalid value in tensor used for shape: -2"),
            ([6], 6, "Shape must be rank 1 but is rank 0"),
        ],
    )
    def test_reshape_rejects_incompatible_shapes(self, old, new, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.reshape(tf.placeholder(tf.int32, old), new)

    @pytest.mark.parametrize(
        ("new", "words"),
        [
            ([2], "Input to reshape is a tensor with 3 values, but the requested shape has 2"),
            ([2, -1], "but the requested shape requires a multiple of 2"),
            ([-1, -1], "Only one input size may be -1, not both 0 and 1"),
        ],
    )
    def test_reshape_checks_unknown_shapes_at_run_time(self, run, hidden, new, words):
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.reshape(hidden([1, 2, 3]), hidden(new)))


class TestExpandDims:
    @pytest.mark.parametrize(("axis", "shape"), [(0, (1, 2, 3)), (1, (2, 1, 3)), (-1, (2, 3, 1))])
    def test_expand_dims_adds_an_axis(self, run, axis, shape):
        result = tf.expand_dims(tf.zeros([2, 3]), axis)
        assert result.shape == shape
        assert run(result).shape == shape

    def test_expand_dims_shape_is_unknown_for_an_unknown_axis(self):
        x = tf.placeholder(tf.int32, [2])
        assert tf.expand_dims(x, tf.placeholder(tf.int32, [])).shape.rank is None
        assert tf.expand_dims(tf.placeholder(tf.int32), 0).shape.rank is None

    def test_expand_dims_requires_a_single_axis(self, run, hidden):
        with pytest.raises(ValueError, match="'dim' input must be a tensor with a single value"):
            tf.expand_dims([1], [0, 1])
        words = "'dim' must be a tensor with a single value"
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.expand_dims([1], hidden([0, 1])))

    def test_expand_dims_accepts_dim_as_an_old_name_of_axis(self):
        assert tf.expand_dims([1], dim=0).shape == [1, 1]
        with pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
            tf.expand_dims([1], 0, dim=0)
        with pytest.raises(ValueError, match=r"Must specify an axis argument to tf.expand_dims"):
            tf.expand_dims([1])

    def test_expand_dims_rejects_an_axis_out_of_range(self, run, hidden):
        with pytest.raises(ValueError, match=re.escape("dim 5 not in the interval [-2, 1].")):
            tf.expand_dims([1], 5)
        words = "Tried to expand dim index 4 for tensor with 1 dimensions."
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.expand_dims(hidden([1]), hidden(4)))


class TestSqueeze:
    @pytest.mark.parametrize(
        ("axis", "shape"), [(None, (2,)), ([0], (2, 1)), (-1, (1, 2)), ([0, 2], (2,))]
    )
    def test_squeeze_removes_axes_of_size_one(self, run, hidden, axis, shape):
        value = np.zeros([1, 2, 1])
        assert tf.squeeze(value, axis).shape == shape
        assert run(tf.squeeze(value, axis)).shape == shape
        assert run(tf.squeeze(hidden(value), axis)).shape == shape

    def test_squeeze_shape_is_unknown_for_an_unknown_size(self):
        x = tf.placeholder(tf.int32, [1, None])
        assert tf.squeeze(x).shape.rank is None
        assert tf.squeeze(x, [1]).shape == [1]
        assert tf.squeeze(x, squeeze_dims=[0]).shape.as_list() == [None]

    def test_squeeze_rejects_axes_longer_than_one(self, run, hidden):
        words = "Can not squeeze dim[0], expected a dimension of 1, got 2"
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.squeeze([1, 2], 0)
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.squeeze(hidden([1, 2]), 0))
        with pytest.raises(ValueError, match=re.escape("squeeze_dims[0] not in [-1,1).")):
            tf.squeeze([1], 3)
        words = "Tried to squeeze dim index 3 for tensor with 1 dimensions."
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.squeeze(hidden([1]), 3))
        with pytest.raises(ValueError, match="Cannot specify both 'squeeze_dims' and 'axis'"):
            tf.squeeze([1], 0, squeeze_dims=0)


class TestTranspose:
    @pytest.mark.parametrize("perm", [None, [1, 2, 0], [0, 2, 1]])
    def test_transpose_permutes_the_axes(self, run, hidden, perm):
        value = np.arange(24).reshape(2, 3, 4)
        expected = np.transpose(value, perm)
        assert tf.transpose(value, perm).shape == expected.shape
        assert np.array_equal(run(tf.transpose(value, perm)), expected)
        assert np.array_equal(run(tf.transpose(hidden(value), perm)), expected)

    def test_transpose_keeps_known_dimensions(self):
        x = tf.placeholder(tf.int32, [None, 3])
        assert tf.transpose(x).shape.as_list() == [3, None]
        assert tf.transpose(x, tf.placeholder(tf.int32, [2])).shape.as_list() == [None, None]
        assert tf.transpose(tf.placeholder(tf.int32), [1, 0]).shape.as_list() == [None, None]

    def test_transpose_conjugates_if_requested(self, run):
        assert run(tf.transpose([[1 + 2j]], conjugate=True)).tolist() == [[1 - 2j]]

    def test_transpose_works_on_strings(self, run):
        assert run(tf.transpose([["a", "b"]])).tolist() == [[b"a"], [b"b"]]

    @pytest.mark.parametrize(
        ("perm", "static", "words"),
        [
            (
                [0],
                "Dimension must be 2 but is 1",
                "transpose expects a vector of size 2. But input",
            ),
            ([0, 5], "perm dim 5 is out of range of input rank 2", "5 is out of range [0 .. 2)"),
            ([0, 0], None, "1 is missing from {0,0}."),
        ],
    )
    def test_transpose_rejects_an_invalid_permutation(self, run, hidden, perm, static, words):
        if static is not None:
            with pytest.raises(ValueError, match=re.escape(static)):
                tf.transpose([[1, 2]], perm)
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.transpose(hidden([[1, 2]]), hidden(perm)))


class TestEnsureShape:
    def test_ensure_shape_passes_a_matching_tensor(self, run, hidden):
        result = tf.ensure_shape(hidden([[1, 2]]), [None, 2])
        assert result.shape.as_list() == [None, 2]
        assert run(result).tolist() == [[1, 2]]
        expected = tf.ensure_shape(tf.placeholder(tf.int32, [None, 3]), [4, None])
        assert expected.shape == [4, 3]

    def test_ensure_shape_rejects_a_mismatched_shape(self, run, hidden):
        with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal, but are 3"):
            tf.ensure_shape([1, 2], [3])
        words = "Shape of tensor [2] is not compatible with expected shape [?,?]."
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            run(tf.ensure_shape(hidden([1, 2]), [None, None]))


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_static_shape_of_a_transpose_matches_its_value(perm, sizes):
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.transpose(np.zeros(sizes), perm)
        assert session.run(result).shape == tuple(result.shape.as_list())
