"""Faults on the way to a server: the read is tried again, or the fault is reported."""

import threading

import pytest
from tests.io.storage.server import (
    Server,
    stalls,
)

import headrace.tf1 as tf
from headrace.core import errors

LINES = [b"%d " % number * 30 for number in range(25_000)]
DATA = b"\n".join(LINES)


def test_stopped_run_does_not_wait_for_a_response_body(server: Server):
    goes_on = threading.Event()
    server.files["bucket/a"] = DATA
    server.faults = [stalls(goes_on)]
    contents = tf.read_file("s3://bucket/a")
    with tf.Session() as sess:
        try:
            with pytest.raises(errors.DeadlineExceededError):
                sess.run(contents, options=tf.RunOptions(timeout_in_ms=200))
        finally:
            goes_on.set()
