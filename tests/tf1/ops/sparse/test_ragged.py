"""Rows of different lengths, and conversions to dense and sparse tensors."""

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def ragged(values=(1, 2, 3), splits=(0, 2, 2, 3)):
    return tf.RaggedTensor.from_row_splits(tf.constant(values), splits)


def test_fetched_value_contains_all_parts_of_the_tensor(session):
    tensor = ragged()
    value = session.run({"r": tensor})["r"]
    assert value.to_list() == [[1, 2], [], [3]]
    assert (value.shape, value.dtype, value.ragged_rank) == ((3, None), np.int32, 1)
    assert value.values.tolist() == value.flat_values.tolist() == [1, 2, 3]
    assert tensor.eval(session=session).row_splits.tolist() == [0, 2, 2, 3]
    assert repr(value).startswith("tf.RaggedTensorValue(values=array([1, 2, 3]")


def test_static_properties_are_known_before_a_run():
    tensor = ragged()
    assert tensor.get_shape().as_list() == [3, None]
    assert (tensor.dtype, tensor.ragged_rank) == (tf.int32, 1)
    assert tensor.graph is tf.get_default_graph()
    assert repr(tensor).startswith("tf.RaggedTensor(values=Tensor(")
    unknown = tf.RaggedTensor.from_row_splits([1], tf.placeholder(tf.int64, [None]))
    assert unknown.shape.as_list() == [None, None]


def test_row_functions_return_their_partitions(session):
    tensor = ragged()
    completed = session.run(
        [
            *(tensor.nrows(), tensor.row_starts(), tensor.row_limits(), tensor.row_lengths()),
            *(tensor.value_rowids(), tensor.bounding_shape()),
        ]
    )
    assert [np.asarray(part).tolist() for part in completed] == [
        *(3, [0, 2, 2], [2, 2, 3], [2, 0, 1]),
        *([0, 0, 2], [3, 2]),
    ]


def test_to_tensor_pads_rows(session):
    assert session.run(ragged().to_tensor()).tolist() == [[1, 2], [0, 0], [3, 0]]
    assert session.run(ragged().to_tensor(-1)).tolist() == [[1, 2], [-1, -1], [3, -1]]
    words = ragged(["a", "b", "c"])
    assert session.run(words.to_tensor()).tolist() == [[b"a", b"b"], [b"", b""], [b"c", b""]]
    pairs = ragged([[1, 2], [3, 4]], [0, 0, 2])
    assert pairs.shape.as_list() == [2, None, 2]
    assert session.run(pairs.to_tensor(9)).tolist() == [[[9, 9], [9, 9]], [[1, 2], [3, 4]]]


@pytest.mark.parametrize("splits", [[0], [0, 0], [0, 0, 0]])
def test_rows_can_be_empty(session, splits):
    tensor = tf.RaggedTensor.from_row_splits(tf.constant([], tf.int32), splits)
    assert session.run(tensor).to_list() == [[]] * (len(splits) - 1)
    assert session.run(tensor.to_tensor()).shape == (len(splits) - 1, 0)
    assert session.run(tensor.to_sparse()).dense_shape.tolist() == [len(splits) - 1, 0]


def test_to_sparse_has_the_same_elements(session):
    sparse = session.run(ragged().to_sparse())
    assert sparse.indices.tolist() == [[0, 0], [0, 1], [2, 0]]
    assert sparse.values.tolist() == [1, 2, 3]
    assert sparse.dense_shape.tolist() == [3, 2]


def test_ragged_tensors_can_be_nested(session):
    inner = ragged()
    outer = tf.RaggedTensor.from_row_splits(inner, [0, 1, 3])
    assert (outer.ragged_rank, outer.shape.as_list()) == (2, [2, None, None])
    value = session.run(outer)
    assert value.to_list() == [[[1, 2]], [[], [3]]]
    assert [splits.tolist() for splits in value.nested_row_splits] == [[0, 1, 3], [0, 2, 2, 3]]
    assert session.run(outer.to_tensor(7)).tolist() == [[[1, 2], [7, 7]], [[7, 7], [3, 7]]]
    assert session.run(outer.to_sparse()).indices.tolist() == [[0, 0, 0], [0, 0, 1], [1, 1, 0]]
    doubled = outer.with_flat_values(outer.flat_values * 2)
    assert session.run(doubled).to_list() == [[[2, 4]], [[], [6]]]


def test_errors_of_other_operations_suggest_a_conversion():
    with pytest.raises(TypeError, match=r"Convert it with to_tensor\(\) or to_sparse\(\)"):
        tf.add(ragged(), 1)
    with pytest.raises(TypeError, match=r"Convert it with to_tensor\(\)"):
        tf.reduce_sum(ragged())


def test_row_splits_must_be_a_vector():
    with pytest.raises(ValueError, match="must have rank 1"):
        tf.RaggedTensor.from_row_splits([1], 1)
