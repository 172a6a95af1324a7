import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
VALUE = np.arange(12).reshape(3, 4)


class TestGather:
    @pytest.mark.parametrize("indices", [2, [0, 2], [[1], [1]], []])
    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_gather_selects_slices(self, run, indices, axis):
        indices = np.array(indices, np.int32)
        result = tf.gather(VALUE, indices, axis=axis)
        expected = np.take(VALUE, indices, axis)
        assert (result.op.name, result.shape) == ("GatherV2", expected.shape)
        assert np.array_equal(run(result), expected)

    def test_gather_works_on_strings(self, run):
        assert run(tf.gather(["a", "b"], [1, 0])).tolist() == [b"b", b"a"]
        assert run(tf.gather(["a", "b"], 1)) == b"b"

    @pytest.mark.parametrize(
        ("indices", "words"),
        [
            (2, "indices = 2 is not in [0, 2)"),
            (-1, "indices = -1 is not in [0, 2)"),
            ([0, 7], "indices[1] = 7 is not in [0, 2)"),
            ([[0, 7]], "indices[0,1] = 7 is not in [0, 2)"),
        ],
    )
    def test_gather_fails_for_indices_out_of_range(self, run, indices, words):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.gather([1, 2], indices))

    def test_gather_supports_batch_dimensions(self, run):
        result = tf.gather(VALUE, [[0], [1], [2]], axis=1, batch_dims=1)
        assert result.shape == [3, 1]
        assert run(result).tolist() == [[0], [5], [10]]

    def test_gather_fails_at_run_time_for_an_axis_out_of_range(self, run, hidden):
        words = "Expected axis in the range [-2, 2), but got 2"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.gather(hidden(VALUE), [0], axis=hidden(2)))
        with pytest.raises(IAE, match="params must be at least 1 dimensional"):
            run(tf.gather(hidden(1), [0]))

    def test_gather_rank_is_known_for_an_unknown_axis(self):
        result = tf.gather(VALUE, [[0]], axis=tf.placeholder(tf.int32, []))
        assert result.shape.as_list() == [None, None, None]

    def test_gather_rejects_scalars_and_float_indices(self):
        with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
            tf.gather(1, 0)
        with pytest.raises(TypeError, match="Value passed to parameter 'indices' has DataType fl"):
            tf.gather([1], 0.5)


class TestGatherNd:
    def test_gather_nd_selects_by_index_rows(self, run):
        assert run(tf.gather_nd(VALUE, [[0, 1], [2, 3]])).tolist() == [1, 11]
        assert run(tf.gather_nd(VALUE, [[1]])).tolist() == [[4, 5, 6, 7]]
        assert tf.gather_nd(VALUE, [[1]]).shape == [1, 4]

    def test_gather_nd_fails_for_indices_out_of_range(self, run):
        words = "indices[1] = [0, -1] does not index into param shape [3,4]"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.gather_nd(VALUE, [[0, 0], [0, -1]]))

    def test_gather_nd_supports_batch_dimensions(self, run):
        result = tf.gather_nd(VALUE, [[1], [0], [3]], batch_dims=1)
        assert result.shape == [3]
        assert run(result).tolist() == [1, 4, 11]

    def test_gather_nd_with_empty_index_rows_selects_everything(self, run):
        result = tf.gather_nd(VALUE, np.zeros([2, 0], np.int32))
        assert np.array_equal(run(result), [VALUE, VALUE])

    def test_gather_nd_rejects_index_rows_that_are_too_long(self, run, hidden):
        words = "indices.shape[-1] must be <= params.rank, but saw indices shape: [1,3] and params"
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.gather_nd(VALUE, [[0, 0, 0]])
        with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
            tf.gather_nd(VALUE, 1)
        words = "index innermost dimension length must be <= params rank; saw: 3 vs. 2"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.gather_nd(hidden(VALUE), hidden([[0, 0, 0]])))


class TestBooleanMask:
    @pytest.mark.parametrize(
        ("mask", "axis", "sizes"),
        [
            ([True, False, True], None, [None, 4]),
            ([True, False, True, True], 1, [3, None]),
            ((VALUE % 2 == 0).tolist(), None, [None]),
        ],
    )
    def test_boolean_mask_keeps_true_rows(self, run, mask, axis, sizes):
        result = tf.boolean_mask(VALUE, mask, axis=axis)
        assert result.shape.as_list() == sizes
        key = (slice(None),) * (axis or 0) + (np.array(mask),)
        assert np.array_equal(run(result), VALUE[key])

    def test_boolean_mask_keeps_known_dimensions(self):
        mask = tf.placeholder(tf.bool, [None])
        x = tf.placeholder(tf.int32, [None, 3])
        assert tf.boolean_mask(x, mask).shape.as_list() == [None, 3]
        assert tf.boolean_mask(tf.placeholder(tf.int32), mask).shape.rank is None

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ([], "mask cannot be scalar."),
            (None, "Number of mask dimensions must be specified, even if some dimensions are None"),
            ([5], "Shapes (3,) and (5,) are incompatible"),
        ],
    )
    def test_boolean_mask_rejects_incompatible_masks(self, shape, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.boolean_mask(VALUE, tf.placeholder(tf.bool, shape))

    def test_boolean_mask_treats_nonzero_numbers_as_true(self, run):
        assert run(tf.boolean_mask([5, 6, 7], [2, 0, -1])).tolist() == [5, 7]

    def test_boolean_mask_fails_at_run_time_for_a_mask_that_is_too_long(self, run, hidden):
        mask = tf.placeholder_with_default([True, False, True], [None])
        with pytest.raises(IAE, match=re.escape("indices[1] = 2 is not in [0, 2)")):
            run(tf.boolean_mask(hidden([1, 2]), mask))


class TestWhere:
    def test_where_returns_the_indices_of_true_elements(self, run):
        result = tf.where([[True, False], [True, True]])
        assert (result.op.type, result.dtype, result.shape.as_list()) == (
            "Where",
            tf.int64,
            [None, 2],
        )
        assert run(result).tolist() == [[0, 0], [1, 0], [1, 1]]
        assert run(tf.where([1, 0, 2])).tolist() == [[0], [2]]

    @pytest.mark.parametrize(
        ("condition", "value"),
        [
            ([[True, False], [False, True]], [[1, 20], [30, 4]]),
            ([True, False], [[1, 2], [30, 40]]),
            (True, [[1, 2], [3, 4]]),
        ],
    )
    def test_where_selects_from_two_tensors(self, run, condition, value):
        result = tf.where(condition, [[1, 2], [3, 4]], [[10, 20], [30, 40]])
        assert (result.op.name, result.shape) == ("Select", [2, 2])
        assert run(result).tolist() == value

    def test_where_selects_strings(self, run):
        assert run(tf.where([True, False], ["a", "b"], ["c", "d"])).tolist() == [b"a", b"d"]

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (([True], [1]), ValueError, "x and y must both be non-None or both be None."),
            (
                ([True, False], [1, 2, 3], [1, 2, 3]),
                ValueError,
                "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]",
            ),
            (([True], 1, [2]), ValueError, "Shapes must be equal rank, but are 0 and 1"),
            (([True], [1], [2.0]), TypeError, "Expected int32 passed to parameter 'e' of op 'Se"),
        ],
    )
    def test_where_rejects_incompatible_arguments(self, arguments, error, words):
        with pytest.raises(error, match=re.escape(words)):
            tf.where(*arguments)

    def test_where_checks_unknown_shapes_at_run_time(self, run, hidden):
        words = "'then' and 'else' must have the same size.  but received: [1,2] vs. [1,1]"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.where(hidden([True]), hidden([[1, 2]]), hidden([[1]])))
        words = "Number of batches of 'then' must match size of 'cond', but saw: 1 vs. 2"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.where(hidden([True, True]), hidden([[1, 2]]), hidden([[1, 2]])))
        with pytest.raises(IAE, match="'then' must be at least a vector, but saw shape"):
            run(tf.where(hidden([True]), hidden(1), hidden(2)))
        words = "must have the same size and shape.  Input 0: [1] != input 1: [2]"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.where(hidden([True]), hidden([1, 2]), hidden([1, 2])))
        words = "'then' and 'else' must have the same size.  but received: [2] vs. [1]"
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.where(hidden(True), hidden([1, 2]), hidden([1])))


def test_where_rejects_scalars_and_strings(run):
    with pytest.raises(IAE, match="WhereOp : Unhandled input dimensions: 0"):
        run(tf.where(True))
    with pytest.raises(TypeError, match="'input' has DataType string not in list of allowed"):
        tf.where(["a"])


class TestOneHot:
    def test_one_hot_marks_the_index(self, run):
        result = tf.one_hot([0, 2, 5, -1], 3)
        assert (result.op.name, result.dtype, result.shape) == ("one_hot", tf.float32, [4, 3])
        assert run(result).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]

    @pytest.mark.parametrize(("axis", "shape"), [(0, (3, 2)), (-1, (2, 3)), (1, (2, 3))])
    def test_one_hot_can_insert_the_new_axis_anywhere(self, run, axis, shape):
        result = tf.one_hot([0, 1], 3, axis=axis)
        assert result.shape == shape
        assert run(result).shape == shape

    def test_one_hot_accepts_values_and_a_type(self, run):
        assert run(tf.one_hot(1, 3, on_value=5, off_value=1)).tolist() == [1, 5, 1]
        assert run(tf.one_hot(1, 3, on_value="y", off_value="n")).tolist() == [b"n", b"y", b"n"]
        assert tf.one_hot(1, 3, dtype=tf.uint8).dtype == tf.uint8
        assert tf.one_hot(1, tf.placeholder(tf.int32, [])).shape.as_list() == [None]

    def test_one_hot_rejects_values_of_different_types(self):
        words = "dtype <dtype: 'float32'> of on_value does not match dtype <dtype: 'int32'> of off"
        with pytest.raises(TypeError, match=re.escape(words)):
            tf.one_hot(1, 3, on_value=1.5, off_value=2)
        words = (
            "dtype <dtype: 'float32'> of on_value does not match dtype parameter <dtype: 'int32'"
        )
        with pytest.raises(TypeError, match=re.escape(words)):
            tf.one_hot(1, 3, on_value=1.5, dtype=tf.int32)

    @pytest.mark.parametrize(
        ("depth", "arguments", "words"),
        [
            (3, {"axis": -2}, "axis must be >= -1"),
            (-2, {}, "Dimension size, given by scalar input 1, must be non-negative but is -2"),
            ([2], {}, "Input must be scalar but has rank 1"),
        ],
    )
    def test_one_hot_rejects_an_invalid_axis_or_depth(self, depth, arguments, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            tf.one_hot([0, 1], depth, **arguments)

    @pytest.mark.parametrize(
        ("depth", "arguments", "words"),
        [
            (3, {"axis": 2}, "Expected axis to be -1 or between [0, 2).  But received: 2"),
            (-2, {}, "depth must be non-negative, got: -2"),
            (3, {"on_value": [1.0]}, "on_value must be a scalar, but got: [1]"),
            (3, {"off_value": [1.0]}, "off_value must be a scalar, but got: [1]"),
        ],
    )
    def test_one_hot_fails_at_run_time_for_invalid_values(
        self, run, hidden, depth, arguments, words
    ):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.one_hot(hidden([0, 1]), hidden(depth), **arguments))


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_boolean_mask_equals_gathering_the_true_positions(mask):
    value = np.arange(2 * len(mask)).reshape(len(mask), 2)
    with tf.Graph().as_default(), tf.Session() as session:
        gathered = tf.gather(value, tf.where(mask)[:, 0])
        masked, expected = session.run([tf.boolean_mask(value, mask), gathered])
    assert np.array_equal(masked, expected)
