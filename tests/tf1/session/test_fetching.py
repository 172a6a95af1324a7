import collections
import re

import numpy as np
import pytest

import headrace.tf1 as tf

Pair = collections.namedtuple("Pair", "x y")


class Items(list):
    pass


@pytest.fixture
def a():
    return tf.constant(1, name="a")


@pytest.fixture
def b():
    return tf.constant([1.5, 2.0], name="b")


class TestValues:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (1, np.int32(1)),
            (1.5, np.float32(1.5)),
            (True, np.True_),
            (1j, np.complex128(1j)),
            (np.float16(2), np.float16(2)),
            ("é", "é".encode()),
            (b"\0", b"\0"),
        ],
    )
    def test_scalar_is_a_numpy_scalar_or_bytes(self, session, value, expected):
        result = session.run(tf.constant(value))
        assert type(result) is type(expected)
        assert result == expected

    def test_arrays_belong_to_the_caller(self, session, b):
        first = session.run(b)
        first[:] = 0
        assert session.run(b).tolist() == [1.5, 2.0]
        assert session.run(tf.zeros([0, 2])).shape == (0, 2)

    def test_string_arrays_are_object_arrays(self, session):
        result = session.run(tf.constant([["a", "bc"]]))
        assert (result.dtype, result.tolist()) == (object, [[b"a", b"bc"]])
        empty = session.run(tf.constant([], tf.string))
        assert (empty.dtype, empty.shape) == (object, (0,))

    def test_operation_has_no_value(self, session, a):
        assert session.run(a.op) is None
        assert session.run(tf.no_op()) is None

    def test_names_of_operations_and_tensors_are_distinguished(self, session, a):
        assert session.run(["a", "a:0", b"a:0"]) == [None, 1, 1]

    def test_sparse_tensor_is_fetched_as_three_arrays(self, session):
        result = session.run(tf.SparseTensor([[0, 1]], [3.0], [2, 2]))
        assert isinstance(result, tf.SparseTensorValue)
        assert [part.tolist() for part in result] == [[[0, 1]], [3.0], [2, 2]]


class TestStructures:
    def test_result_has_the_structure_of_the_fetches(self, session, a):
        fetches = [a, (a, [a.op]), Pair(a, {"k": "a:0"}), {}, [], (), {"x": {"y": (a,)}}]
        expected = [1, (1, [None]), Pair(1, {"k": 1}), {}, [], (), {"x": {"y": (1,)}}]
        result = session.run(fetches)
        assert result == expected
        assert list(map(type, result)) == [np.int32, *map(type, expected[1:])]

    @pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
    def test_dicts_keep_their_type_and_order(self, session, a, b, kind):
        result = session.run(kind([("z", a), ("q", b)]))
        assert type(result) is kind
        assert list(result) == ["z", "q"]

    def test_defaultdict_keeps_its_default(self, session, a):
        result = session.run(collections.defaultdict(list, {"k": a}))
        assert result == {"k": 1}
        assert result["other"] == []

    def test_list_subclass_becomes_a_list(self, session, a):
        assert type(session.run(Items([a]))) is list

    def test_duplicate_fetches_run_once(self, session, queue):
        session.run(queue.enqueue([1]))
        dequeue = queue.dequeue()
        assert session.run([dequeue, {"x": dequeue}, (dequeue.op, dequeue.name)]) == [
            *(1, {"x": 1}, (None, 1))
        ]
        assert session.run(queue.size()) == 0

    def test_two_operations_run_once_each(self, session):
        queue = tf.FIFOQueue(2, tf.int32)
        session.run(queue.enqueue_many([[1, 2]]))
        assert sorted(session.run([queue.dequeue(), queue.dequeue()])) == [1, 2]


class TestErrors:
    @pytest.mark.parametrize(
        "make",
        [
            lambda _: None,
            lambda a: [a, None],
            lambda a: {"x": None},
            lambda a: (item for item in [a]),
            lambda _: np.ones(2),
            lambda a: frozenset([a]),
            lambda _: 3,
            lambda _: tf.FIFOQueue(1, tf.int32),
            lambda _: tf.FIFOQueue(1, tf.int32).queue_ref,
            lambda _: tf.train.Coordinator(),
            lambda _: tf.TensorShape([1]),
        ],
    )
    def test_unsupported_types_cannot_be_fetched(self, session, a, make):
        with pytest.raises(TypeError, match=r"Fetch argument .* has invalid type"):
            session.run(make(a))

    @pytest.mark.parametrize(
        ("fetch", "words"),
        [
            ("nope", "The name 'nope' refers to an Operation not in the graph."),
            ("nope:0", "The name 'nope:0' refers to a Tensor which does not exist. The operation,"),
            ("a:1", "The operation, 'a', exists but only has 1 outputs."),
            ("a:x", "The name 'a:x' looks a like a Tensor name, but is not a valid one."),
        ],
    )
    def test_unknown_name_is_rejected(self, session, a, fetch, words):
        with pytest.raises(
            ValueError,
            match=f"Fetch argument '{fetch}' cannot be interpreted as a Tensor.*{re.escape(words)}",
        ):
            session.run(fetch)

    def test_tensor_of_a_different_graph_is_rejected(self, session, a):
        with tf.Graph().as_default():
            other = tf.constant(1)
        for fetch in (other, other.op):
            with pytest.raises(
                ValueError,
                match=r"(?s)cannot be interpreted as a Tensor.*not an element of this graph",
            ):
                session.run(fetch)

    def test_fetching_can_be_prevented(self, session, a):
        assert session.run([a, a + 1]) == [1, 2]
        session.run(a)
        tf.get_default_graph().prevent_fetching(a.op)
        for fetch in (a, a.op, [a]):
            with pytest.raises(ValueError, match=r"'a(:0)?' has been marked as not fetchable"):
                session.run(fetch)
        assert session.run(a + 1) == 2

    def test_error_names_the_failing_operation_instead_of_the_fetch(self, session):
        inner = tf.placeholder(tf.float32, [None, 2], name="p")
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=re.escape(
                "You must feed a value for placeholder tensor 'p' with dtype float and shape [?,2]"
            ),
        ) as caught:
            session.run(inner * 2)
        error = caught.value
        assert (error.op, error.node_def.name, error.error_code) == (inner.op, "p", 3)
        assert "[[{{node p}}]]" in error.message
        assert str(error).startswith("You must feed")
        with pytest.raises(tf.errors.InvalidArgumentError, match="with dtype int32\n"):
            session.run(tf.placeholder(tf.int32))


class TestMakeCallable:
    def test_make_callable_returns_the_same_as_run(self, session, a, b):
        x = tf.placeholder(tf.int32)
        function = session.make_callable({"y": [x * 10 + a, a.op]}, [x, "b:0"])
        assert function(2, [0.0, 0.0]) == {"y": [21, None]}
        assert function([1, 2], [0.0, 0.0])["y"][0].tolist() == [11, 21]
        assert session.make_callable(b)().tolist() == [1.5, 2.0]
        assert session.make_callable(tf.no_op())() is None

    def test_make_callable_accepts_options(self, session, queue):
        function = session.make_callable(queue.dequeue(), accept_options=True)
        with pytest.raises(tf.errors.DeadlineExceededError):
            function(options=tf.RunOptions(timeout_in_ms=1), run_metadata=tf.RunMetadata())

    def test_make_callable_checks_its_arguments(self, session, a):
        x = tf.placeholder(tf.int32, [2], name="x")
        function = session.make_callable(x + 1, (x,))
        with pytest.raises(TypeError, match="expected 1 feed values, got 2"):
            function(1, 2)
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor 'x:0'"):
            function([1, 2, 3])
        with pytest.raises(TypeError, match="`feed_list` must be a list or tuple"):
            session.make_callable(a, x)
        with pytest.raises(TypeError, match="has invalid type"):
            session.make_callable(None)
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            session.make_callable(a, [3])(1)
