"""Ids as positions in sparse tensors."""

import pytest

import headrace.tf1 as tf

PLACES = [[0, 0], [0, 1], [2, 0]]


def sparse(values):
    return tf.SparseTensor(PLACES, values, [3, 2])


def test_indicators_mark_the_ids_of_a_row(run):
    value = run(tf.sparse_to_indicator(sparse([2, 2, 0]), 4))
    assert value.tolist() == [[False, False, True, False], [False] * 4, [True] + [False] * 3]


def test_values_are_placed_at_their_ids_in_order(run):
    merged = run(tf.sparse_merge(sparse([2, 0, 1]), sparse([0.5, 1.5, 2.5]), 3))
    assert merged.indices.tolist() == [[0, 0], [0, 2], [2, 1]]
    assert merged.values.tolist() == [1.5, 0.5, 2.5]
    assert merged.dense_shape.tolist() == [3, 3]


def test_id_out_of_range_is_a_run_time_error(run):
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.sparse_to_indicator(sparse([0, 4, 0]), 4))


@pytest.mark.parametrize("sizes", [3, [3]])
def test_each_kind_of_id_requires_a_size(sizes):
    ids = sparse([0, 1, 2])
    with pytest.raises((TypeError, ValueError), match="vocab_size"):
        tf.sparse_merge([ids, ids], ids, sizes)
