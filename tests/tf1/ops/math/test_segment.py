import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
FUNCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("how", FUNCTIONS)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), min_size=1, max_size=9))
def test_rows_of_one_segment_are_combined(how, given_rows):
    given_rows.sort(key=lambda pair: pair[0])
    numbers, values = np.array(given_rows).T
    with tf.Graph().as_default(), tf.Session() as session:
        ordered = session.run(getattr(tf, f"segment_{how}")(values, numbers))
        shuffled = session.run(
            getattr(tf, f"unsorted_segment_{how}")(values[::-1], numbers[::-1], 5)
        )
    assert len(ordered) == numbers[-1] + 1
    for number in set(numbers.tolist()):
        expected = FUNCTIONS[how](values[numbers == number])
        assert ordered[number] == shuffled[number] == expected


def test_segments_without_rows_have_the_neutral_element(run):
    def result_of(how):
        return run(getattr(tf, f"unsorted_segment_{how}")([1.0, 2.0], [0, -1], 2)).tolist()

    least = float(np.finfo(np.float32).min)
    assert [result_of(how) for how in ("sum", "prod", "max", "min", "mean", "sqrt_n")] == [
        *([1, 0], [1, 1], [1, least], [1, -least], [1, 0], [1, 0]),
    ]
    assert run(tf.segment_prod([2.0], [1])).tolist() == [1, 2]
    assert run(tf.segment_mean([3, 4, 9], [0, 0, 2])).tolist() == [3, 0, 9]


def test_segment_means_cover_all_rows_of_a_segment(run):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]
    assert run(tf.segment_mean(rows, [0, 0, 1])).tolist() == [[2, 3], [5, 7]]
    means = tf.unsorted_segment_mean(rows, [1, 1, 0], 2)
    assert (means.shape, run(means).tolist()) == ((2, 2), [[5, 7], [2, 3]])
    roots = run(tf.unsorted_segment_sqrt_n(rows, [[0, 1], [0, 1], [0, 0]], 2))
    np.testing.assert_allclose(roots, [16 / 2, 6 / 2**0.5], rtol=1e-6)


def test_invalid_segment_ids_are_rejected(run, hidden):
    with pytest.raises(ValueError, match="does not start with"):
        tf.unsorted_segment_sum([1.0, 2.0], [0], 1)
    for output, words in (
        (tf.segment_sum(hidden([1, 2]), hidden([1, 0])), "segment ids are not increasing"),
        (tf.segment_sum(hidden([1, 2]), hidden([-1, 0])), "segment ids must be >= 0"),
        (tf.segment_sum(hidden([1, 2]), hidden([0])), "the same size as dimension 0"),
        (tf.segment_sum(hidden([1]), hidden(0)), "segment_ids should be a vector"),
        (
            tf.unsorted_segment_sum(hidden([1]), hidden([2]), 2),
            r"\[0\] = 2 is out of range \[0, 2\)",
        ),
        (tf.unsorted_segment_sum(hidden([1]), hidden([0]), hidden(-1)), "must not be negative"),
        (tf.unsorted_segment_sum(hidden([1]), hidden([0, 1]), 2), "does not start with"),
    ):
        with pytest.raises(IAE, match=words):
            run(output)
