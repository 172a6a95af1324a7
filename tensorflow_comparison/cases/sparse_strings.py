"""Sparse tensors as strings."""

from typing import Any

from tensorflow_comparison.table import case

PARTS: list[tuple[Any, Any, Any]] = [
    ([[0, 1], [2, 0]], [5, 7], [3, 2]),
    ([[0, 1], [2, 0]], ["a", ""], [3, 2]),
    ([[0, 0, 3], [1, 2, 0]], [0.5, 1.5], [2, 3, 4]),
    ([[0]], [1], [2]),
]


@case(*[[parts] for parts in PARTS])
def serialized(tf: Any, parts: Any) -> Any:
    """The serialized strings of a whole sparse tensor."""
    strings = tf.serialize_sparse(tf.SparseTensor(*parts))
    with tf.Session() as session:
        return session.run(strings), strings.shape.as_list()


@case(*[[parts] for parts in PARTS])
def rows(tf: Any, parts: Any) -> Any:
    """The serialized rows of a sparse tensor, and the deserialized tensor."""
    sparse = tf.SparseTensor(*parts)
    strings = tf.serialize_many_sparse(sparse)
    again = tf.deserialize_many_sparse(strings, sparse.dtype, rank=len(parts[2]))
    shapes = [str(part.shape) for part in (strings, again.indices, again.dense_shape)]
    with tf.Session() as session:
        return session.run([strings, again]), shapes


@case(["int32", 2], ["int64", 2], ["int32", 1], ["int32", None])
def stacked(tf: Any, dtype: str, rank: Any) -> Any:
    """Stacked single tensors, of one rank or of two."""
    first = tf.SparseTensor(*PARTS[0])
    second = tf.SparseTensor([[0, 8]], [9], [1, 9])
    if rank == 1:
        second = tf.SparseTensor([[0]], [9], [1])
    both = tf.stack([tf.serialize_sparse(first), tf.serialize_sparse(second)])
    with tf.Session() as session:
        return session.run(tf.deserialize_many_sparse(both, dtype))


@case([[["a", "b", "c"]]], [[["", "", ""]]], [[["a", "b"]]], [["a", "b", "c"]])
def refused(tf: Any, strings: Any) -> Any:
    """Strings that are not serialized sparse tensors."""
    with tf.Session() as session:
        return session.run(tf.deserialize_many_sparse(tf.constant(strings), "int32"))


@case()
def no_rows(tf: Any) -> Any:
    """No strings."""
    with tf.Session() as session:
        return session.run(tf.deserialize_many_sparse(tf.zeros([0, 3], tf.string), "int32"))
