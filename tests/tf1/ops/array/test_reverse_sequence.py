import numpy as np
import pytest

import headrace.tf1 as tf

CUBE = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(("rows", "axis"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_start_of_each_sequence_is_reversed(run, rows, axis):
    lengths = [position % (CUBE.shape[axis] + 1) for position in range(CUBE.shape[rows])]
    expected = CUBE.copy()
    for position, length in enumerate(lengths):
        index = [slice(None)] * 3
        index[rows], index[axis] = slice(position, position + 1), slice(length)
        expected[tuple(index)] = np.flip(CUBE[tuple(index)], axis)
    result = tf.reverse_sequence(CUBE, lengths, seq_dim=axis, batch_dim=rows)
    assert result.shape == CUBE.shape
    np.testing.assert_array_equal(run(result), expected)


def test_invalid_lengths_and_axes_are_rejected(run, hidden):
    with pytest.raises(TypeError, match="seq_axis is None, but it is required"):
        tf.reverse_sequence(CUBE, [1, 1])
    with pytest.raises(ValueError, match=r"seq_dim must be < input rank: 3 vs\. 3"):
        tf.reverse_sequence(CUBE, [1, 1], 3)
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
        tf.reverse_sequence(CUBE, [1, 1, 1], 1)
    for lengths, axis, words in (
        ([1, 4], 1, r"seq_lengths\(1\) is 4, not in \[0, 3\]"),
        ([1], 1, "Length of seq_lengths != input.dims"),
        ([1, 1], 0, "batch_dim == seq_dim == 0"),
        ([1, 1], 3, "must be < input rank: 3"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.reverse_sequence(hidden(CUBE), hidden(lengths), axis))
