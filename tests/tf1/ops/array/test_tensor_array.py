"""`tf.TensorArray`: arrays of tensors that one run creates, fills and reads."""

import numpy as np
import pytest

import headrace.tf1 as tf


def run(fetches):
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        return session.run(fetches)


def filled(**settings):
    return tf.TensorArray(tf.int32, 3, **settings).unstack([1, 2, 3])


def test_tensor_array_rows_are_written_and_stacked():
    stacked = filled().stack()
    assert stacked.name == "TensorArrayStack/TensorArrayGatherV3:0"
    assert stacked.shape == [3]
    assert run(stacked).tolist() == [1, 2, 3]


def test_tensor_array_elements_are_read_gathered_and_counted():
    array = filled(clear_after_read=False)
    assert run(array.read(1)) == 2
    assert run(array.gather([2, 0])).tolist() == [3, 1]
    assert run([array.size(), array.read(0), array.read(0)]) == [3, 1, 1]


def test_loop_writes_tensor_array_elements():
    array = tf.TensorArray(tf.int32, 0, dynamic_size=True)

    def body(i, array):
        return i + 1, array.write(i, tf.fill([2], i))

    _, array = tf.while_loop(lambda i, _: i < 3, body, (0, array))
    assert array.element_shape == [2]
    assert run(array.stack()).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert run(array.concat()).tolist() == [0, 0, 1, 1, 2, 2]
    assert run(array.read(2)).tolist() == [2, 2]


def test_each_iteration_creates_its_own_tensor_array():
    def body(i, total):
        array = tf.TensorArray(tf.int32, 2).unstack([i, total])
        return i + 1, tf.reduce_sum(array.stack())

    assert run(tf.while_loop(lambda i, _: i < 5, body, (0, 0))) == (5, 10)


def test_split_parts_are_written_to_a_tensor_array():
    array = tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2, 3], [1, 2])
    assert run(array.read(1)).tolist() == [2, 3]
    assert run(array.concat()).tolist() == [1, 2, 3]
    assert run(tf.TensorArray(tf.int32, 2).split([1, 2, 3, 4], [2, 2]).stack()).shape == (2, 2)


def test_unwritten_elements_are_zeros_if_their_shape_is_known():
    assert run(tf.TensorArray(tf.int32, 2, element_shape=[2]).read(0)).tolist() == [0, 0]
    assert run(tf.TensorArray(tf.int32, 2).write(0, 7).stack()).tolist() == [7, 0]
    assert run(tf.TensorArray(tf.int32, 0, element_shape=[2]).stack()).shape == (0, 2)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: filled().read(3), "Tried to read from index 3 but array size is: 3"),
        (lambda: filled().gather([0, 3]), "Tried to read from index 3 but array size is: 3"),
        (lambda: tf.TensorArray(tf.int32, 2).read(0), "the element shape is not fully defined"),
        (lambda: filled().write(3, 1).flow, "index 3 but array is not resizeable and size is: 3"),
        (lambda: filled().write(0, 1).flow, "index 0 because it has already been written to"),
        (
            lambda: tf.TensorArray(tf.int32, 3).split([1, 2], [1, 1], "s").flow,
            r"not equal to the size of lengths \(3 vs. 2\)",
        ),
        (
            lambda: tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2], [1, 2]).flow,
            "Expected sum of lengths to be equal to values.shape",
        ),
        (
            lambda: (
                tf.TensorArray(tf.int32, 2, infer_shape=False).write(0, [1]).write(1, 2).stack()
            ),
            "TensorArray has inconsistent shapes",
        ),
        (lambda: tf.TensorArray(tf.int32, -1).flow, "Size should be >= 0"),
    ],
)
def test_run_time_errors_match_tensorflow(make, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(make())


def test_element_can_be_read_once_unless_kept():
    def read_twice(array):
        first = array.read(0)
        with tf.control_dependencies([first]):
            return array.identity().read(0)

    assert run(read_twice(filled(clear_after_read=False))) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 0 twice"):
        run(read_twice(filled()))


def test_closed_tensor_array_is_rejected():
    array = filled()
    with tf.control_dependencies([array.flow]):
        closed = array.close()
    with tf.control_dependencies([closed]):
        read = array.identity().read(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been closed"):
        run(read)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.TensorArray(tf.int32), ValueError, "Size must be provided"),
        (
            lambda: tf.TensorArray(tf.int32, 1, handle=tf.constant(1)),
            ValueError,
            "both a handle and size",
        ),
        (lambda: tf.TensorArray(tf.int32, handle=1), TypeError, "Handle must be a Tensor"),
        (lambda: filled().write(0, [1]), ValueError, r"saw \(1,\) but expected \(\)"),
        (lambda: filled().write(0, 1.5), ValueError, "has dtype float32, expected int32"),
        (lambda: filled().scatter([0, 1], [1]), ValueError, "got 1 rows for 2 indices"),
        (lambda: filled().scatter([0], 1), ValueError, "got a scalar value"),
        (lambda: filled().grad("g"), NotImplementedError, "no gradients"),
    ],
)
def test_invalid_arguments_are_rejected_at_the_call(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_tensor_array_can_be_recreated_from_its_handle():
    array = filled()
    other = tf.TensorArray(tf.int32, handle=array.handle, flow=array.flow)
    assert run(other.read(2)) == 3


def test_tensor_array_elements_can_be_strings():
    array = tf.TensorArray(tf.string, 2).write(0, "a").write(1, b"bc")
    assert run(array.stack()).tolist() == [b"a", b"bc"]
    assert np.asarray(run(array.read(1))).item() == b"bc"
