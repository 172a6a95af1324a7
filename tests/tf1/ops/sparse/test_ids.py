"""Ids as places in sparse tensors."""

import pytest

import headrace.tf1 as tf

PLACES = [[0, 0], [0, 1], [2, 0]]


def sparse(values):
    return tf.SparseTensor(PLACES, values, [3, 2])


def test_indicators_say_which_ids_a_row_has_however_often(run):
    value = run(tf.sparse_to_indicator(sparse([2, 2, 0]), 4))
    assert value.tolist() == [[False, False, True, False], [False] * 4, [True] + [False] * 3]


def test_values_move_to_where_the_ids_say_in_order(run):
    merged = run(tf.sparse_merge(sparse([2, 0, 1]), sparse([0.5, 1.5, 2.5]), 3))
    assert merged.indices.tolist() == [[0, 0], [0, 2], [2, 1]]
    assert merged.values.tolist() == [1.5, 0.5, 2.5]
    assert merged.dense_shape.tolist() == [3, 3]


def test_an_id_out_of_range_is_an_error_of_the_run(run):
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.sparse_to_indicator(sparse([0, 4, 0]), 4))


@pytest.mark.parametrize("sizes", [3, [3]])
def test_there_is_a_size_for_each_kind_of_id(sizes):
    ids = sparse([0, 1, 2])
    with pytest.raises((TypeError, ValueError), match="vocab_size"):
        tf.sparse_merge([ids, ids], ids, sizes)
