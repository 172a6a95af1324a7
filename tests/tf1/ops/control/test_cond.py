"""`tf.cond`: only one of two branches runs."""

from collections import namedtuple

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.fixture
def predicate():
    return tf.placeholder(tf.bool, [], name="p")


def both(predicate, fetches):
    """The values if the predicate is true and if it is false."""
    with tf.Session() as session:
        return [session.run(fetches, {predicate: value}) for value in (True, False)]


def test_predicate_selects_the_function(predicate):
    number = tf.constant(7)
    result = tf.cond(predicate, lambda: number + 1, lambda: number * number)
    assert result.name == "cond/Merge:0"
    assert result.shape == []
    assert both(predicate, result) == [8, 49]
    assert both(predicate, -result) == [-8, -49]


def test_branch_not_taken_has_no_effect(predicate):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[()])
    empty = tf.FIFOQueue(9, tf.int32, shapes=[()], name="empty")
    variable = tf.Variable(3)
    done = tf.cond(predicate, lambda: queue.enqueue(1), tf.no_op)
    other = tf.cond(
        predicate, lambda: tf.constant(0), lambda: empty.dequeue() + variable.read_value()
    )
    with tf.Session() as session:
        assert session.run([done, other], {predicate: True}) == [True, 0]
        assert session.run(done, {predicate: False}) == np.False_
        assert session.run(queue.size()) == 1


def test_operation_created_outside_runs_either_way(predicate):
    queue = tf.FIFOQueue(9, tf.int32, shapes=[()])
    element = queue.dequeue()
    result = tf.cond(predicate, lambda: element, lambda: tf.constant(-1))
    with tf.Session() as session:
        session.run(queue.enqueue_many([[5, 6]]))
        assert session.run(result, {predicate: False}) == -1
        assert session.run(result, {predicate: True}) == 6


@pytest.mark.parametrize(("outer", "inner", "expected"), [(1, 1, 1), (1, 0, 2), (0, 1, 3)])
def test_conditions_can_be_nested(outer, inner, expected):
    value = tf.placeholder(tf.int32, [])
    divided = tf.placeholder(tf.bool, [])

    def inside():
        # If the outer branch is not taken, the inner predicate does not divide by 0.
        fits = tf.equal(tf.floordiv(tf.constant(4), value), 4)
        return tf.cond(fits, lambda: tf.constant(1), lambda: tf.constant(2))

    result = tf.cond(divided, inside, lambda: tf.constant(3))
    feeds = {divided: bool(outer), value: 0 if not outer else 1 if inner else 3}
    with tf.Session() as session:
        assert session.run(result, feeds) == expected


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ((1, 2.5), (1, 2.5)),
        ([1, (b"x", [2])], [1, (b"x", [2])]),
        ({"b": 1, "a": 2}, {"b": 1, "a": 2}),
        (Pair(1, 2), Pair(1, 2)),
        ([1], 1),
    ],
)
def test_any_structure_of_tensors_can_be_returned(predicate, structure, expected):
    result = tf.cond(predicate, lambda: structure, lambda: structure)
    assert both(predicate, result) == [expected, expected]


def test_strict_keeps_a_list_of_one(predicate):
    assert len(tf.cond(predicate, lambda: [1], lambda: [2], strict=True)) == 1


def test_sparse_tensors_can_be_returned(predicate):
    result = tf.cond(
        predicate,
        lambda: tf.SparseTensor([[0]], [1], [3]),
        lambda: tf.SparseTensor([[1], [2]], [5, 6], [3]),
    )
    assert [value.values.tolist() for value in both(predicate, result)] == [[1], [5, 6]]


@pytest.mark.parametrize(
    ("shape", "expected"), [([2, 3], [2, 3]), ([4, 3], [None, 3]), ([4], None)]
)
def test_static_shape_fits_both_branches(predicate, shape, expected):
    result = tf.cond(predicate, lambda: tf.zeros([2, 3]), lambda: tf.zeros(shape))
    assert (result.shape.rank and result.shape.as_list()) == expected


def test_tensor_inside_a_branch_cannot_be_fetched(predicate):
    outputs = []
    tf.cond(predicate, lambda: outputs.append(tf.constant(1) + 1) or outputs[0], lambda: 2)
    with tf.Session() as session, pytest.raises(ValueError, match="marked as not fetchable"):
        session.run(outputs[0], {predicate: True})


def test_cond_accepts_the_old_names_fn1_and_fn2(predicate):
    assert both(predicate, tf.cond(predicate, fn1=lambda: 1, fn2=lambda: 2)) == [1, 2]


def test_list_of_one_is_unpacked_unless_strict(predicate):
    assert both(predicate, tf.cond(predicate, lambda: [1], lambda: 2)) == [1, 2]
    with pytest.raises(ValueError, match="Incompatible return values"):
        tf.cond(predicate, lambda: [1], lambda: 2, strict=True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((True, lambda: 1, lambda: 2), TypeError, "pred must not be a Python bool"),
        (("p", 1, lambda: 2), TypeError, "true_fn must be callable."),
        (("p", lambda: 1, 2), TypeError, "false_fn must be callable."),
        (("p", lambda: 1), TypeError, "'false_fn' argument required"),
        (("p", lambda: None, lambda: 2), ValueError, "true_fn must have a return value."),
        (("p", list, list), ValueError, "must return at least one result"),
        (("p", lambda: 1, lambda: 2.0), ValueError, "must have the same type: int32 and float32"),
        (("p", lambda: (1, 2), lambda: [1, 2]), TypeError, "Incompatible return types"),
        (("p", lambda: (1, 2), lambda: 1), ValueError, "Incompatible return values"),
        (("p", lambda: [1, 2], lambda: [1]), ValueError, "Incompatible return values"),
        (("vector", lambda: 1, lambda: 2), ValueError, r"Shapes \(1,\) and \(\) are incompatible"),
        (("number", lambda: 1, lambda: 2), ValueError, "dtype bool"),
    ],
)
def test_invalid_arguments_are_rejected_when_the_graph_is_built(
    predicate, arguments, error, message
):
    named = {"p": predicate, "vector": tf.constant([True]), "number": tf.constant(1)}
    pred, *functions = arguments
    with pytest.raises(error, match=message):
        tf.cond(named.get(pred, pred), *functions)


def test_functions_passed_under_both_names_are_rejected(predicate):
    with pytest.raises(TypeError, match="may not be set simultaneously"):
        tf.cond(predicate, lambda: 1, lambda: 2, fn1=lambda: 1)


def test_error_for_a_vector_predicate_names_the_operation():
    vector = tf.placeholder_with_default([True, False], None)
    result = tf.cond(vector, lambda: tf.constant(1) + 0, lambda: 2)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="scalar bool"),
    ):
        session.run(result)


def test_loop_takes_both_branches():
    """The program is that of `maybe_batch`: a runner whose enqueue is conditional."""
    source = tf.train.range_input_producer(100, num_epochs=1, shuffle=False)
    number = source.dequeue()
    queue = tf.FIFOQueue(100, tf.int32, shapes=[()])
    kept = tf.cond(tf.equal(number % 3, 0), lambda: queue.enqueue(number), tf.no_op)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [kept]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        batch = session.run(queue.dequeue_many(34))
        coord.request_stop()
        coord.join(threads)
    assert batch.tolist() == list(range(0, 100, 3))
