"""Runs in parts: each operation runs once in all parts together."""

import threading

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1.session.options import CallableOptions


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


@pytest.fixture
def graph():
    """Three placeholders, the sum of two, and its product with the third."""
    a, b, c = (tf.placeholder(tf.float32, None, name=name) for name in "abc")
    total = tf.add(a, b, name="total")
    return a, b, c, total, tf.multiply(total, c, name="product")


def refused(session, match, *arguments):
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        session.partial_run(*arguments)


def test_parts_continue_from_each_other(session, graph):
    a, b, c, total, product = graph
    handle = session.partial_run_setup([total, product], [a, b, c])
    first = session.partial_run(handle, total, {a: 1, b: 2})
    assert first == 3
    assert session.partial_run(handle, {"p": [product]}, {c: first * 17}) == {"p": [153]}


def test_completed_operation_does_not_run_again(session):
    number = tf.random_uniform([])
    calls = []
    counted = tf.py_func(lambda x: calls.append(x) or x, [number], tf.float32)
    queue = tf.FIFOQueue(9, tf.int32, [()])
    element = queue.dequeue()
    factor = tf.placeholder(tf.float32, [])
    product = counted * factor
    session.run(queue.enqueue_many([[1, 2]]))
    handle = session.partial_run_setup(
        [counted, product, element, element + 1, queue.size()], [factor]
    )
    (first, taken) = session.partial_run(handle, [counted, element])
    assert session.partial_run(handle, product, {factor: 2}) == 2 * first
    assert (taken, len(calls)) == (1, 1)


def test_later_parts_see_values_as_they_were_computed(session):
    variable = tf.Variable([1, 2])
    session.run(variable.initializer)
    old = variable.read_value()
    with tf.control_dependencies([old]):
        new = tf.assign_add(variable, [10, 10])
    factor = tf.placeholder(tf.int32, [])
    product = old * factor
    handle = session.partial_run_setup([old, new, product], [factor])
    assert session.partial_run(handle, new).tolist() == [11, 12]
    got = session.partial_run(handle, old)
    assert got.tolist() == [1, 2]
    got[:] = 0
    assert session.partial_run(handle, product, {factor: 3}).tolist() == [3, 6]
    assert session.run(variable).tolist() == [11, 12]


def test_conditions_and_strings_pass_through(session):
    flag = tf.placeholder(tf.bool, [])
    words = tf.placeholder(tf.string, [None])
    chosen = tf.cond(flag, lambda: tf.string_join([words, "!"]), lambda: tf.identity(words))
    again = tf.string_join([chosen, tf.as_string(tf.placeholder(tf.int32, [], name="n"))])
    handle = session.partial_run_setup([chosen, again], [flag, words, "n:0"])
    values = session.partial_run(handle, chosen, {flag: True, words: ["a", "b"]})
    assert values.tolist() == [b"a!", b"b!"]
    assert session.partial_run(handle, again, {"n:0": 7}).tolist() == [b"a!7", b"b!7"]


def test_operations_run_once_all_their_feeds_arrived(session):
    number = tf.placeholder(tf.int32, [], name="number")
    queue = tf.FIFOQueue(9, tf.int32, [()])
    put = queue.enqueue(number)
    other = tf.constant(1) + 1
    handle = session.partial_run_setup([put, other], [number])
    session.partial_run(handle, other)
    assert session.run(queue.size()) == 0
    session.partial_run(handle, [], {number: 5})
    assert session.run([queue.size(), queue.dequeue()]) == [1, 5]


class TestRefusals:
    def test_repeated_fetches_are_rejected(self, session, graph):
        a, b, c, total, product = graph
        handle = session.partial_run_setup([total, product], [a, b, c])
        session.partial_run(handle, total, {a: 1, b: 2})
        refused(session, "The fetch total:0 has already been fetched", handle, total, {c: 1})
        refused(session, "The feed a:0 has already been fed", handle, product, {a: 1, c: 1})
        assert session.partial_run(handle, product, {c: 2}) == 6

    def test_undeclared_tensors_are_rejected(self, session, graph):
        a, b, c, total, product = graph
        handle = session.partial_run_setup([total], [a, b])
        refused(session, "The fetch product:0 was not specified", handle, product, {a: 1, b: 2})
        refused(session, "The feed c:0 was not specified", handle, total, {a: 1, b: 2, c: 2})

    def test_fetches_that_cannot_be_computed_yet_are_rejected(self, session, graph):
        a, b, c, total, product = graph
        handle = session.partial_run_setup([total, product], [a, b, c])
        refused(session, "Fetch c:0 can't be computed", handle, product, {a: 1, b: 2})
        assert session.partial_run(handle, product, {a: 1, b: 2, c: 2}) == 6

    def test_finished_runs_are_rejected(self, session, graph):
        a, b, _, total, _ = graph
        handle = session.partial_run_setup(total, [a, b])
        session.partial_run(handle, total, {a: 1, b: 2})
        refused(session, "Must run 'setup'", handle, [])
        refused(session, "Must run 'setup'", "nobody", total)

    def test_run_is_rejected_after_an_error(self, session, graph):
        a, b, c, _, product = graph
        checked = tf.check_numerics(a / b, "bad")
        handle = session.partial_run_setup([checked, product], [a, b, c])
        refused(session, "bad : Tensor had Inf", handle, checked, {a: 1, b: 0})
        refused(session, "Must run 'setup'", handle, product, {c: 1})

    def test_invalid_setup_is_rejected(self, session, graph):
        a, b, _, total, _ = graph
        for fetches, feeds, match in (
            ([], [a], "at least one target"),
            ([total, a], [a, b], "a:0 is both fed and fetched"),
            ([total], [a, b, a], '"a:0" fed more than once'),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                session.partial_run_setup(fetches, feeds)
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            session.partial_run_setup(total, 3)

    def test_operations_cannot_be_fetched_in_parts(self, session):
        with pytest.raises(RuntimeError, match="requires empty target_list"):
            session.partial_run("x", tf.no_op())


def test_closing_the_session_ends_a_waiting_part(session):
    element = tf.FIFOQueue(1, tf.int32, [()]).dequeue()
    handle = session.partial_run_setup(element)
    errors = []

    def part():
        try:
            session.partial_run(handle, element)
        except (tf.errors.CancelledError, RuntimeError) as error:
            errors.append(error)

    thread = threading.Thread(target=part)
    thread.start()
    session.close()
    thread.join(30)
    assert len(errors) == 1


def test_partial_runs_are_independent(session, graph):
    a, b, _, total, _ = graph
    handles = [session.partial_run_setup(total, [a, b]) for _ in range(8)]
    results = {}

    def part(number):
        results[number] = session.partial_run(handles[number], total, {a: number, b: np.ones(3)})

    threads = [threading.Thread(target=part, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {number: sums.tolist() for number, sums in results.items()} == {
        number: [number + 1.0] * 3 for number in range(8)
    }


def test_callable_options_name_the_feeds_and_fetches(session, graph):
    _, b, _, total, _ = graph
    step = tf.Variable(0)
    session.run(step.initializer)
    more = tf.assign_add(step, 1).op
    options = CallableOptions(feed=["a:0"], fetch=[total.name, b.name], target=[more.name])
    options.feed.append("b:0")
    function = session._make_callable_from_options(options)
    assert function(1, 2) == [3, 2]
    assert session.run(step) == 1
    with pytest.raises(TypeError, match="expected 2 feed values, got 1"):
        function(1)
