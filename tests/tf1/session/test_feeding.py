import re

import numpy as np
import pytest

import headrace.tf1 as tf

OUT_OF_RANGE = "is not compatible with Tensor type"


def test_variable_cannot_be_a_feed_value(session):
    x, v = tf.placeholder(tf.float32), tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"The value of a feed cannot be a tf\.Tensor object"):
        session.run(x, {x: v})


class TestFeeds:
    def test_any_tensor_can_be_fed_by_itself_or_by_name(self, session):
        a = tf.constant(1, name="a")
        b = a + 1
        assert session.run(b, {a: 5}) == 6
        assert session.run(b, {"a:0": 6}) == 7
        assert session.run(b * 2, {b: 9}) == 18
        assert session.run(b, {a: 5, b: 9}) == 9
        assert session.run(b, {}) == session.run(b) == b.eval({a: 1}, session) == 2

    def test_fed_tensor_is_not_computed(self, session):
        calls = []
        computed = tf.py_func(lambda: np.int32(len(calls.append(1) or calls)), [], tf.int32)
        assert session.run(computed + 1, {computed: 5}) == 6
        assert calls == []
        assert session.run(computed + 1) == 2

    def test_control_dependencies_of_a_fed_tensor_do_not_run(self, session):
        v = tf.Variable(0)
        session.run(v.initializer)
        with tf.control_dependencies([v.assign_add(1)]):
            x = tf.constant(5)
        assert session.run(x * 2, {x: 7}) == 14
        assert session.run(v) == 0
        assert session.run(x) == 5
        assert session.run(v) == 1

    def test_fed_placeholder_satisfies_control_dependencies(self, session):
        x, y = tf.placeholder(tf.int32, name="x"), tf.placeholder(tf.int32, name="y")
        with tf.control_dependencies([x]):
            after = [tf.constant(5), tf.identity(y), tf.cond(y > 0, lambda: y, lambda: -y)]
        with tf.control_dependencies([tf.group(x), x + 1]):
            later = tf.identity(y)
        assert session.run([*after, later], {x: 1, y: 2}) == [5, 2, 2, 2]
        assert session.run(tf.group(x), {x: 1}) is None
        for fetch in (after[0], later, x.op, tf.group(x)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for"):
                session.run(fetch, {y: 2})
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for"):
            session.run(x.op, {x: 1})

    def test_fed_operation_still_runs_as_a_control_dependency(self, session):
        v = tf.Variable(0)
        session.run(v.initializer)
        added = v.assign_add(1)
        with tf.control_dependencies([added]):
            x = tf.constant(5)
        assert session.run([x, added], {added: 9}) == [5, 9]
        assert session.run(v) == 1

    def test_several_tensors_can_be_fed_as_one_tuple(self, session):
        x, y = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
        z = x * 10 + y
        assert session.run(z, {(x, y): (1, 2)}) == session.run(z, {((x,), y): [[1], 2]}) == 12
        with pytest.raises(
            ValueError, match=r"Key had 2 elements, but value had 1 elements\. Key: \[<tf\.Tensor"
        ):
            session.run(z, {(x, y): (1,)})

    def test_sparse_tensor_is_fed_by_its_value_or_a_tuple(self, session):
        x = tf.sparse_placeholder(tf.float32, [2, 2], name="x")
        for value in (
            tf.SparseTensorValue([[0, 1]], [3.0], [2, 2]),
            ([[0, 1]], [3.0], [2, 2]),
        ):
            result = session.run(x, {x: value})
            assert [np.asarray(part).tolist() for part in result] == [[[0, 1]], [3.0], [2, 2]]
        for value in (3, (1, 2), [[[0, 1]], [3.0], [2, 2]]):
            with pytest.raises(TypeError, match=f"got {re.escape(repr(value))} for a sparse tens"):
                session.run(x, {x: value})

    def test_feeding_can_be_prevented(self, session):
        a, graph = tf.constant(1, name="a"), tf.get_default_graph()
        assert graph.is_feedable(a)
        graph.prevent_feeding(a)
        assert not graph.is_feedable(a)
        for tensor in (a, tf.FIFOQueue(1, tf.int32).queue_ref):
            with pytest.raises(ValueError, match=r"Tensor Tensor\(.* may not be fed\."):
                session.run(a, {tensor: 2})

    def test_fetched_feed_is_the_array_itself(self, session):
        text, number = tf.placeholder(tf.string), tf.placeholder(tf.int32)
        array = np.arange(3, dtype=np.int32)
        words, scalar, same = session.run([text, number, number + 0], {text: ["é"], number: array})
        assert (words.dtype, words.tolist()) == (object, ["é"])
        assert scalar is array
        assert same is not array
        assert isinstance(session.run(number, {number: 3}), np.ndarray)

    def test_fed_array_is_copied(self, session, in_thread, queue):
        array = np.zeros(2, np.int32)
        x, waits = tf.placeholder(tf.int32), queue.dequeue()
        with tf.control_dependencies([waits]):
            later = tf.identity(x)
        call = in_thread.run(session, queue, later, feed_dict={x: array})
        array[:] = 1
        session.run(queue.enqueue([1]))
        assert call.result().tolist() == [0, 0]


# The feed, the type of the placeholder, and the result.
CONVERSIONS = [
    ([[1, 2]], tf.float32, [[1.0, 2.0]]),
    ([True, False], tf.float32, [1.0, 0.0]),
    (range(3), tf.float32, [0.0, 1.0, 2.0]),
    (2**24 + 1, tf.float32, float(2**24)),
    (["1.5"], tf.float32, [1.5]),
    (np.ones(2)[::-1], tf.float32, [1.0, 1.0]),
    (np.array([1, 2], ">f4"), tf.float32, [1.0, 2.0]),
    (np.asfortranarray([[1, 2], [3, 4]]), tf.float32, [[1.0, 2.0], [3.0, 4.0]]),
    (np.zeros((0, 2)), tf.float32, []),
    (True, tf.int32, 1),
    (2**31 - 1, tf.int32, 2**31 - 1),
    (-(2**63), tf.int64, -(2**63)),
    (255, tf.uint8, 255),
    (1, tf.bool, True),
    (0.5, tf.bool, True),
    ([0, 1, 5], tf.bool, [False, True, True]),
    (1, tf.complex64, 1 + 0j),
    (1.5, tf.float16, 1.5),
    ("é", tf.string, "é".encode()),
    (b"\xff", tf.string, b"\xff"),
    (["a", b"b"], tf.string, [b"a", b"b"]),
    (np.array(["a", "é"]), tf.string, [b"a", "é".encode()]),
    (np.array([b"a", b"b\0c"]), tf.string, [b"a", b"b\0c"]),
    (np.array(["a", b"\0"], object), tf.string, [b"a", b"\0"]),
    (np.array("a"), tf.string, b"a"),
    (np.str_("a"), tf.string, b"a"),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), CONVERSIONS)
def test_fed_value_is_converted(session, value, dtype, expected):
    x = tf.placeholder(dtype)
    result = session.run(tf.identity(x), {x: value})
    assert (result if isinstance(result, bytes) else result.tolist()) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "error", "words"),
    [
        (2**31, tf.int32, TypeError, OUT_OF_RANGE),
        (-(2**31) - 1, tf.int32, TypeError, OUT_OF_RANGE),
        (2**63, tf.int64, TypeError, OUT_OF_RANGE),
        (10**30, tf.int32, TypeError, OUT_OF_RANGE),
        (256, tf.uint8, TypeError, OUT_OF_RANGE),
        (-1, tf.uint8, TypeError, OUT_OF_RANGE),
        (2, tf.bool, TypeError, OUT_OF_RANGE),
        (10**400, tf.float32, TypeError, OUT_OF_RANGE),
        (3, tf.string, TypeError, OUT_OF_RANGE),
        ([1.5], tf.string, TypeError, "Expected a string (str or bytes), got 1.5 of type float"),
        (None, tf.string, TypeError, "got None of type NoneType"),
        ("x", tf.int32, ValueError, "invalid literal for int()"),
        ("x", tf.float32, ValueError, "could not convert string to float"),
        ([[1, 2], [3]], tf.float32, ValueError, "inhomogeneous shape"),
        ({1: 2}, tf.float32, TypeError, "not 'dict'"),
    ],
)
def test_value_of_the_wrong_type_is_rejected(session, value, dtype, error, words):
    x = tf.placeholder(dtype)
    with pytest.raises(error, match=re.escape(words)):
        session.run(tf.identity(x), {x: value})


@pytest.mark.parametrize(
    ("static", "value", "shown"),
    [
        ([None, 2], [1, 2], "(2,) for Tensor 'x:0', which has shape '(?, 2)'"),
        ([None, 2], [[1, 2, 3]], "(1, 3) for Tensor 'x:0', which has shape '(?, 2)'"),
        ([None, 2], 1, "() for Tensor 'x:0', which has shape '(?, 2)'"),
        ([], [1], "(1,) for Tensor 'x:0', which has shape '()'"),
        ([3], [], "(0,) for Tensor 'x:0', which has shape '(3,)'"),
    ],
)
def test_value_must_match_the_static_shape(session, static, value, shown):
    x = tf.placeholder(tf.float32, static, name="x")
    with pytest.raises(ValueError, match=re.escape(f"Cannot feed value of shape {shown}")):
        session.run(x, {x: value})


@pytest.mark.parametrize(
    ("feed_dict", "words"),
    [
        ({"a": 1}, "Cannot interpret feed_dict key as Tensor: The name 'a' refers to an Operation"),
        ({"b:0": 1}, "Cannot interpret feed_dict key as Tensor: The name 'b:0' refers to a Tensor"),
        ({3: 1}, "Cannot interpret feed_dict key as Tensor: Can not convert a int into a Tensor."),
        ({None: 1}, "Cannot interpret feed_dict key as Tensor: Can not convert a NoneType"),
        ([1], "feed_dict must be a dictionary mapping tensors to values, got <class 'list'>"),
        ("a:0", "feed_dict must be a dictionary mapping tensors to values, got <class 'str'>"),
        (lambda a: {a.op: 1}, "Can not convert a Operation into a Tensor."),
        (lambda a: {a: a}, "The value of a feed cannot be a tf.Tensor object."),
        (lambda a: {a: a.op}, "The value of a feed cannot be a tf.Tensor object."),
        (lambda _: {tf.FIFOQueue(1, tf.int32): 1}, "Can not convert a FIFOQueue into a Tensor."),
    ],
)
def test_feed_keys_must_be_tensors_and_values_must_not(session, feed_dict, words):
    a = tf.constant(1, name="a")
    with pytest.raises(TypeError, match=re.escape(words)):
        session.run(a + 1, feed_dict(a) if callable(feed_dict) else feed_dict)


def test_tensor_of_a_different_graph_is_not_a_valid_key(session):
    a = tf.constant(1)
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(
        TypeError, match=r"Cannot interpret feed_dict key .* not an element of this"
    ):
        session.run(a, {other: 1})
