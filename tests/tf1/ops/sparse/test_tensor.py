import re

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1.ops.sparse.to_dense import sparse_tensor_to_dense, sparse_to_dense

IAE = tf.errors.InvalidArgumentError


class TestSparseTensor:
    def test_sparse_tensor_has_three_parts(self):
        sparse = tf.SparseTensor(indices=[[0, 1]], values=["a"], dense_shape=[3, 4])
        assert sparse.indices.dtype == sparse.dense_shape.dtype == tf.int64
        assert sparse.indices.op.name == "SparseTensor/indices"
        assert sparse.op is sparse.values.op
        assert sparse.dtype == tf.string
        assert sparse.graph is tf.get_default_graph()
        assert sparse.shape == sparse.get_shape() == [3, 4]
        assert repr(sparse).startswith('SparseTensor(indices=Tensor("SparseTensor/indices:0"')

    def test_sparse_tensor_lists_its_consumers(self):
        sparse = tf.SparseTensor([[0]], [1], [2])
        readers = [tf.identity(part).op for part in (sparse.values, sparse.indices)]
        assert sparse.consumers() == readers

    def test_sparse_tensor_shape_can_be_unknown(self):
        sparse = tf.SparseTensor([[0, 1]], [5], tf.placeholder(tf.int64))
        assert sparse.shape.rank is None
        sparse = tf.SparseTensor([[0, 1]], [5], tf.placeholder(tf.int64, [2]))
        assert sparse.shape.as_list() == [None, None]

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (([[0.5]], [5], [3]), TypeError, "Expected int64, got 0.5 of type 'float' instead."),
            (([0], [5], [3]), ValueError, "Shape (1,) must have rank 2"),
            (([[0]], 5, [3]), ValueError, "Shape () must have rank 1"),
            (([[0, 1]], [5], [3]), ValueError, "Dimensions 2 and 1 are not compatible"),
            (([[0, 1]], [5, 6], [3, 4]), ValueError, "Dimensions 1 and 2 are not compatible"),
        ],
    )
    def test_sparse_tensor_parts_must_match(self, arguments, error, words):
        with pytest.raises(error, match=re.escape(words)):
            tf.SparseTensor(*arguments)

    def test_sparse_tensor_can_be_built_from_a_value(self):
        value = tf.SparseTensorValue([[0, 1]], [5], [3, 4])
        sparse = tf.SparseTensor.from_value(value)
        assert sparse.shape == [3, 4]
        assert tf.SparseTensor.from_value(sparse).values is sparse.values
        with pytest.raises(TypeError, match="Neither a SparseTensor nor SparseTensorValue: 3"):
            tf.SparseTensor.from_value(3)

    def test_sparse_tensor_evaluates_to_a_value(self, run):
        sparse = tf.SparseTensor([[0, 1]], [5], [3, 4])
        for value in (run(sparse), sparse.eval()):
            assert isinstance(value, tf.SparseTensorValue)
            assert [part.tolist() for part in value] == [[[0, 1]], [5], [3, 4]]


class TestSparsePlaceholder:
    def test_sparse_placeholder_is_fed_with_a_value(self, run):
        sparse = tf.sparse_placeholder(tf.float32, name="s")
        assert [part.op.name for part in (sparse.indices, sparse.values, sparse.dense_shape)] == [
            *("s/indices", "s/values", "s/shape")
        ]
        value = tf.SparseTensorValue([[0, 1]], [5.0], [3, 4])
        fetched = run(sparse, {sparse: value})
        assert [np.asarray(part).tolist() for part in fetched] == [[[0, 1]], [5.0], [3, 4]]
        assert run(sparse.values, {sparse: ([[0]], [7.0], [1])}).tolist() == [7.0]

    def test_sparse_placeholder_keeps_its_shape(self):
        assert tf.sparse_placeholder(tf.int32).shape.rank is None
        assert tf.sparse_placeholder(tf.int32, [2, 3]).shape == [2, 3]
        partly = tf.sparse_placeholder(tf.int32, [2, None])
        assert partly.shape.as_list() == [None, None]
        assert partly.indices.shape.as_list() == [None, 2]

    def test_sparse_placeholder_shape_can_be_a_tensor(self, run):
        shape = tf.placeholder(tf.int64, [2])
        sparse = tf.sparse_placeholder(tf.int32, shape)
        assert sparse.indices.shape.as_list() == [None, 2]
        feed = {sparse.indices: [[0, 1]], sparse.values: [5], shape: [2, 3]}
        assert run(sparse, feed).dense_shape.tolist() == [2, 3]


class TestToDense:
    def test_to_dense_places_the_elements(self, run):
        sparse = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
        dense = sparse_tensor_to_dense(sparse)
        assert (dense.op.name, dense.shape) == ("SparseToDense", [3, 2])
        assert run(dense).tolist() == [[0, 5], [0, 0], [6, 0]]
        assert run(sparse_tensor_to_dense(sparse, -1)).tolist() == [[-1, 5], [-1, -1], [6, -1]]

    def test_to_dense_fills_strings_and_bools(self, run):
        strings = tf.SparseTensor([[1]], ["a"], [2])
        assert run(sparse_tensor_to_dense(strings)).tolist() == [b"", b"a"]
        bools = tf.SparseTensor([[1]], [True], [2])
        assert run(sparse_tensor_to_dense(bools)).tolist() == [False, True]

    def test_sparse_to_dense_accepts_vectors_scalars_and_a_single_value(self, run):
        assert run(sparse_to_dense([1, 2], [4], [5, 6])).tolist() == [0, 5, 6, 0]
        assert run(sparse_to_dense(1, [3], 7)).tolist() == [0, 7, 0]
        assert run(sparse_to_dense([[0, 0], [1, 1]], [2, 2], 1.0)).tolist() == [[1, 0], [0, 1]]

    @pytest.mark.parametrize(
        ("indices", "values", "words"),
        [
            ([1, 9], [5, 6], "indices[1] = [9] is out of bounds: need 0 <= index < [4]"),
            ([-1], [5], "indices[0] = [-1] is out of bounds"),
            ([1, 1], [5, 6], "indices[1] = [1] is repeated"),
            (
                [2, 1],
                [5, 6],
                "indices[1] = [1] is out of order. Many sparse ops require sorted indices. Use",
            ),
            ([1, 2], [5], "sparse_values has incorrect shape [1], should be [] or [2]"),
        ],
    )
    def test_sparse_to_dense_fails_for_invalid_indices(self, run, indices, values, words):
        with pytest.raises(IAE, match=re.escape(words)):
            run(sparse_to_dense(indices, [4], values))

    def test_validate_indices_false_skips_the_order_check(self, run):
        dense = sparse_to_dense([2, 1], [3], [5, 6], validate_indices=False)
        assert run(dense).tolist() == [0, 6, 5]
        with pytest.raises(IAE, match=r"Indices are not valid \(out of bounds\).  Shape: \[3\]"):
            run(sparse_to_dense([3], [3], [5], validate_indices=False))

    @pytest.mark.parametrize(
        ("indices", "shape", "values", "words"),
        [
            ([[[0]]], [1], 5, "should be a scalar, vector, or matrix, got shape [1,1,1]"),
            ([0], [[1]], 5, "output_shape should be a vector, got shape [1,1]"),
            ([0], [1, 1], 5, "output_shape has incorrect number of elements: 2 should be: 1"),
            ([0], [1], [[5]], "sparse_values has incorrect shape [1,1], should be [] or [1]"),
            ([0], [-2], 5, "Dimension -2 must be >= 0"),
        ],
    )
    def test_shapes_are_checked_when_known(self, run, hidden, indices, shape, values, words):
        parts = [hidden(part) for part in (indices, shape, values)]
        with pytest.raises(IAE, match=re.escape(words)):
            run(sparse_to_dense(*parts))

    def test_to_dense_rejects_dense_tensors(self):
        with pytest.raises(TypeError, match=re.escape("Input must be a SparseTensor.")):
            sparse_tensor_to_dense(tf.constant([1]))


class TestSparseReorder:
    def test_reorder_sorts_by_index(self, run):
        sparse = tf.SparseTensor([[1, 2], [0, 1], [5, 0]], ["a", "b", "c"], [2, 3])
        ordered = tf.sparse.reorder(sparse)
        assert (ordered.indices.op.name, ordered.indices.shape) == ("SparseReorder", [3, 2])
        assert ordered.shape == [2, 3]
        value = run(ordered)
        assert value.indices.tolist() == [[0, 1], [1, 2], [5, 0]]
        assert value.values.tolist() == [b"b", b"a", b"c"]

    def test_reordered_tensor_can_be_converted_to_dense(self, run):
        sparse = tf.sparse_reorder(tf.SparseTensor([[1], [0]], [5, 6], [3]))
        assert run(tf.sparse.to_dense(sparse)).tolist() == [6, 5, 0]

    def test_reorder_rejects_dense_tensors(self):
        with pytest.raises(TypeError, match=re.escape("Input must be a SparseTensor.")):
            tf.sparse_reorder(tf.constant([1]))


@pytest.mark.parametrize(
    "function",
    [
        tf.sparse_reorder,
        tf.sparse_reset_shape,
        tf.sparse_tensor_to_dense,
        tf.sparse_transpose,
        tf.serialize_sparse,
        lambda tensor: tf.sparse_reduce_sum(tensor, 0),
        lambda tensor: tf.sparse_retain(tensor, [True, False]),
        lambda tensor: tf.sparse_to_indicator(tensor, 9),
        lambda tensor: tf.sparse_merge(tensor, tensor, 9),
        lambda tensor: tf.sparse.expand_dims(tensor, 0),
        lambda tensor: tf.sparse_concat(0, [tensor, tensor]),
        lambda tensor: tf.sparse_maximum(tensor, tensor),
    ],
)
def test_sparse_tensor_value_is_accepted_as_a_sparse_tensor(run, function):
    value = tf.SparseTensorValue([[0, 1], [1, 0]], [5, 6], [2, 3])
    values, expected = run([function(value), function(tf.SparseTensor(*value))])
    assert all(np.array_equal(*pair) for pair in zip(values, expected, strict=True))
    with pytest.raises(TypeError, match="Input must be a SparseTensor"):
        function(3)
