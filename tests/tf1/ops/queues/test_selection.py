"""`QueueBase.from_list`: one of several queues, chosen when an operation is run."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf


def make(dtypes=("int32",), shapes=((),), names=None):
    return tf.FIFOQueue(10, list(dtypes), shapes, names=names)


@pytest.fixture
def index():
    return tf.placeholder(tf.int32)


# Errors


@pytest.mark.parametrize("make_queues", [lambda q: (q, q), lambda q: [], lambda q: None])
def test_from_list_requires_a_list_of_queues(make_queues):
    with pytest.raises(TypeError, match="A list of queues expected"):
        tf.QueueBase.from_list(0, make_queues(make()))


def test_every_item_must_be_a_queue():
    with pytest.raises(TypeError, match="A list of queues expected"):
        tf.QueueBase.from_list(0, [make(), make().queue_ref])


def test_component_types_must_match():
    with pytest.raises(TypeError, match=re.escape("Queues do not have matching component dtypes.")):
        tf.QueueBase.from_list(0, [make(), make(["int64"])])


def test_different_names_for_one_type_match():
    queues = [make(["float"]), make([np.float32]), make([tf.float32])]
    assert tf.QueueBase.from_list(0, queues).dtypes == ["float"]


@pytest.mark.parametrize("names", [None, ["b"]])
def test_component_names_must_match(names):
    queues = [make(names=["a"]), make(names=names)]
    with pytest.raises(TypeError, match=re.escape("Queues do not have matching component names.")):
        tf.QueueBase.from_list(0, queues)


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (1.5, TypeError, "'indices' has DataType float32"),
        ("a", TypeError, "'indices' has DataType string"),
        (None, ValueError, "None values not supported"),
        ([0, 1], ValueError, re.escape("Shape (2,) must have rank 0")),
    ],
)
def test_index_must_be_a_scalar_integer(bad, error, text):
    with pytest.raises(error, match=text):
        tf.QueueBase.from_list(bad, [make(), make()])


# The result


def test_result_is_a_queue_named_after_the_selection(index):
    queue = tf.QueueBase.from_list(index, [make(names=["a"]), make(names=["a"])])
    assert type(queue) is tf.QueueBase
    assert queue.name == "GatherV2"
    assert queue.dtypes == ["int32"]
    assert queue.names == ["a"]
    assert queue.enqueue({"a": 1}).name == "GatherV2_enqueue"


@pytest.mark.parametrize(
    ("shapes", "merged"),
    [
        ([[()], [()]], [[]]),
        ([[(2, 3)], [(2, 4)]], [[2, None]]),
        ([[(2, 3)], [(2, 3)], [(5, 3)]], [[None, 3]]),
        ([[(2,)], [()]], [None]),
        ([[(2,)], None], [None]),
    ],
)
def test_shape_is_the_common_part_of_all_shapes(shapes, merged):
    queue = tf.QueueBase.from_list(0, [make(shapes=item) for item in shapes])
    assert [None if shape.rank is None else shape.as_list() for shape in queue.shapes] == merged


# Where the operations go


def test_each_run_selects_again(sess, index):
    queues = [make(), make()]
    queue = tf.QueueBase.from_list(index, queues)
    enqueue, dequeue = queue.enqueue(7), queue.dequeue()
    sess.run(enqueue, {index: 1})
    assert [sess.size(each) for each in queues] == [0, 1]
    sess.run(queues[0].enqueue(5))
    assert [sess.run(dequeue, {index: position}) for position in (0, 1)] == [5, 7]


def test_every_operation_uses_the_selected_queue(sess, index):
    queues = [make(), make()]
    queue = tf.QueueBase.from_list(index, queues)
    chosen = {index: 1}
    sess.run(queue.enqueue_many([[1, 2, 3, 4]]), chosen)
    assert sess.run(queue.size(), chosen) == 4
    assert sess.run(queue.dequeue_many(2), chosen).tolist() == [1, 2]
    sess.run(queue.close(), chosen)
    assert sess.run(queue.dequeue_up_to(5), chosen).tolist() == [3, 4]
    assert sess.run([each.is_closed() for each in queues]) == [False, True]
    assert sess.run(queue.is_closed(), chosen)


def test_queues_of_different_kinds_can_be_selected(sess, index):
    queues = [make(), tf.RandomShuffleQueue(10, 0, [tf.int32], [()])]
    queue = tf.QueueBase.from_list(index, queues)
    enqueue, dequeue = queue.enqueue(3), queue.dequeue()
    for position in (0, 1):
        sess.run(enqueue, {index: position})
        assert sess.run(dequeue, {index: position}) == 3


def test_selections_can_be_nested(sess, index):
    queues = [make() for _ in range(4)]
    inner = tf.QueueBase.from_list(index, queues[1:3])
    enqueue = tf.QueueBase.from_list(index + 1, [queues[0], inner, queues[3]]).enqueue(1)
    sess.run(enqueue, {index: 0})  # inner, queue 1
    sess.run(enqueue, {index: 1})  # queue 3
    assert [sess.size(queue) for queue in queues] == [0, 1, 0, 1]


def test_selection_from_one_queue_works(sess, index):
    queue = tf.QueueBase.from_list(index, [make()])
    sess.run(queue.enqueue(4), {index: 0})
    assert sess.run(queue.dequeue(), {index: 0}) == 4


def test_reader_reads_file_names_from_the_selected_queue(sess, index, tmp_path):
    queues = [make(["string"]), make(["string"])]
    with tf.python_io.TFRecordWriter(str(tmp_path / "records")) as writer:
        writer.write(b"one")
    sess.run(queues[1].enqueue(str(tmp_path / "records")))
    _, record = tf.TFRecordReader().read(tf.QueueBase.from_list(index, queues))
    assert sess.run(record, {index: 1}) == b"one"


@pytest.mark.parametrize("bad", [2, -1])
def test_index_out_of_range_is_a_run_time_error(sess, index, bad):
    operation = tf.QueueBase.from_list(index, [make(), make()]).size()
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(f"{bad} is not in [0, 2)")):
        sess.run(operation, {index: bad})
    operation = tf.QueueBase.from_list(bad, [make(), make()]).size()
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(f"{bad} is not in [0, 2)")):
        sess.run(operation)


def test_call_that_waits_for_the_selected_queue_wakes(sess):
    queues = [make(), make()]
    call = sess.blocked(queues[1], tf.QueueBase.from_list(1, queues).dequeue())
    sess.run(queues[1].enqueue(6))
    assert call.result() == 6
