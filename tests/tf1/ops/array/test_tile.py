import re

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


class TestTile:
    def test_tile_repeats_along_each_axis(self, run):
        result = tf.tile([[1, 2]], [2, 2])
        assert result.shape == [2, 4]
        assert run(result).tolist() == [[1, 2, 1, 2]] * 2
        assert run(tf.tile(["a"], [3])).tolist() == [b"a"] * 3

    def test_tile_keeps_known_dimensions(self):
        x = tf.placeholder(tf.int32, [None, 3])
        assert tf.tile(x, [2, 2]).shape.as_list() == [None, 6]
        assert tf.tile(x, tf.placeholder(tf.int32, [2])).shape.as_list() == [None, None]
        assert tf.tile(tf.placeholder(tf.int32), [2]).shape.as_list() == [None]

    def test_tile_requires_one_multiple_per_axis(self, run, hidden):
        with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 2"):
            tf.tile([1], [2, 1])
        words = "Expected multiples argument to be a vector of length 1 but got length 2"
        with pytest.raises(IAE, match=words):
            run(tf.tile(hidden([1]), hidden([2, 1])))
        with pytest.raises(IAE, match=re.escape("Expected multiples[0] >= 0, but got -1")):
            run(tf.tile(hidden([1]), hidden([-1])))


class TestPad:
    @pytest.mark.parametrize(
        ("mode", "op_type", "value"),
        [
            ("CONSTANT", "Pad", [0, 1, 2, 3, 0, 0]),
            ("reflect", "MirrorPad", [2, 1, 2, 3, 2, 1]),
            ("SYMMETRIC", "MirrorPad", [1, 1, 2, 3, 3, 2]),
        ],
    )
    def test_pad_adds_elements_on_both_sides(self, run, mode, op_type, value):
        result = tf.pad([1, 2, 3], [[1, 2]], mode)
        assert (result.op.type, result.shape) == (op_type, [6])
        assert run(result).tolist() == value

    def test_pad_constant_can_be_chosen(self, run):
        result = tf.pad([[1]], [[0, 1], [1, 0]], constant_values=7)
        assert result.op.type == "PadV2"
        assert run(result).tolist() == [[7, 1], [7, 7]]

    def test_pad_fills_with_empty_strings(self, run):
        assert run(tf.pad(["a"], [[1, 0]])).tolist() == [b"", b"a"]

    def test_pad_keeps_known_dimensions(self):
        assert tf.pad(tf.placeholder(tf.int32, [None]), [[1, 1]]).shape.as_list() == [None]
        amounts = tf.placeholder(tf.int32, [2, 2])
        assert tf.pad(tf.placeholder(tf.int32), amounts).shape.as_list() == [None, None]

    @pytest.mark.parametrize(
        ("amounts", "mode", "words"),
        [
            ([[1, 1], [1, 1]], "CONSTANT", "The first dimension of paddings must be the rank of"),
            ([1, 1], "CONSTANT", "paddings must be a matrix with 2 columns: [2]"),
            ([[-1, 1]], "CONSTANT", "Paddings must be non-negative: -1 1"),
            ([[3, 0]], "REFLECT", "paddings must be less than the dimension size: 3, 0 not less"),
            ([[4, 0]], "SYMMETRIC", "paddings must be no greater than the dimension size: 4, 0"),
        ],
    )
    def test_pad_rejects_invalid_amounts_at_run_time(self, run, hidden, amounts, mode, words):
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.pad(hidden([1, 2, 3]), hidden(amounts), mode))

    def test_pad_rejects_invalid_arguments(self):
        with pytest.raises(ValueError, match="Unknown padding mode: XX"):
            tf.pad([1], [[1, 1]], "xx")
        with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
            tf.pad([1], [[1, 1], [1, 1]])
        with pytest.raises(ValueError, match="Dimension must be 2 but is 3"):
            tf.pad([1], [[1, 1, 1]])
        with pytest.raises(ValueError, match="Paddings must be non-negative"):
            tf.pad([1], [[-1, 1]])

    def test_padding_a_scalar_changes_nothing(self, run):
        assert run(tf.pad(3, np.zeros([0, 2], np.int32))) == 3

    def test_pad_constant_must_be_a_scalar(self, run):
        words = re.escape("constant_values must be a scalar. Found: [1]")
        with pytest.raises(IAE, match=words):
            run(tf.pad([1], [[1, 1]], constant_values=[7]))


class TestReverse:
    @pytest.mark.parametrize("axes", [[0], [-1], [0, 1], []])
    def test_reverse_flips_axes(self, run, axes):
        value = np.arange(6).reshape(2, 3)
        result = tf.reverse(value, tf.constant(axes, tf.int32))
        assert result.shape == (2, 3)
        assert np.array_equal(run(result), np.flip(value, tuple(axes)))

    def test_reverse_rejects_invalid_or_duplicate_axes(self, run, hidden):
        for make, error in ((lambda x: x, ValueError), (hidden, IAE)):
            with pytest.raises(error, match=re.escape("'axis'[0] = 4 is out of valid range [0, 0")):
                run(tf.reverse(make([1]), make([4])))
            with pytest.raises(error, match="axis 0 specified more than once"):
                run(tf.reverse(make([1]), make([0, 0])))
        with pytest.raises(IAE, match="'dims' must be 1-dimension, not 0"):
            run(tf.reverse(hidden([1]), hidden(0)))


class TestRoll:
    @pytest.mark.parametrize(
        ("shift", "axis"), [(1, 0), (-7, 1), (1, -1), ([1, -1], [0, 1]), ([1, 1], [1, 1])]
    )
    def test_roll_shifts_elements(self, run, shift, axis):
        value = np.arange(6).reshape(2, 3)
        result = tf.roll(value, shift, axis)
        assert result.shape == (2, 3)
        assert np.array_equal(run(result), np.roll(value, shift, axis))

    def test_roll_rejects_invalid_axes(self, run, hidden):
        with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
            tf.roll(3, 1, 0)
        with pytest.raises(ValueError, match="Shapes must be equal rank, but are 1 and 0"):
            tf.roll([1, 2], [1, 2], 0)
        for x, shift, axis, words in (
            (3, 1, 0, "input must be 1-D or higher"),
            ([1, 2], [1, 2], 0, "shift and axis must have the same size"),
            ([1, 2], 1, 1, "axis 1 is out of range"),
        ):
            with pytest.raises(IAE, match=words):
                run(tf.roll(hidden(x), hidden(shift), hidden(axis)))
