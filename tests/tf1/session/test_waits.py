"""A run that waits in vain logs a warning, and the error that ends a wait explains it."""

import logging
import os
import signal
import threading

import pytest
from tests.calls import TIMEOUT, wait_until

import headrace.tf1 as tf
from headrace.tf1.session.waits import Waits

OPTIONS = tf.RunOptions(timeout_in_ms=int(TIMEOUT * 1000))
SHORTLY = tf.RunOptions(timeout_in_ms=50)


class Warnings(logging.Handler):
    """Collects the library's warnings, and lets tests wait for them."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []
        self.then = lambda: None
        self._has_come = threading.Semaphore(0)

    def emit(self, record):
        self.texts.append(record.getMessage())
        self._has_come.release()
        self.then()

    def wait(self):
        assert self._has_come.acquire(timeout=TIMEOUT), "nothing was said"
        return self.texts[-1]


@pytest.fixture
def warned(monkeypatch):
    """The warnings of runs that have waited for some milliseconds."""
    monkeypatch.setattr(Waits, "patience_secs", 0.01)
    handler = Warnings()
    logging.getLogger("headrace").addHandler(handler)
    yield handler
    logging.getLogger("headrace").removeHandler(handler)


@pytest.fixture
def thread_errors(monkeypatch):
    """The errors that ended threads, instead of a warning of pytest."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_value))
    return errors


@pytest.fixture
def other_thread():
    """A thread that might fill a queue, as far as the session can detect."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait, args=(TIMEOUT,))
    thread.start()
    yield thread
    end.set()
    thread.join(TIMEOUT)


def make_queue(name="examples"):
    return tf.FIFOQueue(2, [tf.int32], [()], name=name)


def make_runner(queue):
    return tf.train.QueueRunner(queue, [queue.enqueue(1)])


class Consumer:
    """Dequeues in a thread, so that the test can read messages meanwhile."""

    def __init__(self, sess, fetch):
        self.error = None
        self._thread = threading.Thread(target=self._run, args=(sess, fetch))
        self._thread.start()

    def _run(self, sess, fetch):
        try:
            sess.run(fetch, options=OPTIONS)
        except tf.errors.OpError as error:
            self.error = error

    def join(self):
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive()


def warning_of(sess, fetch, warned):
    """Returns the warning of a run that nothing else ends."""
    consumer = Consumer(sess, fetch)
    text = warned.wait()
    sess.close()
    consumer.join()
    return text


def test_warning_for_runners_that_were_never_started(warned):
    batch = tf.train.batch([tf.constant(1)], 4)
    text = warning_of(tf.Session(), batch, warned)
    assert text == (
        "queue 'batch/fifo_queue': operation 'batch' is still waiting, but its runner was never "
        "started in this session. Call tf.train.start_queue_runners(sess, coord) before the first "
        "run."
    )


def test_warning_for_a_runner_added_after_the_others_started(warned):
    tf.train.add_queue_runner(make_runner(make_queue("early")))
    sess, coord = tf.Session(), tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    late = make_queue("late")
    tf.train.add_queue_runner(make_runner(late))
    text = warning_of(sess, late.dequeue(), warned)
    assert text == (
        "queue 'late': operation 'late_Dequeue' is still waiting, but its runner was added after "
        "start_queue_runners. Call tf.train.start_queue_runners after you have built the whole "
        "graph, or call it once more."
    )
    with pytest.raises(tf.errors.CancelledError):
        coord.join(threads)


def test_warning_for_a_runner_in_no_collection(warned):
    queue = make_queue()
    runner = make_runner(queue)
    text = warning_of(tf.Session(), queue.dequeue(), warned)
    assert text.endswith(
        "its runner was never started in this session. Call runner.create_threads(sess, coord, "
        "start=True), or tf.train.add_queue_runner(runner) before start_queue_runners."
    )
    assert runner.exceptions_raised == []


def test_warning_for_threads_that_were_created_but_never_started(warned):
    queue = make_queue()
    threads = make_runner(queue).create_threads(sess := tf.Session())
    text = warning_of(sess, queue.dequeue(), warned)
    assert text.endswith(
        "the threads of its runner were created but never started. Call start() on each, or "
        "create_threads(sess, coord, start=True)."
    )
    assert len(threads) == 1


def test_warning_for_a_runner_that_ended_and_left_its_queue_open(warned):
    queue = make_queue()

    class OneEpoch(tf.train.QueueRunner):
        def _run(self, sess, enqueue_op, coord=None):
            pass

    sess = tf.Session()
    for thread in OneEpoch(queue, [queue.enqueue(1)]).create_threads(sess, start=True):
        thread.join(TIMEOUT)
    text = warning_of(sess, queue.dequeue(), warned)
    assert text.endswith("but all threads of its runner have ended without closing it")


def test_warning_for_an_upstream_runner_that_was_never_started(warned):
    names = make_queue("names")
    tf.train.add_queue_runner(make_runner(names), "special")
    batch = tf.train.batch([names.dequeue()], 2)
    sess, coord = tf.Session(), tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    text = warning_of(sess, batch, warned)
    assert text.startswith("queue 'names': operation 'names_Dequeue' is still waiting, but ")
    assert len(warned.texts) == 1
    with pytest.raises(tf.errors.CancelledError):
        coord.join(threads)


def test_warning_for_a_reader_that_waits_for_file_names(warned):
    names = tf.train.string_input_producer(["a"])
    key, _ = tf.TextLineReader().read(names)
    text = warning_of(tf.Session(), key, warned)
    assert text.startswith(
        "queue 'input_producer': operation 'ReaderReadV2' is still waiting, but its "
    )


def test_runners_of_a_different_session_do_not_count(warned):
    queue = make_queue()
    tf.train.add_queue_runner(make_runner(queue))
    other, coord = tf.Session(), tf.train.Coordinator()
    threads = tf.train.start_queue_runners(other, coord)
    text = warning_of(tf.Session(), queue.dequeue(), warned)
    assert "its runner was never started in this session" in text
    coord.request_stop()
    coord.join(threads)


def test_each_queue_causes_one_warning_per_session(warned):
    tf.train.add_queue_runner(make_runner(queue := make_queue()))
    tf.train.add_queue_runner(make_runner(other := make_queue("other")))
    dequeue = queue.dequeue()
    with tf.Session() as sess:
        consumers = [Consumer(sess, dequeue) for _ in range(3)]
        warned.wait()
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(dequeue, options=SHORTLY)
        consumers.append(Consumer(sess, other.dequeue()))
        assert warned.wait().startswith("queue 'other': ")
        assert len(warned.texts) == 2
        sess.close()
        for consumer in consumers:
            consumer.join()


def test_slow_runner_causes_no_warning(warned):
    queue = make_queue()
    release = threading.Event()
    value = tf.reshape(tf.py_func(lambda: (release.wait(TIMEOUT), 1)[1], [], tf.int64), [])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(value, tf.int32))])
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, start=True)
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            sess.run(queue.dequeue(), options=SHORTLY)
        release.set()
        assert sess.run(queue.dequeue(), options=OPTIONS) == 1
        coord.request_stop()
        coord.join(threads)
    assert warned.texts == []
    assert str(caught.value).endswith(
        "the run was waiting for queue 'examples' (operation 'examples_Dequeue')"
    )


def test_queue_that_another_thread_may_fill_causes_no_warning(warned, other_thread):
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(make_queue().dequeue(), options=SHORTLY)
    assert warned.texts == []


def test_full_queue_causes_no_warning(warned):
    enqueue = make_queue().enqueue_many([[1, 2, 3]])
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError) as caught:
        sess.run(enqueue, options=SHORTLY)
    assert warned.texts == []
    assert str(caught.value).endswith(
        "the run was waiting for room in queue 'examples' (operation 'examples_EnqueueMany')"
    )


def test_warning_for_a_queue_that_can_never_be_filled(warned):
    reason = (
        "it has no runner, and no other thread could fill it. Enqueue elements first, or "
        "create a tf.train.QueueRunner for it."
    )
    dequeue = make_queue().dequeue()
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError) as caught:
        sess.run(dequeue, options=SHORTLY)
    assert str(caught.value).endswith(f"(operation 'examples_Dequeue'), but {reason}")
    with tf.Session() as sess:
        warned.texts.clear()
        warned.then = sess.close
        with pytest.raises(tf.errors.CancelledError):
            sess.run(dequeue)
    assert warned.texts == [
        f"queue 'examples': operation 'examples_Dequeue' is still waiting, but {reason}"
    ]


def test_timeout_error_names_the_queue_and_the_reason():
    queue = make_queue()
    tf.train.add_queue_runner(make_runner(queue))
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError) as caught:
        sess.run(queue.dequeue(), options=SHORTLY)
    assert caught.value.op is None
    assert caught.value.__cause__ is None
    assert str(caught.value) == (
        "Timed out waiting for notification\n\t the run was waiting for queue 'examples' "
        "(operation 'examples_Dequeue'), but its runner was never started in this session. Call "
        "tf.train.start_queue_runners(sess, coord) before the first run."
    )


def test_timeout_error_has_the_runner_error_as_its_cause(thread_errors):
    queue = make_queue()
    enqueues = [
        queue.enqueue([tf.Variable(1, name="v")]),
        queue.enqueue(make_queue("no").dequeue()),
    ]
    runner = tf.train.QueueRunner(queue, enqueues)
    with tf.Session() as sess:
        failing, waiting = runner.create_threads(sess, start=True)
        failing.join(TIMEOUT)
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            sess.run(queue.dequeue(), options=SHORTLY)
    waiting.join(TIMEOUT)
    assert caught.value.__cause__ is thread_errors[0]
    assert "A queue runner failed: FailedPreconditionError: Attempting to use" in str(caught.value)
    assert "It is a global variable: run tf.global_variables_initializer()" in str(caught.value)


@pytest.mark.parametrize("is_brief", [True, False])
def test_ctrl_c_adds_a_note_about_the_waiting_run(is_brief):
    queue = make_queue()
    tf.train.add_queue_runner(make_runner(queue))
    value = queue.dequeue() if is_brief else queue.dequeue() + 1
    sess = tf.Session()

    def interrupt():
        wait_until(lambda: sess.queue_statistics(queue).num_waiting_dequeues == 1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        sess.run(value, options=OPTIONS)
    thread.join(TIMEOUT)
    sess.close()
    assert caught.value.__notes__ == [
        "the run was waiting for queue 'examples' (operation 'examples_Dequeue'), but its runner "
        "was never started in this session. Call tf.train.start_queue_runners(sess, coord) before "
        "the first run."
    ]
    assert not hasattr(caught.value, "waiting")


def test_ctrl_c_has_the_runner_error_as_its_cause(thread_errors):
    queue = make_queue()
    enqueues = [
        queue.enqueue([tf.Variable(1, name="v")]),
        queue.enqueue(make_queue("no").dequeue()),
    ]
    runner = tf.train.QueueRunner(queue, enqueues)
    with tf.Session() as sess:
        failing, waiting = runner.create_threads(sess, start=True)
        failing.join(TIMEOUT)

        def interrupt():
            wait_until(lambda: sess.queue_statistics(queue).num_waiting_dequeues == 1)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            sess.run(queue.dequeue(), options=OPTIONS)
        thread.join(TIMEOUT)
    waiting.join(TIMEOUT)
    assert caught.value.__cause__ is thread_errors[0]
    assert "queue 'examples'" in caught.value.__notes__[0]
    assert "A queue runner failed: FailedPreconditionError" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("collections", "remedy"),
    [
        (["local_variables"], "It is a local variable: run tf.local_variables_initializer()"),
        (None, "It is a global variable: run tf.global_variables_initializer() before anything"),
        ([], "It is not in any collection of variables: run its own initializer first."),
    ],
)
def test_error_for_an_uninitialized_variable_names_its_initializer(collections, remedy):
    variable = tf.Variable(1, name="v", collections=collections)
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        sess.run(variable)
    assert str(caught.value).startswith("Attempting to use uninitialized value v\n")
    assert remedy in str(caught.value)
