"""A program that ends while its threads work: `python exiting.py`, for `tests/tf1/test_exit.py`.

`ACTIVITIES` lists the activities of its runner threads at the end, and `ENDINGS` the ways to end.
The program ends once each activity has started. It forks for each line `ACTIVITY+ACTIVITY ENDING`
of stdin, so it does not have to be started again.
"""

import atexit
import json
import os
import signal
import sys
import tempfile
import threading
import time

LATE = []
"""A function that runs at exit, after those of headrace."""

# Functions that are registered first are called last.
atexit.register(lambda: [function() for function in LATE])

import numpy as np  # noqa: E402

import headrace.tf1 as tf  # noqa: E402
from headrace.tf1.queues import FIFOQueue  # noqa: E402

BEGUN = []
"""For each activity, a function that says whether it has begun."""
TIMEOUT = 30.0
"""Seconds after which a program that has not ended hangs."""


def fill(value, capacity=-1):
    """Adds a runner that enqueues a value endlessly."""
    value.set_shape([])
    queue = tf.FIFOQueue(capacity, [value.dtype], shapes=[()])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(value)] * 2))
    return queue


def fill_with(function):
    """Adds a runner that puts the results of a Python function into a queue."""
    has_begun = threading.Event()

    def call():
        has_begun.set()
        return function()

    BEGUN.append(has_begun.is_set)
    return fill(tf.py_func(call, [], tf.float64))


def in_thread(function):
    """Calls a function repeatedly, in a daemon thread, until it fails."""

    def repeat():
        try:
            while True:
                function()
        except tf.errors.CancelledError:
            pass

    threading.Thread(target=repeat, daemon=True).start()


def has_size(queue, session, size=1):
    BEGUN.append(lambda: session.queue_statistics(queue).size >= size)


def has_waiting(queue, session):
    def begun():
        stats = session.queue_statistics(queue)
        return stats.num_waiting_enqueues + stats.num_waiting_dequeues > 0

    BEGUN.append(begun)


def computing(session):
    fill_with(lambda: float(sum(range(1000))))


def sleeping(session):
    fill_with(lambda: time.sleep(3600))


def napping(session):
    """Makes short blocking calls, and returns to Python between them."""
    fill_with(lambda: time.sleep(0.0001) or 1.0)


def locked(session):
    fill_with(threading.Event().wait)


def writing(session):
    fill_with(lambda: float(sys.stdout.write("text\n")))


def failing(session):
    fill_with(lambda: 1 / 0)


def printing(session):
    value = tf.constant(1.0)
    has_size(fill(tf.Print(value, [value], "seen: ")), session)


def counting(session):
    """Runs a kernel of NumPy."""
    has_size(fill(tf.cumsum(tf.random_uniform([99]))[0]), session)


def native(session):
    has_size(fill(tf.random_uniform([])), session)


def enqueueing(session):
    has_waiting(fill(tf.random_uniform([]), capacity=1), session)


def dequeueing(session):
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[()])
    dequeue = queue.dequeue()
    in_thread(lambda: session.run(dequeue))
    has_waiting(queue, session)


def reading(session):
    """Waits for the data of a pipe without a writer."""
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    path = os.path.join(directory.name, "pipe")
    os.mkfifo(path)
    names = tf.train.string_input_producer([path])
    fill(tf.TextLineReader().read(names)[1])
    BEGUN.append(lambda: session.queue_statistics(names).num_dequeued > 0)


def running(session):
    """Runs a graph in a Python loop."""
    number = tf.random_uniform([])
    runs = iter(range(1 << 60))
    in_thread(lambda: (session.run(number), next(runs)))
    BEGUN.append(lambda: next(runs) > 0)


def feeding(session):
    """Calls a function and runs a graph with feeds in a Python loop."""
    number = tf.placeholder(tf.float64, [])
    queue = tf.FIFOQueue(-1, [tf.float64], shapes=[()])
    enqueue = queue.enqueue(number)
    in_thread(lambda: session.run(enqueue, {number: np.sqrt(2.0)}))
    has_size(queue, session)


def eager(session):
    """Waits for queues without a graph."""
    full, empty = FIFOQueue(1, "int64", shapes=()), FIFOQueue(1, "int64", shapes=())
    in_thread(lambda: full.enqueue(1))
    in_thread(empty.dequeue)
    BEGUN.append(lambda: full.stats.num_waiting_enqueues and empty.stats.num_waiting_dequeues)


ACTIVITIES = {
    function.__name__: function
    for function in (
        *(computing, sleeping, napping, locked, writing, failing, printing, counting, native),
        *(enqueueing, dequeueing, reading, running, feeding, eager),
    )
}


def start(session, coord=None, daemon=True):
    threads = []
    if tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
        threads = tf.train.start_queue_runners(session, coord, daemon=daemon)
    while not all(begun() for begun in BEGUN):
        time.sleep(0.001)
    return threads


def falling_off(session):
    start(session)


def leaving_with(session):
    with session:
        start(session)


def closed(session):
    start(session)
    session.close()


def coordinated(session):
    """The coordinator has the threads and does not ask them to stop."""
    start(session, tf.train.Coordinator())


def stopped(session):
    """The coordinator asks the threads to stop and does not join them."""
    coord = tf.train.Coordinator()
    start(session, coord)
    coord.request_stop()


def not_daemons(session):
    """The interpreter joins the threads after the coordinator has requested a stop."""
    coord = tf.train.Coordinator()
    start(session, coord, daemon=False)
    coord.request_stop()
    session.close()


def exiting(session):
    start(session)
    sys.exit()


def exiting_with_3(session):
    with session:
        start(session)
        sys.exit(3)


def raising(session):
    with session:
        start(session)
        raise LookupError("the program's own")


def interrupted(session):
    """Sends Ctrl-C while the main thread waits for an element."""
    dequeue = tf.FIFOQueue(1, [tf.int32]).dequeue()
    start(session)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    session.run(dequeue)


def terminated(session):
    start(session)
    os.kill(os.getpid(), signal.SIGTERM)


def leaving_at_once(session):
    start(session)
    sys.stdout.flush()
    os._exit(0)


def failing_at_exit(session):
    atexit.register(lambda: 1 / 0)
    start(session)


def joining_at_exit(session):
    """A function that was registered before everything else waits for the threads."""
    threads = start(session)
    LATE.extend([thread.join for thread in threads])


def running_at_exit(session):
    """A function that was registered before everything else runs something."""
    start(session)

    def run():
        with tf.Session(graph=tf.Graph()) as other, other.graph.as_default():
            assert other.run(tf.py_func(lambda: 1, [], tf.int64)) == 1

    LATE.append(run)


ENDINGS = {
    function.__name__: function
    for function in (
        *(falling_off, leaving_with, closed, coordinated, stopped, not_daemons, exiting),
        *(exiting_with_3, raising, interrupted, terminated, leaving_at_once, failing_at_exit),
        *(joining_at_exit, running_at_exit),
    )
}


def main(activities, ending):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session = tf.Session()
    for activity in activities.split("+"):
        ACTIVITIES[activity](session)
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    ENDINGS[ending](session)


def wait_for(pid):
    """Returns the exit status of a process, as `subprocess` reports it; None if it hangs."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def serve():
    """Forks for each line. The child returns, and ends like any program."""
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output:
            pid = os.fork()
            if pid == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                return main(*line.split())
            status = wait_for(pid)
            output.seek(0)
            print(json.dumps([status, output.read().decode()]), flush=True)


if __name__ == "__main__":
    serve()
