"""Sessions, graphs and Python functions without outside references are collected."""

import gc
import logging
import threading
import weakref

import numpy as np
import pytest
from tests.calls import TIMEOUT

import headrace.tf1 as tf
from headrace.graph.lowering.lowering import _NumpyKernel

OPTIONS = tf.RunOptions(timeout_in_ms=int(TIMEOUT * 1000))


class Loader:
    """Holds a session that calls one of its methods."""

    def __init__(self, has_runner):
        with tf.Graph().as_default() as self.graph:
            number = tf.py_func(self.load, [1], tf.int64)
            number.set_shape([])
            self.batch = tf.train.batch([number], 2) if has_runner else number
        self.sess = tf.Session(graph=self.graph)

    def load(self, number):
        return np.int64(number)

    def parts(self):
        return [weakref.ref(item) for item in (self, self.sess, self.graph)]


def left_of(parts):
    gc.collect()
    return [result for find in parts if (result := find()) is not None]


def test_object_whose_method_is_called_by_its_session_is_collected():
    loader = Loader(has_runner=False)
    assert loader.sess.run(loader.batch, options=OPTIONS) == 1
    parts = loader.parts()
    del loader
    assert left_of(parts) == []


@pytest.mark.parametrize("has_coordinator", [False, True])
def test_object_whose_runners_were_ended_by_the_session_is_collected(monkeypatch, has_coordinator):
    """Without a coordinator the runner keeps the error that has ended it."""
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    # Pytest keeps log records, which contain the error.
    monkeypatch.setattr(logging.getLogger("headrace.tf1.queue_runners.runner"), "disabled", True)
    loader = Loader(has_runner=True)
    coord = tf.train.Coordinator() if has_coordinator else None
    with loader.graph.as_default():
        threads = tf.train.start_queue_runners(loader.sess, coord)
    assert loader.sess.run(loader.batch, options=OPTIONS).tolist() == [1, 1]
    loader.sess.close()
    for thread in threads:
        thread.join(TIMEOUT)
    parts = loader.parts()
    del loader, threads, thread, coord
    assert left_of(parts) == []


def test_function_of_a_collected_graph_is_not_called():
    with tf.Graph().as_default() as graph:
        number = tf.py_func(lambda value: value, [1], tf.int64)
    kernel = _NumpyKernel(number.op)
    assert kernel(np.int64(1)) == [1]
    del graph, number
    gc.collect()
    with pytest.raises(
        tf.errors.CancelledError, match="the graph that this function belongs to no longer exists"
    ):
        kernel(np.int64(1))
