import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


class TestTopK:
    @pytest.mark.parametrize(
        ("x", "k", "values", "indices"),
        [
            ([1, 3, 2], 1, [3], [1]),
            ([[1, 3, 2], [5, 4, 6]], 2, [[3, 2], [6, 5]], [[1, 2], [2, 0]]),
            ([1, 3, 3, 3], 2, [3, 3], [1, 2]),
            ([1, 2], 0, [], []),
            (np.array([0, 255, 7], np.uint8), 3, [255, 7, 0], [1, 2, 0]),
        ],
    )
    def test_largest_elements_come_first(self, run, x, k, values, indices):
        result = tf.nn.top_k(x, k)
        assert (result.indices.dtype, result.values.shape) == (tf.int32, np.shape(values))
        assert [part.tolist() for part in run(list(result))] == [values, indices]

    def test_nan_comes_last(self, run):
        assert run(tf.nn.top_k([1.0, np.nan, 3.0], 3).indices).tolist() == [2, 0, 1]

    def test_top_k_keeps_known_dimensions(self):
        x = tf.placeholder(tf.float32, [None, 5])
        assert tf.nn.top_k(x, 3).values.shape.as_list() == [None, 3]
        assert tf.nn.top_k(x, tf.placeholder(tf.int32, [])).values.shape.as_list() == [None, None]
        assert tf.nn.top_k(tf.placeholder(tf.float32)).values.shape.rank is None

    @pytest.mark.parametrize(
        ("x", "k", "built", "ran"),
        [
            (
                [1, 2],
                4,
                "input must have last dimension >= k = 4 but is 2",
                "input must have at least k columns. Had 2, needed 4",
            ),
            ([1, 2], -1, "must be non-negative but is -1", "Need k >= 0, got -1"),
            (1, 1, "Shape must be at least rank 1 but is rank 0", "input must be >= 1-D, got"),
        ],
    )
    def test_top_k_rejects_rows_that_are_too_short(self, run, hidden, x, k, built, ran):
        with pytest.raises(ValueError, match=re.escape(built)):
            tf.nn.top_k(x, k)
        with pytest.raises(IAE, match=re.escape(ran)):
            run(tf.nn.top_k(hidden(x), hidden(k)).values)

    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.data())
    def test_top_k_matches_a_stable_sort(self, numbers, data):
        k = data.draw(st.integers(0, len(numbers)))
        with tf.Graph().as_default(), tf.Session() as session:
            indices = session.run(tf.nn.top_k(numbers, k).indices).tolist()
        assert indices == sorted(range(len(numbers)), key=lambda position: -numbers[position])[:k]


class TestInTopK:
    def test_in_top_k_includes_ties(self, run):
        rows = [[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.5, 0.5, 0.5]]
        assert run(tf.nn.in_top_k(rows, [1, 2, 2], 1)).tolist() == [True, False, True]
        assert run(tf.nn.in_top_k(rows, [2, 2, 0], 2)).tolist() == [True, True, True]

    def test_in_top_k_is_false_for_missing_classes_and_infinite_scores(self, run):
        rows = [[0.1, 0.6], [0.1, np.nan], [0.1, np.inf]]
        assert run(tf.nn.in_top_k(rows, [7, 0, 0], 2)).tolist() == [False, False, False]

    def test_in_top_k_rejects_incompatible_shapes(self, run, hidden):
        with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
            tf.nn.in_top_k([0.1], [0], 1)
        with pytest.raises(ValueError, match="Dimensions must be equal, but are 1 and 2"):
            tf.nn.in_top_k([[0.1]], [0, 0], 1)
        for rows, classes, words in (
            ([0.1], [0], "predictions must be 2-dimensional"),
            ([[0.1]], [[0]], "targets must be 1-dimensional"),
            ([[0.1]], [0, 0], "First dimension of predictions 1 must match length of targets 2"),
        ):
            with pytest.raises(IAE, match=words):
                run(tf.nn.in_top_k(hidden(rows), hidden(classes), 1))
