import numpy as np
import pytest

import headrace.tf1 as tf


def test_unravel_index_converts_flat_positions(run, hidden):
    result = tf.unravel_index([5, 0, 3], [2, 3])
    assert (result.shape, run(result).tolist()) == ((2, 3), [[1, 0, 1], [2, 0, 0]])
    assert run(tf.unravel_index(np.int64(7), np.array([2, 2, 2]))).tolist() == [1, 1, 1]
    for positions, sizes, words in (
        ([6], [2, 3], "index is out of bound as with dims"),
        ([0], [2, 0], "dim of zero"),
        ([[0]], [2, 3], "can only be scalar or vector"),
        ([0], [[2]], "can only be 1-D"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.unravel_index(hidden(positions), hidden(sizes)))
