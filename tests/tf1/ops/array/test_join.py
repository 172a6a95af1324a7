import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


def names():
    return [op.name for op in tf.get_default_graph().get_operations()]


class TestStack:
    @pytest.mark.parametrize(("axis", "shape"), [(0, (3, 2)), (1, (2, 3)), (-1, (2, 3))])
    def test_stack_adds_an_axis(self, run, axis, shape):
        parts = [tf.constant([1, 2]), [3, 4], tf.constant([5, 6])]
        result = tf.stack(parts, axis)
        assert (result.op.name, result.op.type) == ("stack", "Pack")
        assert result.shape == shape
        assert np.array_equal(run(result), np.stack([[1, 2], [3, 4], [5, 6]], axis))

    @pytest.mark.parametrize("dtype", ["int8", "float32", "complex64", "complex128"])
    @pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (0, 3)])
    def test_stack_joins_elements_of_any_size(self, run, dtype, shape):
        parts = [np.arange(np.prod(shape)).reshape(shape).astype(dtype) + n for n in range(3)]
        for axis in range(len(shape) + 1):
            result = run(tf.stack([tf.identity(part) for part in parts], axis))
            assert result.dtype == dtype
            assert np.array_equal(result, np.stack(parts, axis))

    def test_stack_of_constants_is_a_constant(self):
        assert tf.stack([1, 2]).op.type == "Const"
        assert names() == ["stack"]

    def test_stack_merges_known_dimensions(self):
        x, y = tf.placeholder(tf.int32, [None, 2]), tf.placeholder(tf.int32, [3, None])
        assert tf.stack([x, y]).shape == [2, 3, 2]

    def test_stack_works_on_strings(self, run):
        assert run(tf.stack([tf.constant("a"), tf.constant("b")])).tolist() == [b"a", b"b"]

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (
                lambda: tf.stack([tf.zeros([2]), tf.zeros([3])]),
                ValueError,
                "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and "
                "[3].\n\tFrom merging shape 0 with other shapes. for 'stack",
            ),
            (lambda: tf.stack([tf.zeros([2])], 3), ValueError, "axis = 3 not in [-2, 2)"),
            (
                lambda: tf.stack([tf.zeros([]), tf.constant(1)]),
                TypeError,
                "Tensors in list passed to 'values' of 'Pack' Op have types [float32, int32] that "
                "don't all match.",
            ),
            (lambda: tf.stack(3, 1), TypeError, "Expected list for 'values' argument to 'Pack'"),
        ],
    )
    def test_stack_rejects_incompatible_parts(self, make, error, words):
        with pytest.raises(error, match=re.escape(words)):
            make()

    def test_stack_checks_unknown_shapes_at_run_time(self, run, hidden):
        words = "Shapes of all inputs must match: values[0].shape = [1] != values[1].shape = [2]"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.stack([hidden([1]), hidden([1, 2])]))
        with pytest.raises(IAE, match=re.escape("axis = 3 not in [-2, 2)")):
            run(tf.stack([hidden([1]), hidden([2])], axis=3))


class TestUnstack:
    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_unstack_splits_along_an_axis(self, run, axis):
        value = np.arange(6).reshape(2, 3)
        parts = tf.unstack(tf.constant(value), axis=axis)
        assert parts[0].op.name == "unstack"
        assert len(parts) == value.shape[axis]
        assert [part.shape == run(part).shape for part in parts] == [True] * len(parts)
        assert np.array_equal(np.stack(run(parts), axis), value)

    def test_unstack_returns_a_list_even_for_one_part(self, run):
        assert run(tf.unstack([[7]])) == [np.array([7])]

    def test_unstack_accepts_num_for_an_unknown_shape(self, run, hidden):
        parts = tf.unstack(hidden([1, 2]), num=2)
        assert parts[0].shape.rank is None
        assert run(parts) == [1, 2]
        with pytest.raises(IAE, match=re.escape("Input shape axis 0 must equal 3, got shape [2]")):
            run(tf.unstack(hidden([1, 2]), num=3))

    @pytest.mark.parametrize(
        ("shape", "arguments", "words"),
        [
            (None, {}, "Cannot infer num from shape <unknown>"),
            ([None], {}, "Cannot infer num from shape (?,)"),
            ([2], {"num": 3}, "Dimension must be 3 but is 2"),
            ([2], {"axis": 3}, "axis = 3 not in [-1, 1)"),
            ([], {}, "axis = 0 not in [0, 0)"),
        ],
    )
    def test_unstack_rejects_values_of_unknown_size(self, shape, arguments, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.unstack(tf.placeholder(tf.int32, shape), **arguments)


class TestConcat:
    @pytest.mark.parametrize("axis", [0, 1, -1, -2])
    def test_concat_joins_along_an_axis(self, run, axis):
        a, b = np.ones([2, 2], np.int32), np.zeros([2, 2], np.int32)
        result = tf.concat([a, tf.constant(b)], axis)
        expected = np.concatenate([a, b], axis)
        assert result.shape == expected.shape
        assert np.array_equal(run(result), expected)

    def test_concat_accepts_the_legacy_argument_order(self, run):
        assert run(tf.concat(0, [[1, 2], [3]])).tolist() == [1, 2, 3]
        assert run(tf.concat(0, [tf.constant(1), 2])).tolist() == [1, 2]

    def test_concat_names_match_tensorflow(self):
        x = tf.placeholder(tf.int32, [2], name="x")
        tf.concat([x, [1]], 0)
        tf.concat([x], 0)
        assert names() == [
            *("x", "concat/values_1", "concat/axis", "concat"),
            *("concat_1/concat_dim", "concat_1/concat"),
        ]

    def test_concat_works_on_strings(self, run):
        assert run(tf.concat([["a"], ["b", "c"]], 0)).tolist() == [b"a", b"b", b"c"]

    @pytest.mark.parametrize(
        ("shapes", "axis", "result"),
        [
            ([[None, 2], [3, None]], 0, [None, 2]),
            ([[None], [2]], 0, [None]),
            ([None, [2]], 0, [None]),
            ([None, None], 0, None),
        ],
    )
    def test_concat_keeps_known_dimensions(self, shapes, axis, result):
        parts = [tf.placeholder(tf.int32, shape) for shape in shapes]
        shape = tf.concat(parts, axis).shape
        assert (None if shape.rank is None else shape.as_list()) == result

    @pytest.mark.parametrize(
        ("shapes", "axis", "words"),
        [
            ([[2, 3], [2, 4]], 0, "Dimension 0 in both shapes must be equal, but are 3 and 4."),
            ([[2], [2]], 1, "Shape must be at least rank 2 but is rank 1"),
            ([[], []], 0, "Can't concatenate scalars (use tf.stack instead)"),
            ([], 0, "List argument 'values' to 'ConcatV2' Op with length 0 shorter than minimum"),
        ],
    )
    def test_concat_rejects_incompatible_parts(self, shapes, axis, words):
        parts = [tf.placeholder(tf.int32, shape) for shape in shapes]
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.concat(parts, axis)

    @pytest.mark.parametrize(
        ("parts", "axis", "words"),
        [
            ([[1], [[1, 2]]], 0, "ConcatOp : Ranks of all input tensors should match: shape[0] = "),
            (
                [[[1]], [[1, 2]]],
                0,
                "ConcatOp : Dimensions of inputs should match: shape[0] = [1,1]",
            ),
            ([[1], [1]], 3, "ConcatOp : Expected concatenating dimensions in the range [-1, 1), "),
            ([1, 1], 0, "ConcatOp : Can't concatenate scalars (use tf.stack instead)"),
        ],
    )
    def test_concat_checks_unknown_shapes_at_run_time(self, run, hidden, parts, axis, words):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.concat([hidden(part) for part in parts], hidden(axis)))


def test_unstack_rejects_an_axis_out_of_range(run, hidden):
    with pytest.raises(IAE, match=re.escape("axis = 1 not in [-1, 1)")):
        run(tf.unstack(hidden([1, 2]), 2, axis=1))


class TestSplit:
    def test_split_returns_equal_parts(self, run):
        parts = tf.split(np.arange(12).reshape(4, 3), 2)
        assert (parts[0].op.type, parts[0].shape) == ("Split", (2, 3))
        assert [part.shape for part in run(parts)] == [(2, 3), (2, 3)]
        assert [part.shape for part in tf.split(np.zeros([4, 6]), 3, axis=1)] == [(4, 2)] * 3
        assert run(tf.split([1, 2], 1))[0].tolist() == [1, 2]

    def test_split_returns_parts_of_the_requested_sizes(self, run):
        parts = tf.split([1, 2, 3, 4], [1, -1])
        assert (parts[0].op.type, parts[1].shape) == ("SplitV", [3])
        assert [part.tolist() for part in run(parts)] == [[1], [2, 3, 4]]

    def test_split_accepts_sizes_known_only_at_run_time(self, run):
        sizes = tf.placeholder_with_default([1, 3], [2])
        parts = tf.split([1, 2, 3, 4], sizes)
        assert parts[0].shape.as_list() == [None]
        assert [part.tolist() for part in run(parts)] == [[1], [2, 3, 4]]

    @pytest.mark.parametrize(
        ("sizes", "arguments", "words"),
        [
            (3, {}, "Dimension size must be evenly divisible by 3 but is 4"),
            ([1, 2], {}, "can't split axis of size 4 into pieces of size [1,2]"),
            ([-1, -1], {}, "size_splits can only have one -1"),
            ([5, -1], {}, "can't split axis of size 4 into pieces of size [5,-1]"),
            (0, {}, "Attr 'num_split' of 'Split' Op passed 0 less than minimum 1."),
            (2, {"axis": 3}, "Dimension size, given by scalar input 3 must be in range [-1, 1)"),
        ],
    )
    def test_split_rejects_parts_that_do_not_fill_the_axis(self, sizes, arguments, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.split(tf.zeros([4]), sizes, **arguments)

    def test_split_requires_an_int_or_a_vector(self):
        words = "Rank-0 tensors are not supported as the num_or_size_splits argument to split."
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.split(tf.zeros([4]), tf.constant(2))

    def test_split_requires_a_known_number_of_parts(self):
        sizes = tf.placeholder(tf.int32, [None])
        with pytest.raises(ValueError, match="Cannot infer num from shape"):
            tf.split(tf.zeros([4]), sizes)
        assert len(tf.split(tf.zeros([4]), sizes, num=3)) == 3

    def test_split_checks_unknown_shapes_at_run_time(self, run, hidden):
        words = "split_dim 0 (size = 3) and num_split 2"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.split(hidden([1, 2, 3]), 2))

    @pytest.mark.parametrize(
        ("sizes", "axis", "words"),
        [
            ([1, 1], 0, "Determined shape must either match input shape along split_dim exactly"),
            ([9, -1], 0, "be less than the size of the input along split_dim if not fully specifi"),
            ([-1, -1], 0, "There can only be one -1 in the input."),
            ([-2, 5], 0, "Split size at index 0 must be >= 0. Got: -2"),
            ([1, 2], 1, "-input rank(-1) <= split_dim < input rank (1), but got 1"),
            (2, -2, "-input rank(-1) <= split_dim < input rank (1), but got -2"),
        ],
    )
    def test_split_rejects_invalid_sizes_at_run_time(self, run, hidden, sizes, axis, words):
        sizes = sizes if isinstance(sizes, int) else hidden(sizes)
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.split(hidden([1, 2, 3]), sizes, hidden(axis), num=2))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(0, 1))
def test_split_parts_can_be_concatenated_again(sizes, axis):
    shape = [2, 2]
    shape[axis] = sum(sizes)
    value = np.arange(int(np.prod(shape))).reshape(shape)
    with tf.Graph().as_default(), tf.Session() as session:
        parts = tf.split(value, sizes, axis)
        assert [part.shape[axis].value for part in parts] == sizes
        assert np.array_equal(session.run(tf.concat(parts, axis)), value)
