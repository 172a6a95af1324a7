"""Sparse tensors joined along an axis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf
from headrace.tf1.ops import sparse_concat

IAE = tf.errors.InvalidArgumentError


def letters():
    return tf.SparseTensor([[0, 1], [1, 0]], ["a", "b"], [2, 3])


def wider():
    return tf.SparseTensor([[0, 4], [1, 1]], ["c", "d"], [2, 5])


def taller():
    return tf.SparseTensor([[0, 0], [2, 1]], ["e", "f"], [3, 3])


def test_rows_are_concatenated(run):
    both = tf.sparse_concat(0, [letters(), taller()])
    assert both.get_shape() == [5, 3]
    assert both.indices.shape == [4, 2]
    value = run(both)
    assert value.indices.tolist() == [[0, 1], [1, 0], [2, 0], [4, 1]]
    assert value.values.tolist() == [b"a", b"b", b"e", b"f"]
    assert value.dense_shape.tolist() == [5, 3]


def test_columns_are_concatenated_and_elements_are_ordered(run):
    for axis in (1, -1):
        value = run(tf.sparse.concat(axis, [letters(), wider(), letters()]))
        assert value.indices.tolist() == [[0, 1], [0, 7], [0, 9], [1, 0], [1, 4], [1, 8]]
        assert value.values.tolist() == [b"a", b"c", b"a", b"b", b"d", b"b"]
        assert value.dense_shape.tolist() == [2, 11]


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_sizes_can_be_expanded(run, axis):
    joined = sparse_concat(axis, [wider(), taller()], expand_nonconcat_dims=True, name="n")
    assert joined.indices.op.name == "n"
    assert run(joined).dense_shape.tolist() == ([5, 5] if axis in (0, -2) else [3, 8])


def test_single_tensor_is_returned_unchanged():
    one = letters()
    assert tf.sparse_concat(0, [one]) is one


def test_old_argument_names_are_accepted(run):
    old = tf.sparse_concat(None, [letters(), taller()], expand_nonconcat_dim=True, concat_dim=1)
    new = tf.sparse_concat(1, [letters(), taller()], expand_nonconcat_dims=True)
    assert run(old).dense_shape.tolist() == run(new).dense_shape.tolist() == [3, 6]
    with pytest.raises(ValueError, match="Cannot specify both 'concat_dim' and 'axis'"):
        tf.sparse_concat(1, [letters(), letters()], concat_dim=1)


def test_shapes_can_be_unknown_before_the_run(run):
    fed = tf.sparse_placeholder(tf.int32)
    value = tf.SparseTensorValue([[0, 1]], [5], [1, 2])
    values = run(tf.sparse_concat(0, [fed, fed]), {fed: value})
    assert values.indices.tolist() == [[0, 1], [1, 1]]
    assert values.dense_shape.tolist() == [2, 2]


def test_incompatible_parts_are_rejected(run):
    scalar = tf.SparseTensor(np.zeros([1, 0]), ["a"], np.zeros([0], np.int64))
    for axis, parts, match in (
        (1, [letters(), taller()], "expected 2 for dimension 0 but got 3 at position 1"),
        (2, [letters(), letters()], r"must be in range \[-2, 2\), got 2"),
        (0, [scalar, scalar], r"must be in range \[-0, 0\), got 0"),
    ):
        with pytest.raises(IAE, match=match):
            run(tf.sparse_concat(axis, parts))
    with pytest.raises(ValueError, match="Dimension"):
        tf.sparse_concat(0, [letters(), tf.SparseTensor([[0]], ["a"], [2])])
    with pytest.raises(ValueError, match="shorter than minimum length 2"):
        tf.sparse_concat(0, [])
    for parts in (letters(), [letters(), 3]):
        with pytest.raises(TypeError, match="Input"):
            tf.sparse_concat(0, parts)
    with pytest.raises(TypeError, match="Expected int for argument 'concat_dim'"):
        tf.sparse_concat(0.5, [letters(), letters()])


MATRICES = st.lists(
    st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=2),
    min_size=2,
    max_size=4,
)


@given(MATRICES, st.sampled_from([0, 1]))
def test_sparse_concat_matches_dense_concatenation(matrices, axis):
    dense = [np.array(matrix) for matrix in matrices]
    with tf.Graph().as_default(), tf.Session() as session:
        parts = [tf.sparse.from_dense(tf.constant(matrix)) for matrix in dense]
        joined = session.run(tf.sparse.to_dense(tf.sparse_concat(axis, parts)))
    assert joined.tolist() == np.concatenate(dense, axis).tolist()
