"""Sparse tensors as strings."""

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def matrix(values=(5, 7)):
    return tf.SparseTensor([[0, 1], [2, 0]], list(values), [3, 2])


def same(actual, expected):
    assert all(np.array_equal(*pair) for pair in zip(actual, expected, strict=True))


@pytest.mark.parametrize(
    "values", [(5, 7), (0.5, -1.5), ("a", "b" * 300), (True, False), (1 << 40, 2)]
)
def test_serialized_rows_round_trip(session, values):
    sparse = matrix(values)
    strings = tf.serialize_many_sparse(sparse)
    assert strings.shape.as_list() == [None, 3]
    again = tf.deserialize_many_sparse(strings, sparse.dtype, rank=2)
    assert again.indices.shape.as_list() == [None, 2]
    same(*session.run([again, sparse]))


def test_single_tensors_are_stacked(session):
    both = tf.stack(
        [tf.serialize_sparse(matrix()), tf.serialize_sparse(tf.SparseTensor([[0, 8]], [9], [1, 9]))]
    )
    stacked = session.run(tf.deserialize_many_sparse(both, tf.int32))
    assert stacked.indices.tolist() == [[0, 0, 1], [0, 2, 0], [1, 0, 8]]
    assert stacked.values.tolist() == [5, 7, 9]
    assert stacked.dense_shape.tolist() == [2, 3, 9]


def test_serialized_tensors_can_be_queued(session):
    queue = tf.FIFOQueue(9, tf.string, [(3,)])
    session.run(queue.enqueue_many(tf.serialize_many_sparse(matrix())))
    batch = tf.deserialize_many_sparse(queue.dequeue_many(3), tf.int32)
    same(*session.run([batch, matrix()]))


def test_serialized_strings_are_parsable_tensors(session):
    strings = tf.serialize_sparse(matrix(("a", "bc")))
    indices, values, shape = (
        tf.parse_tensor(strings[number], dtype)
        for number, dtype in enumerate((tf.int64, tf.string, tf.int64))
    )
    completed = session.run([indices, values, shape])
    assert [part.tolist() for part in completed] == [[[0, 1], [2, 0]], [b"a", b"bc"], [3, 2]]


class TestRefusals:
    def refused(self, session, fetch, match):
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            session.run(fetch)

    def test_serializing_non_sparse_values_is_rejected(self):
        for function in (tf.serialize_sparse, tf.serialize_many_sparse):
            with pytest.raises(TypeError, match="must be a SparseTensor"):
                function([1])
            with pytest.raises(TypeError, match="out_type is int32, expected string"):
                function(matrix(), out_type=tf.int32)

    def test_vectors_cannot_be_serialized_by_row(self, session):
        vector = tf.SparseTensor([[0]], [1], [2])
        self.refused(session, tf.serialize_many_sparse(vector), "should be > 1, but saw rank: 1")

    def test_deserializing_invalid_strings_is_rejected(self, session):
        one = tf.serialize_sparse(matrix())
        swapped = tf.stack([[one[1], one[1], one[2]]])
        for strings, match in (
            (tf.constant([["a", "b", "c"]]), "Could not parse"),
            (tf.constant([["", "", ""]]), "element type 0"),
            (tf.zeros([0, 3], tf.string), "at least 1 serialized tensor"),
            (swapped, "Expected serialized indices of type int64, but got int32"),
        ):
            self.refused(session, tf.deserialize_many_sparse(strings, tf.int32), match)

    def test_deserializing_to_a_different_type_or_rank_is_rejected(self, session):
        rows = tf.serialize_many_sparse(matrix())
        wrong = tf.deserialize_many_sparse(rows, tf.int64)
        self.refused(session, wrong, "Requested SparseTensor of type int64")
        mixed = tf.concat([rows, [tf.serialize_sparse(matrix())]], 0)
        self.refused(session, tf.deserialize_many_sparse(mixed, tf.int32), "Inconsistent")

    def test_wrong_number_of_columns_is_rejected(self):
        with pytest.raises(ValueError, match="must be 3 but is 2"):
            tf.deserialize_many_sparse([["a", "b"]], tf.int32)
