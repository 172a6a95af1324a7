"""The arguments of enqueues.

Structure, conversion and shapes, when the graph is built and when run.
"""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

INVALID = tf.errors.InvalidArgumentError


def contents(sess, kind, queue):
    return [kind.components(sess.run(queue.dequeue())) for _ in range(sess.size(queue))]


@pytest.fixture
def pair(kind):
    """A queue of an int32 scalar and a float vector of two."""
    return kind.make(dtypes=["int32", "float"], shapes=[(), (2,)])


@pytest.fixture
def named(kind):
    return kind.make(dtypes=["int32", "float"], shapes=[(), ()], names=["b", "a"])


def with_priority(kind, vals):
    return {"priority": 0, **vals} if kind.is_priority else vals


# Operations and names


def test_operations_are_named_after_the_queue(kind):
    with tf.name_scope("scope"):
        queue = kind.make(name="q")
        operations = [
            queue.enqueue(kind.element(1)),
            queue.enqueue(kind.element(1)),
            queue.enqueue_many(kind.rows([1])),
            queue.enqueue(kind.element(1), name="mine"),
            queue.enqueue_many(kind.rows([1]), name="ours"),
        ]
    names = ["q_enqueue", "q_enqueue_1", "q_EnqueueMany", "mine", "ours"]
    assert [op.name for op in operations] == [f"scope/{name}" for name in names]
    assert all(isinstance(op, tf.Operation) and not op.outputs for op in operations)


def test_enqueue_returns_nothing(kind, sess):
    assert sess.run(kind.make().enqueue(kind.element(1))) is None


# The structure of the arguments


@pytest.mark.parametrize("vals", [1, [1], (1,), np.int32(1), np.array(1), np.array([1])[0]])
def test_single_component_need_not_be_in_a_list(sess, vals):
    queue = tf.FIFOQueue(9, [tf.int32], [()])
    sess.run(queue.enqueue(vals))
    sess.run(queue.enqueue(tf.constant(2)))
    assert sess.run(queue.dequeue_many(2)).tolist() == [1, 2]


@pytest.mark.parametrize("vals", [[[1, 2]], ([1, 2],), np.array([1, 2], np.int32), range(1, 3)])
def test_single_batch_need_not_be_in_a_list_unless_it_is_a_list(sess, vals):
    queue = tf.FIFOQueue(9, [tf.int32], [()])
    sess.run(queue.enqueue_many(vals))
    assert sess.run(queue.dequeue_many(2)).tolist() == [1, 2]


def test_extra_components_are_dropped(kind, sess):
    queue = kind.make()
    sess.run(queue.enqueue(kind.element(4, 5, 6)))
    assert contents(sess, kind, queue) == [[4]]


def test_list_of_batches_is_a_list_of_components(sess):
    """The pitfall: this means three batches, two of them without a component, not three rows."""
    queue = tf.FIFOQueue(9, [tf.int32], [()])
    sess.run(queue.enqueue_many([[1], [2], [3]]))
    assert sess.size(queue) == 1
    sess.run(queue.enqueue_many([[1, 2, 3]]))
    assert sess.size(queue) == 4


def test_missing_components_are_a_run_time_error(kind, pair, sess):
    for operation in (
        pair.enqueue(kind.element(1)),
        pair.enqueue_many(kind.rows([1])),
    ):
        text = "Signature mismatch, have: .*int32.* expected: .*int32.*float"
        with pytest.raises(INVALID, match=text):
            sess.run(operation)
    assert sess.size(pair) == 0


def test_enqueuing_no_components_is_rejected(kind):
    with pytest.raises(ValueError, match="got no components, expected"):
        kind.make(name="q").enqueue([])
    with pytest.raises(IndexError):
        kind.make().enqueue_many([])


def test_dict_is_enqueued_in_the_order_of_the_names(kind, named, sess):
    sess.run(named.enqueue(with_priority(kind, {"a": 1.5, "b": 2})))
    many = {"a": [2.5, 3.5], "b": [3, 4]}
    if kind.is_priority:
        many["priority"] = [1, 2]
    sess.run(named.enqueue_many(many))
    taken = sess.run(named.dequeue_many(3))
    assert sorted(taken) == sorted(named.names)
    assert sorted(zip(taken["b"], taken["a"], strict=True)) == [(2, 1.5), (3, 2.5), (4, 3.5)]


@pytest.mark.parametrize("method", ["enqueue", "enqueue_many"])
class TestNames:
    @pytest.mark.parametrize("vals", [1, [1, 2.0], (1, 2.0)])
    def test_queue_with_names_requires_a_dict(self, named, method, vals):
        text = "You must enqueue a dictionary in a Queue with names"
        with pytest.raises(ValueError, match=text):
            getattr(named, method)(vals)

    def test_queue_without_names_rejects_a_dict(self, kind, method):
        text = "Queue must have names to enqueue a dictionary"
        with pytest.raises(ValueError, match=text):
            getattr(kind.make(), method)({"a": 1})

    @pytest.mark.parametrize(
        "vals", [{"a": 1.0}, {"a": 1.0, "b": 1, "c": 1}, {"a": 1.0, "c": 1}, {"a": 1.0, 1: 1}]
    )
    def test_dict_keys_must_match_the_names(self, kind, named, method, vals):
        text = r"Keys in dictionary to enqueue do not match names of Queue\.  Dictionary: \["
        with pytest.raises(ValueError, match=text):
            getattr(named, method)(with_priority(kind, vals))


# Conversion


@pytest.mark.parametrize(
    ("dtype", "bad", "error", "text"),
    [
        ("int32", 1.5, TypeError, "Expected int32, got 1.5 of type 'float'"),
        ("int32", "a", TypeError, "Expected int32, got 'a' of type 'str'"),
        ("int32", 1j, TypeError, "Expected int32"),
        ("int32", {1}, TypeError, "Expected int32"),
        ("string", 1, TypeError, "Expected string, got 1 of type 'int'"),
        ("bool", 1, TypeError, "Expected bool, got 1 of type 'int'"),
        ("float", "a", TypeError, "Expected float32"),
    ],
)
def test_python_values_of_the_wrong_type_are_rejected(kind, dtype, bad, error, text):
    queue = kind.make(dtypes=[dtype])
    with pytest.raises(error, match=text):
        queue.enqueue(kind.element(bad))
    with pytest.raises(error, match=text):
        queue.enqueue_many(kind.batch([0], [bad]))


@pytest.mark.parametrize("method", ["enqueue", "enqueue_many"])
def test_none_is_rejected(method):
    with pytest.raises(ValueError, match=re.escape("None values not supported.")):
        getattr(tf.FIFOQueue(9, [tf.int32], [()]), method)([None])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64])
def test_tensors_of_the_wrong_type_are_rejected(kind, dtype):
    text = f"Tensor conversion requested dtype int32 for Tensor with dtype {dtype.name}"
    with pytest.raises(ValueError, match=text):
        kind.make().enqueue(kind.element(tf.constant(1, dtype)))
    with pytest.raises(ValueError, match=text):
        kind.make().enqueue_many(kind.batch([0], tf.placeholder(dtype)))


def test_sparse_tensors_are_rejected(kind):
    sparse = tf.SparseTensor([[0]], [1], [2])
    with pytest.raises(TypeError):
        kind.make().enqueue(kind.element(sparse))


def test_numbers_are_converted_to_the_component_type_if_lossless(sess):
    queue = tf.FIFOQueue(9, ["float", "string", "int32"], [(), (), ()])
    for vals in ([1, "é", np.int64(3)], [True, b"\xff", True], [np.float64(2.5), "", 2]):
        sess.run(queue.enqueue(vals))
    numbers, words, integers = sess.run(queue.dequeue_many(3))
    assert numbers.tolist() == [1, 1, 2.5]
    assert words.tolist() == ["é".encode(), b"\xff", b""]
    assert integers.tolist() == [3, 1, 2]


def test_variable_is_read_when_it_is_enqueued(sess):
    variable = tf.Variable(1)
    queue = tf.FIFOQueue(9, [tf.int32], [()])
    enqueue = queue.enqueue(variable)
    sess.run(variable.initializer)
    sess.run(enqueue)
    sess.run(variable.assign(5))
    sess.run(enqueue)
    assert sess.run(queue.dequeue_many(2)).tolist() == [1, 5]


# Shapes


@pytest.mark.parametrize(
    ("vals", "text"),
    [
        ([1, [1.0, 2.0, 3.0]], "Shapes (3,) and (2,) are incompatible"),
        ([1, 2.0], "Shapes () and (2,) are incompatible"),
        ([[1], [1.0, 2.0]], "Shapes (1,) and () are incompatible"),
        ([1, [[1.0, 2.0]]], "Shapes (1, 2) and (2,) are incompatible"),
    ],
)
def test_element_of_the_wrong_shape_is_rejected(kind, pair, vals, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        pair.enqueue(kind.element(*vals))


@pytest.mark.parametrize(
    ("vals", "text"),
    [
        ([[1, 2], [[1.0, 2.0]]], "Dimensions 2 and 1 are not compatible"),
        ([[1], [[1.0, 2.0, 3.0]]], "Shapes (3,) and (2,) are incompatible"),
        ([[1], [1.0]], "Shapes () and (2,) are incompatible"),
        ([1, [[1.0, 2.0]]], "Shape () must have rank at least 1"),
        ([[1], 1.0], "Shape () must have rank at least 1"),
    ],
)
def test_batch_of_the_wrong_shape_is_rejected(pair, kind, vals, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        pair.enqueue_many(kind.batch([0] * np.size(vals[0]), *vals))


@pytest.mark.parametrize(
    ("values", "place", "expected", "got"),
    [
        ([1, [1.0, 2.0, 3.0]], 1, "[2]", "[3]"),
        ([1, 2.0], 1, "[2]", "[]"),
        ([[1], [1.0, 2.0]], 0, "[]", "[1]"),
    ],
)
def test_element_of_the_wrong_shape_is_a_run_time_error(
    kind, pair, sess, hidden, values, place, expected, got
):
    vals = [hidden(value, dtype) for value, dtype in zip(values, ("int32", "float"), strict=True)]
    place += kind.is_priority
    text = f"Shape mismatch in tuple component {place}. Expected {expected}, got {got}"
    with pytest.raises(INVALID, match=re.escape(text)):
        sess.run(pair.enqueue(kind.element(*vals)))
    assert sess.size(pair) == 0


@pytest.mark.parametrize(
    ("values", "place", "expected", "got"),
    [
        ([[1, 2], [[1.0, 2.0]]], 1, "[2,2]", "[1,2]"),
        ([[1], [[1.0]]], 1, "[1,2]", "[1,1]"),
        ([[[1]], [[1.0, 2.0]]], 0, "[1]", "[1,1]"),
    ],
)
def test_batch_of_the_wrong_shape_is_a_run_time_error(
    kind, pair, sess, hidden, values, place, expected, got
):
    vals = [hidden(value, dtype) for value, dtype in zip(values, ("int32", "float"), strict=True)]
    place += kind.is_priority
    text = f"Shape mismatch in tuple component {place}. Expected {expected}, got {got}"
    with pytest.raises(INVALID, match=re.escape(text)):
        sess.run(pair.enqueue_many(kind.batch([0] * len(values[0]), *vals)))
    assert sess.size(pair) == 0


class TestWithoutShapes:
    @pytest.fixture
    def queue(self, shapeless_kind):
        return shapeless_kind.make(dtypes=["int32", "float"], shapes=None)

    def test_every_element_can_have_its_own_shape(self, queue, sess):
        elements = [[1, [[2.0]]], [[3, 4], 5.0], [[], []]]
        for element in elements:
            sess.run(queue.enqueue(element))
        taken = [sess.run(queue.dequeue()) for _ in elements]
        assert sorted(len(np.shape(first)) for first, _ in taken) == [0, 1, 1]
        assert sorted(np.size(second) for _, second in taken) == [0, 1, 1]

    def test_components_of_a_batch_must_have_the_same_number_of_rows(self, queue, sess, hidden):
        operation = queue.enqueue_many([hidden([1, 2, 3]), hidden([1.0, 2.0])])
        text = (
            "All input tensors must have the same size in the 0th dimension. "
            "Component 1 has 2, and should have 3"
        )
        with pytest.raises(INVALID, match=re.escape(text)):
            sess.run(operation)

    @pytest.mark.parametrize("vals", [(1, [1.0]), ([1], 1.0)])
    def test_batch_must_not_be_a_scalar(self, queue, sess, hidden, vals):
        operation = queue.enqueue_many([hidden(value) for value in vals])
        with pytest.raises(INVALID, match="Expected a batch of elements, got a scalar"):
            sess.run(operation)


# Values


def test_empty_batch_adds_nothing(kind, sess):
    queue = kind.make(1)
    sess.run(queue.enqueue_many(kind.rows(np.zeros([0], np.int32))))
    assert sess.size(queue) == 0


def test_enqueued_value_does_not_change_with_the_original_array(sess):
    values = tf.placeholder(tf.int32, [3])
    queue = tf.FIFOQueue(9, [tf.int32], [(3,)])
    array = np.array([1, 2, 3], np.int32)
    sess.run(queue.enqueue(values), {values: array})
    array[:] = 0
    assert sess.run(queue.dequeue()).tolist() == [1, 2, 3]
