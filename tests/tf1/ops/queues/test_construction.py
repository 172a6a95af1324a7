"""The arguments of queues, and their properties."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

WITH_NAMES = ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue"]
"""The kinds whose names are those of the given components, and no others."""

WITH_FIXED_SHAPES = ["FIFOQueue", "RandomShuffleQueue", "PriorityQueue"]
"""The kinds whose shapes have to be fully defined."""

KIND_NAMES = [*WITH_NAMES, "PriorityQueue"]


def make(kind_name, *arguments):
    numbers = (9, 0) if kind_name == "RandomShuffleQueue" else (9,)
    return getattr(tf, kind_name)(*numbers, *arguments)


def as_lists(shapes):
    return [None if shape.rank is None else shape.as_list() for shape in shapes]


# Names


@pytest.mark.parametrize(
    ("kind_name", "default", "op_type"),
    [
        ("FIFOQueue", "fifo_queue", "FIFOQueueV2"),
        ("RandomShuffleQueue", "random_shuffle_queue", "RandomShuffleQueueV2"),
        ("PaddingFIFOQueue", "padding_fifo_queue", "PaddingFIFOQueueV2"),
        ("PriorityQueue", "priority_queue", "PriorityQueueV2"),
    ],
)
def test_each_kind_has_a_default_name(kind_name, default, op_type):
    queue = make(kind_name, [tf.int32], [()])
    assert (queue.name, queue.queue_ref.op.type) == (default, op_type)


def test_names_are_made_unique_within_their_scope(kind):
    assert kind.make(name="q").name == "q"
    assert kind.make(name="q").name == "q_1"
    with tf.name_scope("scope"):
        assert kind.make(name="q").name == "scope/q"


@pytest.mark.parametrize("name", ["a b", "a:0", "+"])
def test_invalid_operation_name_is_rejected(kind, name):
    with pytest.raises(ValueError, match="is not a valid"):
        kind.make(name=name)


@pytest.mark.parametrize("where", ["queue", "io"])
@pytest.mark.parametrize("kind_name", [*KIND_NAMES, "QueueBase"])
def test_queues_are_available_under_newer_names(where, kind_name):
    has_name = (where, kind_name) != ("io", "FIFOQueue")
    result = getattr(getattr(tf, where), kind_name, None)
    assert result is (getattr(tf, kind_name) if has_name else None)


def test_queue_ref_is_a_scalar_resource(kind):
    ref = kind.make().queue_ref
    assert (ref.dtype, ref.shape) == (tf.resource, ())


@pytest.mark.parametrize(
    ("kind_name", "arguments"),
    [
        ("FIFOQueue", (5, ["int32"], [()], ["a"], "shared", "q")),
        ("RandomShuffleQueue", (5, 2, ["int32"], [()], ["a"], 7, "shared", "q")),
        ("PaddingFIFOQueue", (5, ["int32"], [()], ["a"], "shared", "q")),
        ("PriorityQueue", (5, ["int32"], [()], ["p", "a"], "shared", "q")),
    ],
)
def test_positional_argument_order_matches_tensorflow(kind_name, arguments):
    queue = getattr(tf, kind_name)(*arguments)
    attrs = queue.queue_ref.op.attrs
    assert (queue.name, queue.names[-1], queue.dtypes[-1]) == ("q", "a", "int32")
    assert (attrs["capacity"], attrs["shared_name"]) == (5, "shared")
    assert (attrs.get("min_after_dequeue"), attrs.get("seed2")) in {(None, None), (2, 7)}


def test_queue_has_no_length_and_cannot_be_fetched(kind, sess):
    queue = kind.make()
    with pytest.raises(TypeError, match="has no len"):
        len(queue)
    with pytest.raises(TypeError, match="has invalid type"):
        sess.run(queue)


def test_finalized_graph_rejects_new_queue_operations(kind):
    queue = kind.make()
    tf.get_default_graph().finalize()
    text = re.escape("Graph is finalized and cannot be modified.")
    for add in (queue.dequeue, queue.close, queue.size, lambda: queue.enqueue(kind.element(1))):
        with pytest.raises(RuntimeError, match=text):
            add()


# Capacity


@pytest.mark.parametrize(
    ("capacity", "taken"),
    [(3, 3), (1.7, 1), (True, 1), (np.int64(4), 4), (np.array(5), 5), (None, -1), (-5, -5)],
)
def test_capacity_can_be_any_number_and_none_is_unbounded(kind, capacity, taken):
    assert kind.make(capacity).queue_ref.op.attrs["capacity"] == taken


@pytest.mark.parametrize("capacity", ["a", "3", b"3", [1], np.array([3, 4]), object()])
def test_non_numeric_capacity_is_rejected(kind, capacity):
    with pytest.raises(TypeError, match="Expected int for argument 'capacity' not"):
        kind.make(capacity)


def test_non_numeric_min_after_dequeue_is_rejected():
    with pytest.raises(TypeError, match="Expected int for argument 'min_after_dequeue' not 'a'"):
        tf.RandomShuffleQueue(10, "a", [tf.int32])


@pytest.mark.parametrize("shared_name", [3, ["a"]])
def test_non_string_shared_name_is_rejected(kind, shared_name):
    with pytest.raises(TypeError, match="Expected string for argument 'shared_name' not"):
        kind.make(shared_name=shared_name)


# Types


@pytest.mark.parametrize(
    ("dtypes", "kept"),
    [
        ("int32", ["int32"]),
        (tf.int32, [tf.int32]),
        (["int32"], ["int32"]),
        (("int32",), ["int32"]),
        ([np.int32], [np.int32]),
        (np.dtype("int32"), [np.dtype("int32")]),
        (3, [3]),
    ],
)
def test_dtypes_are_kept_as_passed(kind, dtypes, kept):
    dtypes = kind.make(dtypes=dtypes, shapes=[[]]).dtypes
    assert dtypes == ([tf.int64, *kept] if kind.is_priority else kept)
    assert type(dtypes[-1]) is type(kept[-1])


def test_dtypes_are_required(kind):
    with pytest.raises(AssertionError):
        kind.make(dtypes=None)
    with pytest.raises(ValueError, match="at least one component"):
        kind.make(dtypes=[], shapes=[[]])


@pytest.mark.parametrize("bad", ["bogus", [None], [object()]])
def test_invalid_dtype_is_rejected(kind, bad):
    with pytest.raises(TypeError, match=r"Cannot convert value .* to a TensorFlow DType"):
        kind.make(dtypes=bad)


# Shapes


@pytest.mark.parametrize(
    ("shapes", "kept"),
    [
        ((), [[]]),
        ([], [[]]),
        ([2], [[2]]),
        ((2, 3), [[2, 3]]),
        ([()], [[]]),
        ([(2, 3)], [[2, 3]]),
        (tf.TensorShape([2]), [[2]]),
        ([tf.TensorShape([2])], [[2]]),
        ([tf.Dimension(2)], [[2]]),
        ([(tf.Dimension(2), 3)], [[2, 3]]),
    ],
)
@pytest.mark.parametrize("kind_name", WITH_FIXED_SHAPES)
def test_flat_list_is_one_shape_and_nested_list_is_several(kind_name, shapes, kept):
    queue = make(kind_name, [tf.int32], shapes)
    assert as_lists(queue.shapes) == ([[], *kept] if kind_name == "PriorityQueue" else kept)


def test_each_component_can_have_its_own_shape(kind):
    queue = kind.make(dtypes=["int32", "string"], shapes=[(2,), []])
    assert as_lists(queue.shapes[-2:]) == [[2], []]


def test_component_shapes_are_unknown_by_default(shapeless_kind):
    queue = shapeless_kind.make(dtypes=["int32", "int32"], shapes=None)
    assert as_lists(queue.shapes) == [None, None]


@pytest.mark.parametrize("shapes", ["a", 3, {}, np.array([2, 3]), iter([()])])
@pytest.mark.parametrize("kind_name", WITH_FIXED_SHAPES)
def test_shapes_must_be_a_list(kind_name, shapes):
    text = "hapes must be a TensorShape or a list or tuple of TensorShapes"
    with pytest.raises(TypeError, match=text):
        make(kind_name, [tf.int32], shapes)


@pytest.mark.parametrize(
    "shapes", [[None], (None, 2), [(None,)], tf.TensorShape(None), [tf.TensorShape([None, 2])]]
)
@pytest.mark.parametrize("kind_name", WITH_FIXED_SHAPES)
def test_only_a_padding_queue_can_have_unknown_dimensions(kind_name, shapes):
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        make(kind_name, [tf.int32], shapes)


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [2, (3,)]])
def test_number_of_shapes_must_match_the_types(kind, shapes):
    text = "Queue shapes must have the same length as dtypes"
    if kind.name == "PaddingFIFOQueue":
        shapes = [(2,), (3,)]
        text = "Shapes must be provided for all components, but received 1 dtypes and 2 shapes."
    with pytest.raises(ValueError, match=re.escape(text)):
        kind.make(shapes=shapes)


def test_two_components_cannot_share_one_flat_shape():
    with pytest.raises(ValueError, match="Queue shapes must have the same length as dtypes"):
        tf.FIFOQueue(9, ["int32", "int32"], (2, 3))


class TestPadding:
    @pytest.mark.parametrize("shapes", [[()], [[None]], [(None, 2)], [tf.TensorShape([None])]])
    def test_padding_queue_requires_only_a_known_rank(self, shapes):
        queue = tf.PaddingFIFOQueue(9, [tf.int32], shapes)
        assert as_lists(queue.shapes) == as_lists(map(tf.TensorShape, shapes))

    @pytest.mark.parametrize(
        "shapes",
        [None, (), [], [2], (None,), [None], tf.TensorShape([2]), 3, {}, [2, (3,)], [(2,), None]],
    )
    def test_padding_queue_requires_a_list_of_shapes(self, shapes):
        text = "When providing partial shapes, a list of shapes must be provided."
        with pytest.raises(ValueError, match=re.escape(text)):
            tf.PaddingFIFOQueue(9, [tf.int32], shapes)

    def test_padding_queue_rejects_a_string_as_shapes(self):
        with pytest.raises(TypeError, match="list or tuple of TensorShapes"):
            tf.PaddingFIFOQueue(9, [tf.int32], "ab")

    def test_padding_queue_requires_every_rank_to_be_known(self):
        with pytest.raises(ValueError, match="All shapes must have a defined rank"):
            tf.PaddingFIFOQueue(9, [tf.int32, tf.int32], [(2,), tf.TensorShape(None)])


class TestPriority:
    def test_priority_precedes_the_other_components(self):
        queue = tf.PriorityQueue(9, ["string"], [(2,)], ["priority", "words"])
        assert queue.dtypes == [tf.int64, "string"]
        assert as_lists(queue.shapes) == [[], [2]]
        assert queue.names == ["priority", "words"]

    def test_priority_queue_requires_shapes(self):
        with pytest.raises(TypeError, match="Expected list for 'shapes' argument"):
            tf.PriorityQueue(9, [tf.int32])

    @pytest.mark.parametrize("names", ["a", ["a"], ["p", "a", "b"]])
    def test_priority_queue_names_must_include_the_priority(self, names):
        with pytest.raises(ValueError, match="Queue names must have the same length as dtypes"):
            tf.PriorityQueue(9, [tf.int32], [()], names)


# Component names


@pytest.mark.parametrize("names", ["a", ["a"], ("a",)])
@pytest.mark.parametrize("kind_name", WITH_NAMES)
def test_names_can_be_one_string_or_a_list(kind_name, names):
    assert make(kind_name, [tf.int32], [()], names).names == ["a"]


def test_names_default_to_none(kind):
    assert kind.make().names is None


@pytest.mark.parametrize("names", [["a", "b"], []])
@pytest.mark.parametrize("kind_name", WITH_NAMES)
def test_number_of_names_must_match_the_types(kind_name, names):
    text = "List of names must have the same length as the list of dtypes"
    with pytest.raises(ValueError, match=text):
        make(kind_name, [tf.int32], [()], names)


# The base class


class TestQueueBase:
    def test_queue_base_wraps_an_existing_reference(self, kind, sess):
        queue = kind.make()
        again = tf.QueueBase(queue.dtypes, queue.shapes, None, queue.queue_ref)
        assert again.name == queue.name
        sess.run(queue.enqueue(kind.element(3)))
        assert kind.components(sess.run(again.dequeue())) == [3]

    @pytest.mark.parametrize(
        ("shapes", "names", "text"),
        [
            ([(), ()], None, "Queue shapes must have the same length as dtypes"),
            (None, ["a", "b"], "Queue names must have the same length as dtypes"),
        ],
    )
    def test_queue_base_checks_the_number_of_shapes_and_names(self, shapes, names, text):
        with pytest.raises(ValueError, match=text):
            tf.QueueBase([tf.int32], shapes, names, tf.FIFOQueue(9, [tf.int32]).queue_ref)

    def test_queue_base_component_shapes_are_unknown_by_default(self):
        ref = tf.FIFOQueue(9, [tf.int32]).queue_ref
        assert as_lists(tf.QueueBase([tf.int32], None, None, ref).shapes) == [None]
