"""`tf.while_loop`: a part of the graph is repeated while a condition is true."""

import signal
import threading
from collections import namedtuple

import numpy as np
import pytest

import headrace.tf1 as tf

Pair = namedtuple("Pair", ["a", "b"])


def run(fetches, feeds=None):
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def called(function, value, name=None):
    """Returns the result of a Python function for an int32 scalar."""
    result = tf.py_func(function, [value], tf.int32, name=name)
    result.set_shape([])
    return result


def plus_one(value):
    return value + np.int32(1)


def counted(limit):
    return tf.while_loop(lambda i: i < limit, lambda i: i + 1, [0])


def test_body_runs_while_the_condition_holds():
    result = counted(10)
    assert (result.name, result.shape, result.dtype) == ("while/Exit:0", [], tf.int32)
    assert run(result) == 10
    assert run(counted(tf.constant(-1))) == 0


def test_outside_values_are_the_same_in_each_iteration():
    step = tf.placeholder(tf.int32, [])
    _, total = tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t + step), [0, 0])
    assert run(total, {step: 5}) == 20


def test_body_without_python_runs_natively():
    # A single call of the engine, because a Python function would be returned as a call to make.
    assert run(counted(200_000)) == 200_000


def test_maximum_iterations_limits_the_loop():
    result = tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=7)
    assert run(result) == 7
    pair = tf.while_loop(lambda i, j: True, lambda i, j: (j, i), (1, 2), maximum_iterations=3)
    assert run(pair) == (2, 1)


@pytest.mark.parametrize(
    ("first", "swap"),
    [
        ((1, 2), lambda v: (v[1], v[0])),
        ([1, 2], lambda v: [v[1], v[0]]),
        ({"a": 1, "b": 2}, lambda v: {"a": v["b"], "b": v["a"]}),
        (Pair(1, 2), lambda v: Pair(v.b, v.a)),
    ],
)
def test_loop_variables_can_be_structures(first, swap):
    _, last = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, swap(v)), [0, first])
    assert type(last) is type(first)
    assert run(last) == swap(first)


def test_sparse_tensor_can_be_a_loop_variable():
    sparse = tf.SparseTensor([[0], [2]], [1, 2], [4])

    def body(i, s):
        return i + 1, tf.SparseTensor(s.indices, s.values * 2, s.dense_shape)

    _, last = tf.while_loop(lambda i, s: i < 3, body, [0, sparse])
    assert run(last).values.tolist() == [8, 16]


def test_shape_invariants_allow_shapes_to_change():
    def grow(shape):
        return tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, tf.concat([x, x], 0)),
            [0, tf.constant([1])],
            shape,
        )[1]

    grown = grow([tf.TensorShape([]), tf.TensorShape([None])])
    assert grown.shape.as_list() == [None]
    assert run(grown).tolist() == [1] * 8
    with pytest.raises(ValueError, match=r"enters the loop with shape .* but has shape"):
        grow(None)
    with pytest.raises(ValueError, match="The shape invariant specified for"):
        grow([tf.TensorShape([]), tf.TensorShape([2])])


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.while_loop(1, lambda i: i, [0]), TypeError, "cond must be callable"),
        (lambda: tf.while_loop(lambda i: i < 1, 1, [0]), TypeError, "body must be callable"),
        (lambda: tf.while_loop(lambda: True, lambda: 1, []), ValueError, "No loop variables"),
        (
            lambda: tf.while_loop(lambda i: i < 1, lambda i: i, [0], parallel_iterations=0),
            TypeError,
            "parallel_iterations must be a positive integer",
        ),
        (
            lambda: tf.while_loop(lambda i: i, lambda i: i, [0]),
            TypeError,
            "cond returned a tensor of type int32, expected bool",
        ),
        (
            lambda: tf.while_loop(lambda i: i < [1], lambda i: i, [0]),
            ValueError,
            r"cond returned a tensor of shape \(1,\), expected a scalar",
        ),
        (
            lambda: tf.while_loop(lambda i: i < 1, tf.to_float, [0]),
            TypeError,
            "enters the loop with type int32, but has type float32 after one iteration",
        ),
        (
            lambda: tf.while_loop(lambda i: i < 1, lambda i: (i, i), [0]),
            ValueError,
            "They have 1 and 2 elements",
        ),
    ],
)
def test_invalid_loop_arguments_are_rejected(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_side_effects_happen_once_per_iteration():
    variable = tf.Variable(0)

    def body(i):
        with tf.control_dependencies([variable.assign_add(i)]):
            return i + 1

    done = tf.while_loop(lambda i: tf.logical_and(i < 100, variable.read_value() < 10), body, [0])
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(done) == 5
        assert session.run(variable) == 10


def test_outside_control_dependency_runs_once():
    variable = tf.Variable(0)
    add = variable.assign_add(5)

    def body(i):
        with tf.control_dependencies([add]):
            return i + 1

    done = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run([done, variable]) == [3, 5]


def test_each_iteration_dequeues_while_the_queue_is_filled():
    queue = tf.FIFOQueue(10, tf.int32, [()])
    fill = queue.enqueue_many([[1, 2, 3]])
    taken = tf.while_loop(
        lambda i, t: i < 3, lambda i, t: (i + 1, t * 10 + queue.dequeue()), [0, 0]
    )
    with tf.Session() as session:
        assert session.run([taken, fill])[0] == (3, 123)
        session.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(taken)


def test_closing_the_queue_ends_a_wait_inside_a_loop():
    queue = tf.FIFOQueue(10, tf.int32, [()])
    taken = tf.while_loop(lambda i: i < 3, lambda i: i + queue.dequeue(), [0])
    failed = []
    with tf.Session() as session:

        def take():
            try:
                session.run(taken)
            except tf.errors.OutOfRangeError as error:
                failed.append(error)

        thread = threading.Thread(target=take)
        thread.start()
        while session.queue_statistics(queue).num_waiting_dequeues == 0:
            threading.Event().wait(0.001)
        session.run(queue.close())
        thread.join(20)
    assert failed


def test_python_function_is_called_in_each_iteration():
    seen = []

    def function(value):
        seen.append(int(value))
        return value * np.int32(2)

    assert run(tf.while_loop(lambda i: i < 10, lambda i: called(function, i), [1])) == 16
    assert seen == [1, 2, 4, 8]


def test_error_in_a_python_function_names_the_operation():
    def function(value):
        raise ValueError("three")

    loop = tf.while_loop(lambda i: i < 10, lambda i: called(function, i, "mine"), [1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="three") as raised:
        run(loop)
    assert raised.value.op.name == "while/mine"
    assert isinstance(raised.value.__cause__, ValueError)


def test_python_functions_of_two_loops_in_one_run_are_called():
    def loop(limit):
        return tf.while_loop(lambda i: i < limit, lambda i: called(plus_one, i), [0])

    assert run([loop(5), loop(7)]) == [5, 7]


def test_loops_can_be_nested():
    def outer(i, total):
        _, total = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * i), [0, total])
        return i + 1, total

    assert run(tf.while_loop(lambda i, t: i < 5, outer, [0, 0])) == (5, 1 * 2 + 3 * 3 + 6 * 4)


def test_python_function_in_a_nested_loop_is_called():
    def outer(i):
        return i + tf.while_loop(lambda j: j < 3, lambda j: called(plus_one, j), [0])

    assert run(tf.while_loop(lambda i: i < 7, outer, [0])) == 9


def test_conditions_and_loops_can_be_nested():
    def body(i, t):
        return i + 1, t + tf.cond(tf.equal(i % 2, 0), lambda: 10, lambda: 1)

    assert run(tf.while_loop(lambda i, t: i < 5, body, [0, 0])) == (5, 32)
    predicate = tf.placeholder(tf.bool, [])
    variable = tf.Variable(0)

    def looped():
        def body(i):
            with tf.control_dependencies([variable.assign_add(1)]):
                return i + 1

        return tf.while_loop(lambda i: i < 3, body, [0])

    chosen = tf.cond(predicate, looped, lambda: -1)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(chosen, {predicate: False}) == -1
        assert session.run(variable) == 0
        assert session.run(chosen, {predicate: True}) == 3
        assert session.run(variable) == 3


def test_random_numbers_differ_between_iterations():
    def body(i, seen):
        return i + 1, tf.concat([seen, tf.random_uniform([1], seed=3)], 0)

    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    _, numbers = tf.while_loop(lambda i, s: i < 5, body, [0, np.zeros(0, np.float32)], shapes)
    assert len(set(run(numbers).tolist())) == 5


def test_tensors_in_a_body_cannot_be_used_fed_or_fetched_from_outside():
    inside = []

    def body(i):
        inside.append(tf.add(i, 1))
        return inside[0]

    loop = tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(ValueError, match="'while/Add' as input to 'Add' because 'while/Add' is in"):
        tf.add(inside[0], 1)
    with pytest.raises(ValueError, match="in different while loops"):
        tf.while_loop(lambda i: i < 3, lambda i: i + inside[0], [0])
    with tf.Session() as session:
        with pytest.raises(ValueError, match="fetchable"):
            session.run(inside[0])
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(loop, {inside[0]: 3})


def test_error_names_the_operation_and_the_iteration():
    def body(i):
        with tf.control_dependencies([tf.Assert(i < 2, ["too large:", i])]):
            return i + 1

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too large.*\[iteration 2 of") as got:
        run(tf.while_loop(lambda i: i < 5, body, [0]))
    assert got.value.op.name.startswith("while/")


def test_endless_loop_ends_at_the_deadline_of_its_run():
    forever = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(forever, options=tf.RunOptions(timeout_in_ms=50))


def test_endless_loop_is_interrupted_by_a_signal():
    class Stopped(BaseException):
        pass

    def stop(*_):
        raise Stopped

    forever = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with tf.Session() as session:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Stopped):
                session.run(forever)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_closing_the_session_ends_an_endless_loop():
    begun, failed = threading.Event(), []

    def function(value):
        begun.set()
        return value

    forever = tf.while_loop(lambda i: i >= 0, lambda i: called(function, i), [0])
    session = tf.Session()

    def call():
        try:
            session.run(forever)
        except tf.errors.CancelledError as error:
            failed.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert begun.wait(20)
    session.close()
    thread.join(20)
    assert failed


def test_queue_runner_repeats_a_loop():
    queue = tf.FIFOQueue(10, tf.int32, [()])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(counted(5))])
    tf.train.add_queue_runner(runner)
    element = queue.dequeue()
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert [session.run(element) for _ in range(30)] == [5] * 30
        coordinator.request_stop()
        coordinator.join(threads)


def test_initial_value_can_be_a_loop_over_another_variable():
    first = tf.Variable(3)
    second = tf.Variable(tf.while_loop(lambda i: i < 10, lambda i: i + first, [0]))
    assert run(second) == 12


def test_loop_in_a_branch_reads_tensors_of_the_branch():
    predicate, numbers = tf.placeholder(tf.bool, []), tf.constant([1, 2, 3])

    def mapped():
        ten = tf.add(numbers[0], 9)
        return tf.map_fn(lambda x: x * ten, numbers)

    chosen = tf.cond(predicate, mapped, lambda: numbers)
    with tf.Session() as session:
        assert session.run(chosen, {predicate: True}).tolist() == [10, 20, 30]
        assert session.run(chosen, {predicate: False}).tolist() == [1, 2, 3]


def test_loop_that_calls_python_can_be_traced():
    loop = tf.while_loop(lambda i: i < 3, lambda i: called(plus_one, i), [0])
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(loop, options=options, run_metadata=metadata) == 3
    names = [
        node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats
    ]
    assert "while/LoopCond" in names
