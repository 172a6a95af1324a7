"""Operations that share one queue: shared names, sessions."""

import re

import pytest

import headrace.tf1 as tf

INVALID = tf.errors.InvalidArgumentError


def fifo(capacity=5, dtypes="int32", shapes=((),), **kwargs):
    return tf.FIFOQueue(capacity, dtypes, shapes, shared_name="sh", **kwargs)


def shuffle(capacity=5, least=1, dtypes="int32", shapes=((),), **kwargs):
    return tf.RandomShuffleQueue(capacity, least, dtypes, shapes, shared_name="sh", **kwargs)


def padding(capacity=5, dtypes="int32", shapes=((None,),)):
    return tf.PaddingFIFOQueue(capacity, dtypes, shapes, shared_name="sh")


def priority(capacity=5, dtypes="int32", shapes=((),)):
    return tf.PriorityQueue(capacity, dtypes, shapes, shared_name="sh")


def test_queues_with_the_same_shared_name_are_shared(kind, sess):
    first, second = kind.make(shared_name="sh"), kind.make(shared_name="sh", name="other")
    sess.run(first.enqueue(kind.element(4)))
    assert kind.components(sess.run(second.dequeue())) == [4]
    sess.run(second.close())
    assert sess.run(first.is_closed())


def test_queues_without_a_shared_name_are_separate(kind, sess):
    for shared_name in (None, ""):
        first, second = (kind.make(name="q", shared_name=shared_name) for _ in range(2))
        sess.run(first.enqueue(kind.element(4)))
        assert sess.run([first.size(), second.size()]) == [1, 0]


def test_name_is_not_a_shared_name(sess):
    first, second = tf.FIFOQueue(5, "int32", name="sh"), fifo(6)
    sess.run(first.enqueue(1))
    assert sess.size(second) == 0


def test_shared_name_can_be_bytes(sess):
    first = tf.FIFOQueue(5, "int32", [()], shared_name=b"sh")
    sess.run(first.enqueue(1))
    assert sess.size(fifo()) == 1


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (fifo, {}, {"names": "a"}),
        (fifo, {"capacity": -1}, {"capacity": -5}),
        (fifo, {"shapes": None}, {"shapes": None}),
        (shuffle, {"seed": 1}, {}),
        (shuffle, {"seed": 1}, {"seed": 1}),
        (padding, {}, {"shapes": [[2]]}),
        (padding, {"shapes": [[2]]}, {}),
        (priority, {}, {}),
    ],
)
def test_compatible_queues_can_be_shared(sess, make, first, second):
    queues = make(**first), make(**second)
    assert sess.run([queue.size() for queue in queues]) == [0, 0]


@pytest.mark.parametrize(
    ("make", "first", "second", "text"),
    [
        (
            fifo,
            {},
            {"capacity": 6},
            "has capacity 5 but requested capacity was 6",
        ),
        (
            shuffle,
            {},
            {"capacity": -1},
            "has capacity 5 but requested capacity was -1",
        ),
        (
            fifo,
            {},
            {"dtypes": "float"},
            "has component types int32 but requested component types were float",
        ),
        (
            fifo,
            {"dtypes": ["string", "half"], "shapes": [(), ()]},
            {"dtypes": ["string", "double"], "shapes": [(), ()]},
            "has component types string, half but requested component types were string, double",
        ),
        (
            priority,
            {},
            {"dtypes": "bool"},
            "has component types int64, int32 but requested component types were int64, bool",
        ),
        (
            fifo,
            {},
            {"shapes": [(2, 3)]},
            "has component shapes [[]] but requested component shapes were [[2,3]]",
        ),
        (
            fifo,
            {},
            {"shapes": None},
            "has component shapes [[]] but requested component shapes were []",
        ),
        (
            padding,
            {},
            {"shapes": [[None, None]]},
            "has component shapes [[?]] but requested component shapes were [[?,?]]",
        ),
        (
            padding,
            {"shapes": [[2]]},
            {"shapes": [[3]]},
            "has component shapes [[2]] but requested component shapes were [[3]]",
        ),
        (
            priority,
            {},
            {"shapes": [(2,)]},
            "has component shapes [[], []] but requested component shapes were [[], [2]]",
        ),
        (
            shuffle,
            {},
            {"least": 2},
            "has min_after_dequeue 1 but requested min_after_dequeue was 2.",
        ),
        (
            shuffle,
            {"seed": 1},
            {"seed": 2},
            "has random seeds (87654321, 1) but requested seeds are (87654321, 2).",
        ),
        (
            shuffle,
            {},
            {"seed": 2},
            "has random seeds (0, 0) but requested seeds are (87654321, 2).",
        ),
    ],
)
def test_incompatible_shared_queue_is_a_run_time_error(sess, make, first, second, text):
    existing, other = make(**first), make(**second)
    sess.run(existing.size())
    for _ in range(2):
        with pytest.raises(INVALID, match=re.escape(f"Shared queue 'sh' {text}")):
            sess.run(other.size())
    assert sess.size(existing) == 0


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (fifo, shuffle, "Expected FIFOQueue, found RandomShuffleQueueV2"),
        (shuffle, fifo, "Expected RandomShuffleQueue, found FIFOQueueV2"),
        (fifo, padding, "Expected FIFOQueue, found PaddingFIFOQueueV2"),
        (padding, priority, "Expected PaddingFIFOQueue, found PriorityQueueV2"),
        (priority, fifo, "Expected PriorityQueue, found FIFOQueueV2"),
    ],
)
def test_shared_queue_of_a_different_kind_is_a_run_time_error(sess, first, second, text):
    first, second = first(), second()
    sess.run(first.size())
    with pytest.raises(INVALID, match=text):
        sess.run(second.size())


@pytest.mark.parametrize(
    ("least", "capacity", "text"),
    [
        (-1, 5, "min_after_dequeue -1 must be >= 0"),
        (5, 5, "min_after_dequeue 5 must be < capacity 5"),
        (6, 5, "min_after_dequeue 6 must be < capacity 5"),
        (0, 0, "min_after_dequeue 0 must be < capacity 0"),
    ],
)
def test_min_after_dequeue_is_checked_when_the_queue_is_first_used(sess, least, capacity, text):
    queue = tf.RandomShuffleQueue(capacity, least, [tf.int32])
    for operation in (queue.queue_ref.op, queue.size()):
        with pytest.raises(INVALID, match=text):
            sess.run(operation)


def test_unbounded_queue_can_have_any_min_after_dequeue(sess):
    assert sess.size(tf.RandomShuffleQueue(-1, 10**6, [tf.int32])) == 0


def test_each_session_has_its_own_queue(kind):
    queue = kind.make(shared_name="sh")
    with tf.Session() as first, tf.Session() as second:
        first.run(queue.enqueue(kind.element(1)))
        second.run(queue.close())
        assert first.run([queue.size(), queue.is_closed()]) == [1, False]
        assert second.run([queue.size(), queue.is_closed()]) == [0, True]
