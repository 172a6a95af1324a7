"""One session and many threads."""

import threading

import numpy as np
import pytest

import headrace.tf1 as tf

NUM_THREADS = 8
NUM_RUNS = 50


def test_new_thread_has_no_default_session_or_graph(in_thread):
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        x = tf.constant(1)

        def look():
            results = [tf.get_default_session(), tf.get_default_graph() is graph]
            with pytest.raises(ValueError, match="No default session"):
                x.eval()
            with session.as_default():
                return [*results, x.eval(), tf.get_default_graph() is graph]

        assert in_thread(look).result() == [None, False, 1, False]
        assert tf.get_default_session() is session
        assert tf.get_default_graph() is graph


def test_all_threads_share_the_graph_of_the_process(in_thread):
    graph = tf.get_default_graph()
    assert in_thread(tf.get_default_graph).result() is graph


def test_variable_updates_from_many_threads_do_not_overlap(session, in_thread):
    v = tf.Variable(0)
    add = v.assign_add(1)
    session.run(v.initializer)
    calls = [
        in_thread(lambda: [session.run(add) for _ in range(NUM_RUNS)]) for _ in range(NUM_THREADS)
    ]
    seen = [value for call in calls for value in call.result()]
    assert session.run(v) == NUM_THREADS * NUM_RUNS
    assert len(seen) == NUM_THREADS * NUM_RUNS


def test_elements_stay_intact_among_many_threads(session, in_thread):
    x = tf.placeholder(tf.int32)
    queue = tf.FIFOQueue(4, [tf.int32, tf.int32], [(), ()])
    enqueue, dequeue = queue.enqueue([x, x * 2]), queue.dequeue()

    def produce(first):
        for number in range(first, first + NUM_RUNS):
            session.run(enqueue, {x: number})

    producers = [in_thread(lambda n=n: produce(n * NUM_RUNS)) for n in range(4)]
    consumers = [in_thread(lambda: [session.run(dequeue) for _ in range(NUM_RUNS)]) for _ in "1234"]
    pairs = [tuple(pair) for call in consumers for pair in call.result()]
    for call in producers:
        call.result()
    assert sorted(pairs) == [(number, 2 * number) for number in range(4 * NUM_RUNS)]


def test_each_thread_receives_the_values_of_its_own_feeds(session, in_thread):
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x * 2)
    calls = [
        in_thread(lambda n=n: {float(session.run(total, {x: np.full(100, n)})) for _ in range(20)})
        for n in range(NUM_THREADS)
    ]
    assert [call.result() for call in calls] == [{200.0 * n} for n in range(NUM_THREADS)]


def test_threads_can_add_operations_while_others_run(session, in_thread):
    x = tf.constant(1)
    barrier = threading.Barrier(NUM_THREADS)

    def grow(number):
        with x.graph.as_default():
            barrier.wait(10)
            return [int(session.run(x + number * 10 + step)) for step in range(10)]

    calls = [in_thread(lambda n=n: grow(n)) for n in range(NUM_THREADS)]
    for number, call in enumerate(calls):
        assert call.result() == [1 + number * 10 + step for step in range(10)]


def test_other_threads_continue_while_one_is_blocked(session, in_thread, queue):
    dequeue, enqueue, x = queue.dequeue(), queue.enqueue([7]), tf.constant(1)
    call = in_thread.run(session, queue, dequeue)
    assert session.run(x) == 1
    session.run(enqueue)
    assert call.result() == 7


def test_several_graphs_and_sessions_run_side_by_side(in_thread):
    sessions = []
    for number in range(3):
        with tf.Graph().as_default() as graph:
            tf.identity(tf.constant(number) * 2, name="result")
        sessions += [tf.Session(graph=graph), tf.Session(graph=graph)]
    calls = [in_thread(lambda s=s: s.run("result:0")) for s in sessions]
    assert [call.result() for call in calls] == [0, 0, 2, 2, 4, 4]
    for session in sessions:
        session.close()


def test_python_function_can_use_the_session_that_runs_it(session):
    v = tf.Variable(2)
    session.run(v.initializer)
    nested = tf.py_func(lambda: session.run(v) + np.int32(3), [], tf.int32)
    assert session.run(nested) == 5
