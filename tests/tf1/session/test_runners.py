"""The runners of a session end with it, or when the default graph is reset."""

import gc
import threading
import weakref

import pytest
from tests.calls import TIMEOUT, wait_until

import headrace.tf1 as tf

OPTIONS = tf.RunOptions(timeout_in_ms=int(TIMEOUT * 1000))


def make_pipeline(num_epochs=None):
    """Names, examples and batches: two runners of several threads, one after the other."""
    number = tf.train.range_input_producer(10, num_epochs=num_epochs).dequeue()
    return tf.train.shuffle_batch([number], 2, 20, 5, num_threads=3)


def start(sess, coord=None, collection="queue_runners"):
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return tf.train.start_queue_runners(sess, coord, collection=collection)


def run_to_the_end(sess, fetch):
    while True:
        sess.run(fetch, options=OPTIONS)


def join_all(threads):
    for thread in threads:
        thread.join(TIMEOUT)
    assert [thread.name for thread in threads if thread.is_alive()] == []


def wait_until_gone(actual):
    """Waits for threads that are about to enter their loops: they still hold their arguments."""
    wait_until(lambda: gc.collect() >= 0 and actual() is None)


@pytest.mark.parametrize("has_coordinator", [False, True])
@pytest.mark.parametrize("num_epochs", [None, 1])
def test_unreferenced_session_ends_its_runners(num_epochs, has_coordinator):
    batch = make_pipeline(num_epochs)
    coord = tf.train.Coordinator() if has_coordinator else None
    sess = tf.Session()
    threads = start(sess, coord)
    sess.run(batch, options=OPTIONS)
    result = weakref.ref(sess)
    del sess
    wait_until_gone(result)
    join_all(threads)
    if coord is not None:
        assert len(threads) == 6
        assert not coord.should_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)


def test_session_in_a_reference_cycle_ends_its_runners_when_collected():
    batch = make_pipeline()
    sess = tf.Session()
    threads = start(sess, tf.train.Coordinator())
    sess.run(batch, options=OPTIONS)
    circle = [sess]
    circle.append(circle)
    del sess, circle
    gc.collect()
    join_all(threads)


def test_session_with_a_failed_runner_is_collected(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    queue = tf.FIFOQueue(1, [tf.int32], [()])
    runner = tf.train.QueueRunner(queue, [queue.enqueue([tf.Variable(1)]), queue.enqueue(2)])
    sess = tf.Session()
    failing, filling = runner.create_threads(sess, start=True)
    failing.join(TIMEOUT)
    assert len(runner.exceptions_raised) == 1
    result = weakref.ref(sess)
    del sess
    wait_until_gone(result)
    join_all([filling])


def test_threads_started_after_their_session_was_collected_do_nothing():
    make_pipeline()
    sess = tf.Session()
    threads = tf.train.start_queue_runners(sess, tf.train.Coordinator(), start=False)
    del sess
    gc.collect()
    for thread in threads:
        thread.start()
    join_all(threads)


def test_rerun_notebook_cell_leaves_no_old_threads():
    before = set(threading.enumerate())
    sess = None
    for _ in range(5):
        batch = make_pipeline()
        sess = tf.Session()
        # All runners of the default graph start, including those of earlier cells.
        threads = start(sess, tf.train.Coordinator())
        sess.run(batch, options=OPTIONS)
    wait_until(lambda: set(threading.enumerate()) - before <= set(threads))
    sess.close()
    join_all(threads)


def test_resetting_the_default_graph_ends_the_runners_of_its_sessions():
    for _ in range(3):
        tf.reset_default_graph()
        batch = make_pipeline()
        # Stays the default session of its thread, so that it is never collected.
        sess = tf.InteractiveSession()
        coord = tf.train.Coordinator()
        threads = start(sess, coord)
        sess.run(batch, options=OPTIONS)
        tf.reset_default_graph()
        join_all(threads)
        assert not coord.should_stop()
        sess.close()


def test_threads_created_before_a_reset_end_when_they_start():
    """So do those that were started but have not reached their loops."""
    tf.reset_default_graph()
    make_pipeline()
    sess, coord = tf.Session(), tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord, start=False)
    tf.reset_default_graph()
    for thread in threads:
        thread.start()
    join_all(threads)
    assert not coord.should_stop()
    coord.join(threads, stop_grace_period_secs=TIMEOUT)
    sess.close()


def test_reset_leaves_the_runners_of_other_graphs():
    with tf.Graph().as_default() as graph:
        batch = make_pipeline()
        sess = tf.Session(graph=graph)
        threads = start(sess, tf.train.Coordinator())
    tf.reset_default_graph()
    for _ in range(20):
        sess.run(batch, options=OPTIONS)
    assert all(thread.is_alive() for thread in threads)
    sess.close()
    join_all(threads)


def test_consumer_error_after_a_reset_mentions_the_reset():
    batch = make_pipeline()
    sess = tf.Session()
    threads = start(sess)
    tf.reset_default_graph()
    join_all(threads)
    with pytest.raises(tf.errors.OutOfRangeError) as caught:
        run_to_the_end(sess, batch)
    assert "tf.reset_default_graph() ended the queue runners of this session" in str(caught.value)
    assert isinstance(caught.value.__cause__, tf.errors.CancelledError)


def test_runners_started_after_a_reset_run():
    batch = make_pipeline()
    sess = tf.Session()
    tf.reset_default_graph()
    with sess.graph.as_default():
        threads = start(sess, tf.train.Coordinator())
    for _ in range(20):
        sess.run(batch, options=OPTIONS)
    sess.close()
    join_all(threads)


def test_reset_ends_a_runner_with_a_python_loop():
    queue = tf.FIFOQueue(1, [tf.int32], [()])

    class Loop(tf.train.QueueRunner):
        def _run(self, sess, enqueue_op, coord=None):
            try:
                while True:
                    sess.run(enqueue_op)
            except tf.errors.CancelledError:
                ended.set()

    ended = threading.Event()
    runner = Loop(queue, [queue.enqueue(1)])
    sess = tf.Session()
    threads = runner.create_threads(sess, tf.train.Coordinator(), start=True)
    wait_until(lambda: sess.queue_statistics(queue).num_waiting_enqueues == 1)
    tf.reset_default_graph()
    join_all(threads)
    assert ended.is_set()


def test_closing_a_session_ends_the_threads_that_wait_for_the_stop():
    batch = make_pipeline(num_epochs=1)
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        threads = start(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            run_to_the_end(sess, batch)
    # Nobody has requested a stop.
    join_all(threads)
    coord.join(threads, stop_grace_period_secs=TIMEOUT)
