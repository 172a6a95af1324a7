"""Native threads continue while Python code holds the GIL."""

import ctypes
import sys

import numpy as np
import pytest
from tests.calls import wait_until

import headrace.tf1 as tf
from headrace.pipeline.functions.python_functions import has_gil

HELD_SECONDS = 0.5


@pytest.fixture
def hold_the_gil():
    """A C call that keeps the GIL: no other Python thread runs one instruction meanwhile."""
    interval = sys.getswitchinterval()
    usleep = ctypes.PyDLL(None).usleep
    # No other thread may run just before or after the call either.
    sys.setswitchinterval(1000)
    yield lambda: usleep(int(HELD_SECONDS * 1e6))
    sys.setswitchinterval(interval)


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "numbers.tfrecord"
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(10):
            int64_list = tf.train.Int64List(value=[number])
            feature = {"number": tf.train.Feature(int64_list=int64_list)}
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return str(path)


def test_queue_fills_while_a_c_call_holds_the_gil(records, hold_the_gil):
    names = tf.train.string_input_producer([records])
    _, record = tf.TFRecordReader().read(names)
    example = tf.parse_single_example(record, {"number": tf.FixedLenFeature((), tf.int64)})
    queue = tf.FIFOQueue(-1, [tf.float32], shapes=[()])
    enqueue = queue.enqueue(tf.cast(example["number"], tf.float32) * 2.0)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * 2))
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        wait_until(lambda: session.queue_statistics(queue).size > 0)
        before = session.queue_statistics(queue).size
        hold_the_gil()
        grown = session.queue_statistics(queue).size - before
        coord.request_stop()
        coord.join(threads)
    # A hundred per second would be enough, but there are tens of thousands.
    assert grown > 100 * HELD_SECONDS


@pytest.mark.skipif(not has_gil(), reason="this Python has no GIL")
def test_holding_the_gil_stops_only_python_functions(hold_the_gil):
    """The counterpart: a runner with a Python function in its loop does wait for the GIL."""
    value = tf.py_func(lambda: np.float32(1.0), [], tf.float32)
    value.set_shape([])
    queue = tf.FIFOQueue(-1, [tf.float32], shapes=[()])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(value)]))
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        wait_until(lambda: session.queue_statistics(queue).size > 0)
        before = session.queue_statistics(queue).size
        hold_the_gil()
        grown = session.queue_statistics(queue).size - before
        coord.request_stop()
        coord.join(threads)
    assert grown <= 1
