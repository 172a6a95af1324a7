import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(("function", "value"), [(tf.shape, [2, 3]), (tf.size, 6), (tf.rank, 2)])
def test_shape_functions_are_constants_for_known_shapes(run, hidden, function, value):
    expected, unknown = function(tf.zeros([2, 3])), function(hidden(np.zeros([2, 3])))
    assert expected.op.type == "Const"
    assert unknown.op.type == unknown.op.name.partition("_")[0] == expected.op.name
    assert run(expected).tolist() == run(unknown).tolist() == value


def test_shape_and_size_have_the_requested_type():
    x, y = tf.placeholder(tf.float32), tf.zeros([2])
    assert tf.shape(x).dtype == tf.size(x).dtype == tf.rank(x).dtype == tf.int32
    for tensor in (x, y):
        assert tf.shape(tensor, out_type=tf.int64).dtype == tf.int64
        assert tf.size(tensor, out_type=tf.int64).dtype == tf.int64


def test_shape_of_a_known_rank_has_a_known_length():
    assert tf.shape(tf.placeholder(tf.float32, [None, 2])).shape == [2]
    assert tf.shape(tf.placeholder(tf.float32)).shape.as_list() == [None]
    assert tf.rank(tf.placeholder(tf.float32, [None, 2])).op.type == "Const"


def test_shape_of_a_sparse_tensor_is_its_dense_shape(run):
    shape = tf.shape(tf.SparseTensor([[0, 1]], [5], [3, 4]))
    assert shape.dtype == tf.int32
    assert run(shape).tolist() == [3, 4]


def test_shape_of_strings_ignores_their_lengths(run, hidden):
    assert run(tf.shape(hidden("a"))).tolist() == []
    assert run(tf.size(hidden(["a", "b"]))) == 2


def test_out_type_must_be_int32_or_int64():
    words = "Value passed to parameter 'out_type' has DataType float32 not in list of allowed"
    with pytest.raises(TypeError, match=words):
        tf.shape(tf.placeholder(tf.int32), out_type=tf.float32)


def test_size_and_rank_of_a_sparse_tensor_use_its_dense_shape(run):
    words = tf.string_split(["a b c", "d"])
    assert run([tf.size(words), tf.rank(words), tf.shape(words)[1]]) == [6, 2, 3]
    assert tf.size(words, out_type=tf.int64).dtype == tf.int64
