import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=8)


@given(PLACES)
def test_scattered_updates_match_numpy(positions):
    values = np.arange(1, len(positions) + 1)
    before = np.arange(12).reshape(3, 4)
    added, changed = np.zeros([3, 4], int), before.copy()
    for position, value in zip(positions, values, strict=True):
        added[position] += value
        changed[position] = value
    with tf.Graph().as_default(), tf.Session() as session:
        completed = session.run(
            [
                tf.scatter_nd(positions, values, [3, 4]),
                tf.tensor_scatter_update(before, positions, values),
                tf.tensor_scatter_add(before, positions, values),
                tf.tensor_scatter_sub(before, positions, values),
            ]
        )
    for array, expected in zip(
        completed, (added, changed, before + added, before - added), strict=True
    ):
        np.testing.assert_array_equal(array, expected)


def test_scatter_indices_can_select_slices(run):
    rows = tf.scatter_nd([[2], [0]], [[1.0, 2.0], [3.0, 4.0]], [3, 2])
    assert (rows.shape, run(rows).tolist()) == ((3, 2), [[3, 4], [0, 0], [1, 2]])
    words = tf.tensor_scatter_update(["a", "b"], [[1]], ["c"])
    assert run(words).tolist() == [b"a", b"c"]


def test_invalid_indices_and_updates_are_rejected(run, hidden):
    with pytest.raises(ValueError, match=r"Dimensions \[0,1\) of indices"):
        tf.scatter_nd([[0], [1]], [1.0], [3])
    with pytest.raises(ValueError, match="of input"):
        tf.tensor_scatter_update([1.0, 2.0], [[0, 0]], [1.0])
    for output, words in (
        (tf.scatter_nd(hidden([[0], [3]]), hidden([1, 2]), [3]), r"indices\[1\] = \[3\] does not"),
        (tf.scatter_nd(hidden([[0]]), hidden([1, 2]), [3]), "of indices"),
        (tf.tensor_scatter_add(hidden([1]), hidden([[-1]]), hidden([1])), "does not index into"),
    ):
        with pytest.raises(IAE, match=words):
            run(output)
