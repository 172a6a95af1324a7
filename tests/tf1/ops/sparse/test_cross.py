"""Combinations of features."""

import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


def letters(values=("a", "b", "c")):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], list(values), [2, 2])


def test_all_combinations_of_a_row_are_generated(run):
    crossed = tf.sparse.cross([letters(), letters("def")], name="n")
    assert crossed.values.op.name == "n"
    assert crossed.indices.shape.as_list() == [None, 2]
    value = run(crossed)
    assert value.indices.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]
    assert value.values.tolist() == [b"a_X_d", b"a_X_e", b"b_X_d", b"b_X_e", b"c_X_f"]
    assert value.dense_shape.tolist() == [2, 4]


def test_dense_tensors_come_last_and_integers_are_accepted(run):
    dense = tf.constant([[1], [-2]], tf.int32)
    value = run(tf.sparse.cross([dense, letters()]))
    assert value.values.tolist() == [b"a_X_1", b"b_X_1", b"c_X_-2"]


def test_hashes_match_tensorflow(run):
    pair = [letters(), letters("def")]
    assert run(tf.sparse.cross_hashed(pair)).values.tolist() == [
        1584069791037555375,
        3927666362714511010,
        2292520902626215647,
        4171697120956746554,
        4546572711251652368,
    ]
    assert run(tf.sparse.cross_hashed(pair, 100)).values.tolist() == [82, 17, 54, 61, 68]
    keyed = tf.sparse.cross_hashed(pair, num_buckets=100, hash_key=7)
    assert run(keyed).values.tolist() == [10, 93, 97, 23, 4]


def test_row_with_an_empty_feature_has_no_combination(run):
    other = tf.SparseTensor([[1, 5]], ["z"], [2, 9])
    value = run(tf.sparse.cross([letters(), other]))
    assert (value.indices.tolist(), value.values.tolist()) == ([[1, 0]], [b"c_X_z"])


def test_incompatible_inputs_are_rejected(run):
    with pytest.raises(IAE, match="Expected batch size 2, got 1"):
        run(tf.sparse.cross([letters(), tf.SparseTensor([[0, 0]], ["z"], [1, 1])]))
    with pytest.raises(IAE, match="Dense inputs should be matrices"):
        run(tf.sparse.cross([tf.constant(["a"])]))
    with pytest.raises(TypeError, match="Inputs must be a list"):
        tf.sparse.cross(letters())
    for cross in (tf.sparse.cross, tf.sparse.cross_hashed):
        with pytest.raises(TypeError, match="All inputs must be SparseTensors"):
            cross([letters(), [["a"], ["b"]]])
    with pytest.raises(ValueError, match="passed -1 less than minimum 0"):
        tf.sparse.cross_hashed([letters()], -1)
