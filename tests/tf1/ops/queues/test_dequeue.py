"""The results of dequeues: structure, static shapes, values of all types."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

INVALID = tf.errors.InvalidArgumentError


def static_shape(tensor):
    """The static shape as a list; None if unknown."""
    return None if tensor.shape.rank is None else tensor.shape.as_list()


def placeholder():
    return tf.placeholder(tf.int32)


# Structure and names


def test_operations_are_named_after_the_queue(kind):
    with tf.name_scope("scope"):
        queue = kind.make(names=["a"], name="q")
        tensors = [
            queue.dequeue(),
            queue.dequeue(),
            queue.dequeue_many(2),
            queue.dequeue_up_to(2),
            queue.dequeue(name="mine"),
            queue.dequeue_many(2, name="ours"),
            queue.dequeue_up_to(2, name="theirs"),
        ]
    names = [tensor["a"].op.name for tensor in tensors]
    expected = ["q_Dequeue", "q_Dequeue_1", "q_DequeueMany", "q_DequeueUpTo"]
    assert names == [f"scope/{name}" for name in [*expected, "mine", "ours", "theirs"]]


@pytest.mark.parametrize("method", ["dequeue", "dequeue_many", "dequeue_up_to"])
class TestStructure:
    def call(self, queue, method):
        return getattr(queue, method)(*([] if method == "dequeue" else [2]))

    def test_one_component_is_a_tensor(self, method):
        queue = tf.FIFOQueue(9, [tf.int32], [()])
        assert isinstance(self.call(queue, method), tf.Tensor)

    def test_several_components_are_a_list(self, kind, method):
        result = self.call(kind.make(dtypes=["int32", "string"], shapes=[(), ()]), method)
        dtypes = [tensor.dtype for tensor in kind.components(result)]
        assert isinstance(result, list)
        assert dtypes == [tf.int32, tf.string]

    def test_named_components_are_a_dict(self, kind, method):
        result = self.call(kind.make(names=["a"]), method)
        assert list(result) == (["priority", "a"] if kind.is_priority else ["a"])
        assert result["a"].dtype == tf.int32


# Static shapes


@pytest.mark.parametrize(
    ("method", "n", "rows"),
    [
        ("dequeue_many", lambda: 4, [4]),
        ("dequeue_many", lambda: 0, [0]),
        ("dequeue_many", lambda: tf.constant(4), [4]),
        ("dequeue_many", lambda: np.int64(4), [4]),
        ("dequeue_many", placeholder, [None]),
        ("dequeue_up_to", lambda: 4, [None]),
        ("dequeue_up_to", placeholder, [None]),
    ],
)
def test_batch_shape_starts_with_the_batch_size(kind, method, n, rows):
    queue = kind.make(dtypes=["int32", "float"], shapes=[(), (2, 3)])
    first, second = kind.components(getattr(queue, method)(n()))
    assert [static_shape(first), static_shape(second)] == [rows, [*rows, 2, 3]]


def test_element_has_the_shape_of_its_component(kind):
    queue = kind.make(dtypes=["int32", "float"], shapes=[(), (2, 3)])
    assert [static_shape(tensor) for tensor in kind.components(queue.dequeue())] == [[], [2, 3]]


def test_unknown_dimensions_remain_unknown():
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [(None, 3)])
    assert static_shape(queue.dequeue()) == [None, 3]
    assert static_shape(queue.dequeue_many(4)) == [4, None, 3]
    assert static_shape(queue.dequeue_up_to(4)) == [None, None, 3]


def test_queue_without_shapes_returns_unknown_shapes(shapeless_kind):
    queue = shapeless_kind.make(shapes=None)
    tensors = [queue.dequeue(), queue.dequeue_many(4), queue.dequeue_up_to(4)]
    assert [static_shape(tensor) for tensor in tensors] == [None, None, None]


# The number of elements


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
class TestNumber:
    @pytest.mark.parametrize(
        ("n", "error", "text"),
        [
            (1.5, TypeError, "Expected int32"),
            ("a", TypeError, "Expected int32"),
            (None, ValueError, "None values not supported"),
            ([1], ValueError, "must have rank 0"),
        ],
    )
    def test_number_of_elements_must_be_an_integer(self, kind, method, n, error, text):
        with pytest.raises(error, match=text):
            getattr(kind.make(), method)(n)

    def test_number_of_elements_must_be_int32(self, kind, method):
        with pytest.raises(TypeError, match="does not match expected type of int32"):
            getattr(kind.make(), method)(tf.constant(1, tf.int64))

    @pytest.mark.parametrize("is_closed", [False, True])
    def test_dequeuing_zero_elements_returns_an_empty_batch_at_once(
        self, kind, method, sess, is_closed
    ):
        queue = kind.make(dtypes=["int32", "string"], shapes=[(), (2, 3)])
        if is_closed:
            sess.run(queue.close())
        numbers, words = kind.components(sess.run(getattr(queue, method)(0)))
        assert (numbers.shape, numbers.dtype) == ((0,), np.int32)
        assert (words.shape, words.dtype) == ((0, 2, 3), object)

    def test_negative_number_of_elements_is_a_run_time_error(self, kind, method, sess):
        n = placeholder()
        operation = getattr(kind.make(), method)(n)
        name = {"dequeue_many": "DequeueManyOp", "dequeue_up_to": "DequeueUpToOp"}[method]
        with pytest.raises(INVALID, match=f"{name} requested -3 < 0 elements"):
            sess.run(operation, {n: -3})

    def test_even_an_empty_batch_requires_shapes(self, method, shapeless_kind, sess):
        queue = shapeless_kind.make(shapes=None)
        text = (
            f"{shapeless_kind.name}'s DequeueMany and DequeueUpTo require the components to have "
            "specified shapes."
        )
        for n in (0, 2):
            with pytest.raises(INVALID, match=re.escape(text)):
                sess.run(getattr(queue, method)(n))
        n = placeholder()
        with pytest.raises(INVALID, match="requested -1 < 0 elements"):
            sess.run(getattr(queue, method)(n), {n: -1})


@pytest.mark.parametrize("n", [lambda: -1, lambda: tf.constant(-1)])
def test_constant_negative_number_is_rejected(kind, n):
    with pytest.raises(ValueError, match="must be >= 0"):
        kind.make().dequeue_many(n())


# Values


VALUES = {
    "float16": [0.5, -2],
    "float32": [0.5, np.nan],
    "float64": [1e300, -np.inf],
    "int8": [-128, 127],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1],
    "uint8": [0, 255],
    "uint16": [0, 2**16 - 1],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**64 - 1],
    "complex64": [1 + 2j, -3j],
    "complex128": [1 + 2j, -3j],
    "bool": [True, False],
    "string": [b"", b"a\0b\xff"],
}


def array_of(dtype, values):
    return np.array(values, tf.as_dtype(dtype).as_numpy_dtype)


@pytest.mark.parametrize("dtype", list(VALUES))
def test_values_of_every_type_are_returned_unchanged(kind, sess, dtype):
    values = array_of(dtype, VALUES[dtype])
    queue = kind.make(dtypes=[dtype], shapes=[(2,)])
    tensor = tf.placeholder(dtype)
    sess.run(queue.enqueue(kind.element(tensor)), {tensor: values})
    (taken,) = kind.components(sess.run(queue.dequeue()))
    np.testing.assert_array_equal(taken, values, strict=True)
    rows = np.stack([values, values[::-1]])
    sess.run(queue.enqueue_many(kind.batch([0, 1], tensor)), {tensor: rows})
    (taken,) = kind.components(sess.run(queue.dequeue_many(2)))
    in_order = taken if kind.has_order else taken[:: 1 if taken[0, 0] == rows[0, 0] else -1]
    np.testing.assert_array_equal(in_order, rows, strict=True)


def test_scalars_are_returned_as_numpy_scalars_and_bytes(sess):
    queue = tf.FIFOQueue(9, ["int32", "string", "bool"], [(), (), ()])
    sess.run(queue.enqueue([1, "a", True]))
    taken = sess.run(queue.dequeue())
    assert taken == [1, b"a", True]
    assert [type(value) for value in taken] == [np.int32, bytes, np.bool_]


def test_empty_components_are_counted_as_elements(kind, sess):
    queue = kind.make(dtypes=["int32", "string"], shapes=[(0,), (2, 0)])
    numbers, words = np.zeros([3, 0], np.int32), np.zeros([3, 2, 0], object)
    tensor = tf.placeholder(tf.string)
    sess.run(queue.enqueue_many(kind.batch([0, 1, 2], numbers, tensor)), {tensor: words})
    taken = kind.components(sess.run(queue.dequeue_many(3)))
    assert [batch.shape for batch in taken] == [(3, 0), (3, 2, 0)]


def test_components_of_one_element_stay_together(kind, sess):
    queue = kind.make(20, dtypes=["int32", "string"], shapes=[(), ()])
    numbers = list(range(20))
    sess.run(queue.enqueue_many(kind.rows(numbers, [str(number) for number in numbers])))
    taken = []
    for method, n in (("dequeue_many", 7), ("dequeue_up_to", 5)):
        batch = kind.components(sess.run(getattr(queue, method)(n)))
        taken += zip(*batch, strict=True)
    taken += [tuple(kind.components(sess.run(queue.dequeue()))) for _ in range(8)]
    assert all(word == str(number).encode() for number, word in taken)
    assert kind.in_order([number for number, _ in taken]) == numbers


def test_dequeue_fetched_twice_runs_once_and_two_dequeues_run_twice(kind, sess):
    queue = kind.make()
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    dequeue = kind.components(queue.dequeue())[0]
    first, again = sess.run([dequeue, dequeue])
    assert first == again
    assert sess.size(queue) == 2
    other = kind.components(queue.dequeue())[0]
    assert sorted([first, *sess.run([dequeue, other])]) == [1, 2, 3]


def test_run_with_too_few_elements_dequeues_them_and_blocks(kind, sess):
    queue = kind.make()
    sess.run(queue.enqueue(kind.element(1)))
    both = [kind.components(queue.dequeue())[0] for _ in range(2)]
    call = sess.blocked(queue, both)
    assert sess.size(queue) == 0
    sess.run(queue.enqueue(kind.element(2)))
    assert sorted(call.result()) == [1, 2]


def test_unfed_components_of_a_partially_fed_dequeue_are_dequeued(sess):
    queue = tf.FIFOQueue(9, ["int32", "float"], [(), ()])
    sess.run(queue.enqueue_many([[1, 2], [1.5, 2.5]]))
    dequeue = queue.dequeue()
    assert sess.run(dequeue, {dequeue[0]: 7}) == [7, 1.5]
    assert sess.run(dequeue, {dequeue[0]: 7, dequeue[1]: 8}) == [7, 8]
    assert sess.size(queue) == 1
