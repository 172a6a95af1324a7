"""Sums and means of some rows, by the number of their segment."""

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
ALL = [tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n]


def test_selected_rows_are_combined(run):
    total, mean, root = (function(ROWS, [0, 2, 3], [0, 0, 2]) for function in ALL)
    assert total.shape.as_list() == [None, 3]
    assert run(total).tolist() == [[6, 8, 10], [0, 0, 0], [9, 10, 11]]
    assert run(mean).tolist() == [[3, 4, 5], [0, 0, 0], [9, 10, 11]]
    np.testing.assert_allclose(run(root)[0], np.array([6, 8, 10]) / np.sqrt(2), rtol=1e-6)


@pytest.mark.parametrize("function", ALL)
def test_number_of_segments_can_be_set(run, function):
    result = function(ROWS, [0, 3], [0, 2], name="n", num_segments=4)
    assert result.op.name == "n"
    assert result.op.type.endswith("WithNumSegments")
    assert result.shape.as_list() == [4, 3]
    assert run(result)[[1, 3]].tolist() == [[0, 0, 0], [0, 0, 0]]
    nothing = function(ROWS, np.zeros([0], np.int32), np.zeros([0], np.int32), num_segments=2)
    assert run(nothing).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_integers_can_be_summed_but_not_averaged(run):
    sums = tf.sparse.segment_sum(ROWS.astype(np.uint8), [1, 1], [0, 0])
    assert run(sums).tolist() == [[6, 8, 10]]
    with pytest.raises(TypeError, match="DataType int32 not in list of allowed values"):
        tf.sparse.segment_mean([[1]], [0], [0])


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("places", "numbers", "count", "match"),
    [
        ([0, 1], [1, 0], None, "segment ids are not increasing"),
        ([0, 1], [-1, 0], None, "segment ids must be >= 0"),
        ([0, 4], [0, 0], None, r"indices\[1\] == 4 out of range \[0, 4\)"),
        ([-1, 0], [0, 0], None, r"indices\[0\] == -1 out of range"),
        ([0, 1], [0, 3], 3, "segment ids must be < num_segments"),
    ],
)
def test_indices_and_segment_ids_out_of_range_are_rejected(
    run, function, places, numbers, count, match
):
    with pytest.raises(IAE, match=match):
        run(function(ROWS, places, numbers, num_segments=count))


@pytest.mark.parametrize("function", ALL)
def test_incompatible_shapes_are_rejected(function):
    for data, places, numbers, count, match in (
        (ROWS, [0, 1], [0, 0, 1], None, "must be equal"),
        (ROWS, [[0]], [[0]], None, "Shape must be rank 1 but is rank 2"),
        (3.0, [0], [0], None, "at least rank 1 but is rank 0"),
        (ROWS, [0], [0], -3, "negative value for num_segments"),
        (ROWS, [0], [0], [3], "Shape must be rank 0 but is rank 1"),
    ):
        with pytest.raises(ValueError, match=match):
            function(data, places, numbers, num_segments=count)
