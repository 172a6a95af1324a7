import subprocess
import sys

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.5, True, b"a", [1, 2], [[0.5]], [b"a", b"bc"], np.float64(3), np.arange(4.0)),
        *(np.array([1 + 2j]), np.array([1, 2], np.float16), np.zeros([0, 2], np.uint8)),
    ],
)
def test_tensor_proto_round_trips(value):
    message = tf.make_tensor_proto(value)
    again = tf.make_ndarray(type(message).FromString(message.SerializeToString()))
    expected = tf.constant(value)
    assert tf.as_dtype(message.dtype) == expected.dtype
    assert again.shape == expected.shape
    assert again.tolist() == np.array(value, again.dtype).tolist()
    assert tf.make_tensor_proto(message) is message
    assert tf.constant(again).dtype == expected.dtype


def test_tensor_proto_repeats_the_last_value_to_fill_the_shape():
    filled = tf.make_tensor_proto(7, shape=[2, 3])
    assert list(filled.int_val) == [7]
    assert tf.make_ndarray(filled).tolist() == [[7] * 3] * 2
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2], tf.int64, [3])).tolist() == [1, 2, 2]
    assert tf.make_ndarray(tf.make_tensor_proto([1], shape=[2], allow_broadcast=True)).size == 2
    for arguments, error, words in (
        ({"shape": [1]}, ValueError, "Needed at most 1, but received 2"),
        ({"shape": [2, 1], "verify_shape": True}, TypeError, r"Expected Tensor's shape: \(2, 1\)"),
        ({"shape": [3], "allow_broadcast": True}, ValueError, r"Expected Tensor's shape: \(3,\)"),
        ({"verify_shape": True, "allow_broadcast": True}, ValueError, "are not both allowed"),
        ({"dtype": tf.string}, TypeError, "Expected string"),
    ):
        with pytest.raises(error, match=words):
            tf.make_tensor_proto([1, 2], **arguments)
    with pytest.raises(ValueError, match="None values not supported"):
        tf.make_tensor_proto(None)
    with pytest.raises(TypeError, match="expected a TensorProto"):
        tf.make_ndarray(3)


def test_contrib_util_loads_protobuf_lazily():
    program = (
        "import sys, headrace.tf1 as tf\n"
        "assert tf.contrib.util.constant_value(tf.constant(3)) == 3\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "assert tf.contrib.util.make_tensor_proto is tf.make_tensor_proto\n"
        "assert 'google.protobuf' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


class TestIndexedSlices:
    def test_indexed_slices_hold_rows_of_a_tensor(self):
        rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="rows")
        tensor = tf.IndexedSlices(rows, tf.constant([2, 0, 2]), tf.constant([4, 2]))
        assert (tensor.shape, tensor.dtype, tensor.name) == ((4, 2), tf.float32, "rows:0")
        assert (tensor.op, tensor.graph, tensor.device) == (rows.op, rows.graph, "")
        with tf.Session() as session:
            full = session.run(tf.convert_to_tensor(tensor))
            minus = session.run(tf.convert_to_tensor(-tensor))
        assert full.tolist() == [[3, 4], [0, 0], [6, 8], [0, 0]]
        np.testing.assert_array_equal(minus, -full)
        assert tf.convert_to_tensor_or_indexed_slices(tensor, tf.float32) is tensor
        assert tf.convert_to_tensor_or_indexed_slices([1]).dtype == tf.int32
        assert "IndexedSlices(indices=" in str(tensor)

    def test_indexed_slices_cannot_change_type_or_shape(self):
        tensor = tf.IndexedSlices(tf.constant([1.0]), tf.constant([2]))
        assert tensor.shape.ndims is None
        with pytest.raises(ValueError, match="for IndexedSlices without dense_shape"):
            tf.convert_to_tensor(tensor)
        with pytest.raises(ValueError, match="requested dtype int32 for Tensor with dtype float32"):
            tf.convert_to_tensor_or_indexed_slices(tensor, tf.int32)

    def test_sparse_mask_removes_rows(self):
        rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        tensor = tf.IndexedSlices(rows, tf.constant([12, 26, 37]), tf.constant([100, 2]))
        kept = tf.sparse_mask(tensor, [12, 45], name="kept")
        assert kept.name == "kept:0"
        assert kept.dense_shape is tensor.dense_shape
        with tf.Session() as session:
            values, positions = session.run([kept.values, kept.indices])
        assert (values.tolist(), positions.tolist()) == ([[3, 4], [5, 6]], [26, 37])
        with pytest.raises(TypeError, match="int64 that does not match type int32"):
            tf.sparse.mask(tensor, tf.constant([12], tf.int64))
        with pytest.raises(TypeError, match="expected IndexedSlices"):
            tf.sparse_mask([1], [1])

    def test_converting_large_indexed_slices_warns(self):
        tensor = tf.IndexedSlices(tf.constant([1.0]), tf.constant([2]), tf.constant([10**8]))
        with pytest.warns(UserWarning, match="dense Tensor with 100000000 elements"):
            tf.convert_to_tensor(tensor)
