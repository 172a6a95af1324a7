"""A forked child of a process with a session."""

import subprocess
import sys


def run(*command):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", *command],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


TF1 = """
import os, sys
import headrace.tf1 as tf

queue = tf.train.string_input_producer(["a", "b"])
name = queue.dequeue()
session = tf.Session()
coordinator = tf.train.Coordinator()
threads = tf.train.start_queue_runners(session, coordinator)
session.run(name)
child = os.fork()
if child == 0:
    del session
    other = tf.Session()
    print(other.run(tf.constant(3)), flush=True)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
print(session.run(name) in (b"a", b"b"))
coordinator.request_stop()
coordinator.join(threads)
"""


def test_session_of_the_parent_process_is_dropped():
    done = run(TF1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["3", "True"]
