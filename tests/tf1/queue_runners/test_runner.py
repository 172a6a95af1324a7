import threading

import numpy as np
import pytest

import headrace.tf1 as tf

TIMEOUT = 10.0
"""Seconds after which a wait that should have ended has failed."""

OPTIONS = tf.RunOptions(timeout_in_ms=int(TIMEOUT * 1000))


@pytest.fixture
def coord():
    coord = tf.train.Coordinator()
    yield coord
    coord.request_stop()


@pytest.fixture
def thread_errors(monkeypatch):
    """The errors that ended threads, instead of a warning of pytest."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_value))
    return errors


def make_queue(capacity=10, name="queue"):
    return tf.FIFOQueue(capacity, [tf.int32], shapes=[()], name=name)


def make_limited_enqueue(queue, limit, name=None):
    """Creates an operation that enqueues 0, 1, … `limit - 1`, then reports the end of the input."""
    counter = tf.Variable(0, name="counter")
    return queue.enqueue([counter.count_up_to(limit)], name=name)


def join_all(threads):
    for thread in threads:
        thread.join(TIMEOUT)
    assert not any(thread.is_alive() for thread in threads)


def drain(sess, queue):
    """Dequeues until the queue is closed and empty."""
    dequeue, elements = queue.dequeue(), []
    try:
        while True:
            elements.append(int(sess.run(dequeue, options=OPTIONS)))
    except tf.errors.OutOfRangeError:
        return elements


class FakeOp:
    """An operation that calls a function, and counts its runs."""

    def __init__(self, name, function=lambda: None):
        self.name = name
        self.function = function
        self.num_runs = 0

    def run(self):
        self.num_runs += 1
        self.function()


class FakeQueue:
    """A queue whose operations only count their runs."""

    name = "fake"

    def close(self, cancel_pending_enqueues=False):
        return FakeOp("cancel" if cancel_pending_enqueues else "close")


class FakeSession:
    """The least that a runner needs of a session."""

    def run(self, op):
        op.run()


class FakeCoordinator:
    """The least that a runner needs of a coordinator."""

    def __init__(self):
        self.stop = threading.Event()
        self.errors = []
        self.threads = []

    def should_stop(self):
        return self.stop.is_set()

    def request_stop(self, ex=None):
        self.errors.append(ex)
        self.stop.set()

    def wait_for_stop(self, timeout=None):
        return self.stop.wait(timeout)

    def register_thread(self, thread):
        self.threads.append(thread)


def raising(error):
    def function():
        raise error

    return function


# Construction


@pytest.mark.parametrize("arguments", [(), ("queue",), ("queue", []), (None, ["op"])])
def test_runner_requires_a_queue_and_operations(arguments):
    with pytest.raises(ValueError, match=r"Must provide queue and enqueue_ops\."):
        tf.train.QueueRunner(*arguments)


def test_runner_def_and_queue_are_mutually_exclusive():
    queue = make_queue()
    definition = tf.train.QueueRunner(queue, [queue.enqueue(1)]).to_proto()
    with pytest.raises(ValueError, match="queue_runner_def and queue are mutually exclusive"):
        tf.train.QueueRunner(queue, queue_runner_def=definition)


@pytest.mark.parametrize(
    "types", [(), (ValueError,), tf.errors.AbortedError, [tf.errors.AbortedError], (1,)]
)
def test_queue_closed_types_must_be_a_tuple_of_errors(types):
    with pytest.raises(
        TypeError,
        match=r"queue_closed_exception_types, when provided, must be a tuple of tf.error types",
    ):
        tf.train.QueueRunner(FakeQueue(), [FakeOp("op")], queue_closed_exception_types=types)


def test_error_shows_a_single_queue_closed_type_like_tensorflow():
    with pytest.raises(TypeError, match=r"but saw: <class 'ValueError'>$"):
        tf.train.QueueRunner(
            FakeQueue(), [FakeOp("op")], queue_closed_exception_types=(ValueError,)
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda variable: variable,
        lambda variable: tf.IndexedSlices(tf.constant(1), tf.identity(variable)),
    ],
    ids=["variable", "second part of a composite"],
)
def test_uninitialized_tensor_as_an_enqueue_operation_is_an_error(make, coord):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [make(tf.Variable(3, name="variable"))])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        assert coord.wait_for_stop(TIMEOUT)
        with pytest.raises(
            tf.errors.FailedPreconditionError,
            match="Attempting to use uninitialized value variable",
        ):
            coord.join(threads, stop_grace_period_secs=TIMEOUT)
        assert drain(sess, queue) == []


def test_runner_creates_the_closing_operations_of_its_queue():
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    assert runner.close_op.name == "queue_Close"
    assert runner.cancel_op.name == "queue_Close_1"


def test_runner_keeps_its_arguments():
    queue = make_queue()
    ops, close, cancel = [queue.enqueue(1)], tf.no_op(), tf.no_op()
    types = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
    runner = tf.train.QueueRunner(queue, ops, close, cancel, types)
    assert runner.queue is queue
    assert runner.enqueue_ops == ops
    assert runner.close_op is close
    assert runner.cancel_op is cancel
    assert runner.queue_closed_exception_types == types
    assert runner.name == queue.name == "queue"
    assert runner.exceptions_raised == []


def test_out_of_range_error_closes_the_queue_by_default():
    runner = tf.train.QueueRunner(FakeQueue(), [FakeOp("op")])
    assert runner.queue_closed_exception_types == (tf.errors.OutOfRangeError,)


# Threads


def test_each_operation_has_a_thread_named_after_it(coord):
    queue = make_queue()
    ops = [queue.enqueue(1, name="first"), queue.enqueue(2, name="second")]
    runner = tf.train.QueueRunner(queue, ops)
    with tf.Session() as sess, tf.Session() as other:
        alone = runner.create_threads(sess)
        coordinated = runner.create_threads(other, coord, daemon=True)
    names = [f"QueueRunnerThread-queue-{op.name}" for op in ops]
    assert [thread.name for thread in alone] == names
    assert [thread.name for thread in coordinated] == [
        *names,
        "QueueRunnerThread-queue-close_on_stop",
    ]
    assert not any(thread.daemon for thread in alone)
    assert all(thread.daemon for thread in coordinated)
    assert not any(thread.is_alive() for thread in alone + coordinated)


def test_every_thread_is_registered_with_the_coordinator():
    coord = FakeCoordinator()
    runner = tf.train.QueueRunner(FakeQueue(), [FakeOp("a"), FakeOp("b")])
    threads = runner.create_threads(FakeSession(), coord)
    assert coord.threads == threads
    assert len(threads) == 3


def test_runner_has_one_set_of_threads_per_session():
    runner = tf.train.QueueRunner(FakeQueue(), [FakeOp("op")])
    first, second = FakeSession(), FakeSession()
    assert len(runner.create_threads(first)) == 1
    assert runner.create_threads(first) == []
    assert len(runner.create_threads(second)) == 1


def test_runner_releases_a_collected_session():
    runner = tf.train.QueueRunner(FakeQueue(), [FakeOp("op")])
    for _ in range(3):
        assert len(runner.create_threads(FakeSession())) == 1
    assert len(runner._runs_per_session) <= 1


def test_threads_can_be_recreated_once_all_have_ended(thread_errors):
    op = FakeOp("op", raising(KeyError("first")))
    runner, sess = tf.train.QueueRunner(FakeQueue(), [op]), FakeSession()
    join_all(runner.create_threads(sess, start=True))
    assert [type(error) for error in runner.exceptions_raised] == [KeyError]
    op.function = raising(tf.errors.OutOfRangeError(None, None, "end"))
    threads = runner.create_threads(sess, start=True)
    assert len(threads) == 1
    join_all(threads)
    assert runner.exceptions_raised == []


# The end of the input


def test_end_of_the_input_closes_the_queue_without_requesting_a_stop(coord):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [make_limited_enqueue(queue, 3)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = runner.create_threads(sess, coord, start=True)
        assert drain(sess, queue) == [0, 1, 2]
        assert not coord.should_stop()
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
    assert runner.exceptions_raised == []


def test_only_the_last_thread_closes_the_queue():
    release = threading.Event()
    end = tf.errors.OutOfRangeError(None, None, "end")

    def wait_then_end():
        release.wait(TIMEOUT)
        raise end

    runner = tf.train.QueueRunner(
        FakeQueue(), [FakeOp("first", raising(end)), FakeOp("second", wait_then_end)]
    )
    first, second = runner.create_threads(FakeSession(), start=True)
    first.join(TIMEOUT)
    assert runner.close_op.num_runs == 0
    release.set()
    second.join(TIMEOUT)
    assert runner.close_op.num_runs == 1
    assert runner.cancel_op.num_runs == 0


def test_several_operations_fill_one_queue_until_the_last_ends():
    queue = make_queue()
    ops = [make_limited_enqueue(queue, limit) for limit in (3, 5)]
    runner = tf.train.QueueRunner(queue, ops)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = runner.create_threads(sess, start=True)
        assert sorted(drain(sess, queue)) == [0, 0, 1, 1, 2, 2, 3, 4]
        join_all(threads)


def fill_from(function, coord, num_threads=1):
    """Fills a queue with results of a Python function, empties it, and returns the elements."""
    queue = make_queue()
    value = tf.py_func(function, [], tf.int32, name="f")
    value.set_shape([])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(value)] * num_threads))
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        elements = drain(sess, queue)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
    return elements


def test_stop_iteration_in_a_function_ends_the_input_and_is_logged_once(coord, caplog):
    numbers = iter([np.int32(1), np.int32(2)])
    lock = threading.Lock()

    def following():
        with lock:
            return next(numbers)

    assert sorted(fill_from(following, coord, num_threads=3)) == [1, 2]
    (record,) = caplog.records
    line = following.__code__.co_firstlineno + 2
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "queue 'queue': the Python function of operation 'f' raised StopIteration "
        f"({__file__}:{line}), which ends the input. If you did not intend this, catch "
        "the exception in the function. If you did, raise tf.errors.OutOfRangeError instead to "
        "avoid this warning."
    )


def test_functions_that_end_the_input_together_are_logged_once(caplog):
    together = threading.Barrier(8)

    def end():
        together.wait(timeout=TIMEOUT)
        raise StopIteration

    for _ in range(20):
        caplog.clear()
        # Uses a new graph. Otherwise, the runners of earlier rounds would start again, and a stop
        # before their first run would leave others alone at the barrier.
        with tf.Graph().as_default():
            assert fill_from(end, tf.train.Coordinator(), num_threads=8) == []
        assert len(caplog.records) == 1


def test_out_of_range_error_from_py_func_ends_the_input(coord, caplog):
    def end():
        raise tf.errors.OutOfRangeError(None, None, "the end")

    assert fill_from(end, coord) == []
    assert caplog.records == []


def test_error_types_that_end_the_input_can_be_chosen():
    end = tf.errors.CancelledError(None, None, "closed")
    runner = tf.train.QueueRunner(
        FakeQueue(),
        [FakeOp("op", raising(end))],
        queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
    )
    join_all(runner.create_threads(FakeSession(), start=True))
    assert runner.close_op.num_runs == 1
    assert runner.exceptions_raised == []


def test_error_in_the_closing_operation_is_ignored():
    end = tf.errors.OutOfRangeError(None, None, "end")
    close_op = FakeOp("close", raising(tf.errors.CancelledError(None, None, "already closed")))
    runner = tf.train.QueueRunner(FakeQueue(), [FakeOp("op", raising(end))], close_op=close_op)
    join_all(runner.create_threads(FakeSession(), start=True))
    assert close_op.num_runs == 1
    assert runner.exceptions_raised == []


def test_counter_can_be_one_of_the_operations(coord):
    queue = make_queue(capacity=1)
    counter = tf.Variable(0, name="counter")
    increment = tf.assign_add(counter, 1)
    runner = tf.train.QueueRunner(queue, [increment, queue.enqueue([counter])])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = runner.create_threads(sess, coord, start=True)
        dequeue, last = queue.dequeue(), 0
        while last < 3:
            last = sess.run(dequeue, options=OPTIONS)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)


# Errors


def test_error_stops_all_threads_and_is_raised_by_join(coord):
    queue = make_queue()
    uninitialized = tf.Variable(1, name="uninitialized")
    runner = tf.train.QueueRunner(queue, [queue.enqueue([uninitialized])])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        assert coord.wait_for_stop(TIMEOUT)
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="uninitialized value uninitialized"
        ):
            coord.join(threads, stop_grace_period_secs=TIMEOUT)
        assert drain(sess, queue) == []
    assert runner.exceptions_raised == []


def test_error_cancels_the_queue_without_closing_it():
    coord = FakeCoordinator()
    error = ValueError("bad record")
    runner = tf.train.QueueRunner(FakeQueue(), [FakeOp("op", raising(error))])
    join_all(runner.create_threads(FakeSession(), coord, start=True))
    assert coord.errors == [error]
    assert runner.close_op.num_runs == 0
    assert runner.cancel_op.num_runs == 1


def test_error_without_a_coordinator_is_kept_and_closes_the_queue(thread_errors, caplog):
    queue = make_queue()
    uninitialized = tf.Variable(1, name="uninitialized")
    runner = tf.train.QueueRunner(queue, [queue.enqueue([uninitialized])])
    with tf.Session() as sess:
        join_all(runner.create_threads(sess, start=True))
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            sess.run(queue.dequeue(), options=OPTIONS)
    assert [type(error) for error in thread_errors] == [tf.errors.FailedPreconditionError]
    assert runner.exceptions_raised == thread_errors
    assert caught.value.__cause__ is thread_errors[0]
    assert caplog.text.count("Exception in QueueRunner: ") == 1


def test_other_threads_continue_after_an_error_without_a_coordinator(thread_errors):
    queue = make_queue(capacity=1)
    uninitialized = tf.Variable(1, name="uninitialized")
    runner = tf.train.QueueRunner(queue, [queue.enqueue([uninitialized]), queue.enqueue(7)])
    with tf.Session() as sess:
        failing, filling = runner.create_threads(sess, start=True)
        join_all([failing])
        values = sess.run(queue.dequeue_many(5), options=OPTIONS)
    assert values.tolist() == [7] * 5
    join_all([filling])
    assert isinstance(thread_errors[0], tf.errors.FailedPreconditionError)


def test_two_runners_of_one_queue_conflict(coord):
    queue = make_queue()
    limited = tf.train.QueueRunner(queue, [make_limited_enqueue(queue, 2)])
    endless = tf.train.QueueRunner(queue, [queue.enqueue(7)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = limited.create_threads(sess, coord, start=True)
        threads[0].join(TIMEOUT)
        threads += endless.create_threads(sess, coord, start=True)
        assert coord.wait_for_stop(TIMEOUT)
        with pytest.raises(tf.errors.CancelledError, match=r"is closed\."):
            coord.join(threads, stop_grace_period_secs=TIMEOUT)


# Stopping


def test_stop_wakes_a_thread_that_waits_for_room(coord):
    queue = make_queue(capacity=1)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        sess.run(queue.dequeue_many(5), options=OPTIONS)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
        assert sess.run(queue.is_closed())


def test_threads_started_after_a_stop_do_not_run_their_operation(coord):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord.request_stop()
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        coord.join(threads, stop_grace_period_secs=TIMEOUT)
        assert drain(sess, queue) == []


def test_custom_session_and_coordinator_work_without_the_native_loop():
    coord = FakeCoordinator()
    op = FakeOp("op")

    def stop_at_third_run():
        if op.num_runs == 3:
            coord.request_stop()

    op.function = stop_at_third_run
    runner = tf.train.QueueRunner(FakeQueue(), [op])
    join_all(runner.create_threads(FakeSession(), coord, start=True))
    assert op.num_runs == 3
    assert runner.close_op.num_runs == 0
    assert runner.cancel_op.num_runs == 1


def test_custom_coordinator_stops_threads_of_a_session():
    coord = FakeCoordinator()
    queue = make_queue(capacity=1)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        sess.run(queue.dequeue_many(3), options=OPTIONS)
        coord.request_stop()
        join_all(threads)


def test_stop_leaves_no_callback_behind(coord):
    queue = make_queue()
    runner = tf.train.QueueRunner(queue, [make_limited_enqueue(queue, 2)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        filling, _ = runner.create_threads(sess, coord, start=True)
        filling.join(TIMEOUT)
        # The remaining one belongs to the thread that waits for the stop.
        assert len(coord._stop_callbacks) <= 1
        coord.request_stop()
        coord.join(stop_grace_period_secs=TIMEOUT)
    assert coord._stop_callbacks == []


def test_closing_the_session_ends_the_threads_with_an_error(coord):
    queue = make_queue(capacity=1)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as sess:
        threads = runner.create_threads(sess, coord, start=True)
        sess.run(queue.dequeue_many(3), options=OPTIONS)
    assert coord.wait_for_stop(TIMEOUT)
    with pytest.raises(tf.errors.CancelledError):
        coord.join(threads, stop_grace_period_secs=TIMEOUT)


# Definitions


def test_runner_round_trips_through_its_definition():
    queue = make_queue()
    types = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=types)
    definition = runner.to_proto()
    assert definition.queue_name == "queue"
    assert definition.enqueue_op_name == ["queue_enqueue"]
    assert definition.close_op_name == "queue_Close"
    assert definition.cancel_op_name == "queue_Close_1"
    assert definition.queue_closed_exception_types == [11, 1]
    copied = tf.train.QueueRunner.from_proto(definition)
    assert copied.name == "queue"
    assert copied.queue is tf.get_default_graph().get_operation_by_name("queue")
    assert copied.enqueue_ops == runner.enqueue_ops
    assert copied.close_op is runner.close_op
    assert copied.cancel_op is runner.cancel_op
    assert copied.queue_closed_exception_types == types
    assert copied.to_proto() == definition


@pytest.mark.parametrize(
    ("export_scope", "queue_name"),
    [
        (None, "outer/inner/queue"),
        ("", "outer/inner/queue"),
        ("outer", "inner/queue"),
        ("outer/", "inner/queue"),
        ("outer/inner", "queue"),
        ("out", "outer/inner/queue"),
    ],
)
def test_export_scope_is_stripped_from_a_definition(export_scope, queue_name):
    with tf.name_scope("outer"), tf.name_scope("inner"):
        queue = make_queue()
        runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    definition = runner.to_proto(export_scope)
    assert definition.queue_name == queue_name
    assert definition.enqueue_op_name == [f"{queue_name}_enqueue"]
    assert definition.cancel_op_name == f"{queue_name}_Close_1"


def test_runner_outside_the_scope_has_no_definition():
    queue = make_queue()
    assert tf.train.QueueRunner(queue, [queue.enqueue(1)]).to_proto("other") is None


@pytest.mark.parametrize("import_scope", ["scope", "scope/"])
def test_import_scope_is_prepended_to_a_definition(import_scope):
    with tf.name_scope("scope"):
        queue = make_queue()
        runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    definition = runner.to_proto("scope")
    assert tf.train.QueueRunner.from_proto(definition, import_scope).name == "scope/queue"
    with pytest.raises(KeyError, match="queue"):
        tf.train.QueueRunner.from_proto(definition)


# start_queue_runners


def add_endless_runner(name="queue", collection=tf.GraphKeys.QUEUE_RUNNERS):
    queue = make_queue(capacity=1, name=name)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    tf.train.add_queue_runner(runner, collection)
    return runner


def test_runner_is_added_to_its_collection():
    usual, special = add_endless_runner(), add_endless_runner(collection="special")
    assert tf.get_collection("queue_runners") == [usual]
    assert tf.get_collection("special") == [special]


def test_all_runners_of_a_collection_start_in_the_default_session(coord):
    add_endless_runner("first")
    add_endless_runner("second")
    add_endless_runner("third", collection="special")
    with tf.Session():
        threads = tf.train.start_queue_runners(coord=coord)
        assert [thread.name for thread in threads] == [
            f"QueueRunnerThread-{name}"
            for name in (
                "first-first_enqueue",
                "first-close_on_stop",
                "second-second_enqueue",
                "second-close_on_stop",
            )
        ]
        assert all(thread.daemon and thread.is_alive() for thread in threads)
        assert tf.train.start_queue_runners(coord=coord) == []
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)


def test_threads_can_be_created_without_starting_them():
    add_endless_runner()
    with tf.Session() as sess:
        (thread,) = tf.train.start_queue_runners(sess, daemon=False, start=False)
    assert not thread.daemon
    assert thread.ident is None


def test_graph_can_be_finalized_before_its_runners_start(coord):
    runner = add_endless_runner()
    dequeue = runner.queue.dequeue()
    tf.get_default_graph().finalize()
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(dequeue, options=OPTIONS) == 1
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)


def test_runners_of_the_session_graph_start():
    add_endless_runner("default")
    with tf.Graph().as_default() as graph:
        add_endless_runner("other")
    with tf.Session(graph=graph) as sess:
        pass
    (thread,) = tf.train.start_queue_runners(sess, start=False)
    assert thread.name == "QueueRunnerThread-other-other_enqueue"


def test_no_runner_can_start_without_a_session():
    with pytest.raises(
        ValueError, match=r"Cannot start queue runners: No default session is registered\."
    ):
        tf.train.start_queue_runners()


def test_non_session_is_rejected():
    with pytest.raises(TypeError, match=r"sess must be a `tf\.Session` object\. Given class: "):
        tf.train.start_queue_runners("session")


@pytest.mark.parametrize("name", ["MonitoredSession", "SingularMonitoredSession"])
def test_session_that_starts_its_own_runners_is_left_alone(name):
    add_endless_runner()
    assert tf.train.start_queue_runners(type(name, (), {})()) == []


def test_graph_without_runners_causes_a_warning(caplog):
    with tf.Session() as sess:
        assert tf.train.start_queue_runners(sess) == []
    assert "called when no queue runners were defined" in caplog.text


def test_enqueue_operation_of_a_different_graph_is_rejected_like_a_fetch():
    queue = tf.FIFOQueue(3, [tf.int32], [[]])
    with tf.Graph().as_default():
        other = tf.constant(1, name="other").op
    runner, coord = tf.train.QueueRunner(queue, [other]), tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(ValueError, match=r"Fetch argument <tf\.Operation 'other' type=Const> "):
            coord.join(threads, stop_grace_period_secs=10)
