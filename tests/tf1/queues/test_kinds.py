"""The properties of each kind of queue without a graph, and its construction."""

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.core import errors
from headrace.tf1.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue


def test_batch_is_padded_to_its_largest_element():
    queue = PaddingFIFOQueue(9, ["int64", "string", "bool"], shapes=[[None, 2], [None], [None]])
    queue.enqueue([[[1, 2]], ["a"], [True, True]])
    queue.enqueue([[[3, 4], [5, 6]], [], [True]])
    numbers, words, flags = queue.dequeue_many(2)
    assert numbers.tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]
    assert words.tolist() == [[b"a"], [b""]]
    assert flags.tolist() == [[True, True], [True, False]]


def test_single_element_is_not_padded():
    queue = PaddingFIFOQueue(9, "int64", shapes=[None])
    queue.enqueue([[1, 2, 3]])
    queue.enqueue([[4]])
    assert [queue.dequeue().tolist() for _ in range(2)] == [[1, 2, 3], [4]]


def test_elements_of_too_high_a_rank_stay_in_the_queue():
    queue = PaddingFIFOQueue(9, "int64", shapes=[[None] * 5])
    queue.enqueue(np.zeros((1,) * 5, np.int64))
    with pytest.raises(errors.UnimplementedError, match="Unhandled rank: 5"):
        queue.dequeue_many(1)
    assert queue.dequeue().shape == (1,) * 5


def test_smallest_priority_is_dequeued_first():
    queue = PriorityQueue(9, "string", shapes=())
    for priority, word in [(3, "c"), (-1, "a"), (2, "b")]:
        queue.enqueue((priority, word))
    assert [queue.dequeue() for _ in range(3)] == [[-1, b"a"], [2, b"b"], [3, b"c"]]


def test_equal_priorities_follow_the_order_of_the_tensorflow_heap():
    queue = PriorityQueue(10, "int64", shapes=())
    queue.enqueue_many([np.zeros(10, np.int64), np.arange(10)])
    assert queue.dequeue_many(10)[1].tolist() == [0, 2, 6, 9, 8, 5, 7, 4, 1, 3]


def test_open_shuffle_queue_keeps_some_elements():
    queue = RandomShuffleQueue(9, 3, "int64", shapes=())
    queue.enqueue_many(np.arange(5))
    first = queue.dequeue_many(2, timeout=0).tolist()
    with pytest.raises(errors.DeadlineExceededError, match="The queue has 3 elements"):
        queue.dequeue(timeout=0)
    queue.close()
    assert sorted(first + queue.dequeue_many(3).tolist()) == list(range(5))


def test_seed_reproduces_the_order_of_a_graph_queue():
    queue = RandomShuffleQueue(50, 0, "int64", shapes=(), seed=7)
    of_graph = tf.RandomShuffleQueue(50, 0, tf.int64, shapes=(), seed=7)
    queue.enqueue_many(np.arange(50))
    with tf.Session() as session:
        session.run(of_graph.enqueue_many([np.arange(50)]))
        expected = session.run(of_graph.dequeue_many(50))
    assert queue.dequeue_many(50).tolist() == expected.tolist()


def test_order_differs_each_time_without_a_seed():
    orders = set()
    for _ in range(3):
        queue = RandomShuffleQueue(50, 0, "int64", shapes=())
        queue.enqueue_many(np.arange(50))
        orders.add(tuple(queue.dequeue_many(50)))
    assert len(orders) == 3


@pytest.mark.parametrize(
    ("shapes", "shape"), [((), ()), ([2], (2,)), ([()], ()), ([[2, 3]], (2, 3)), ((2, 3), (2, 3))]
)
def test_list_of_integers_is_one_shape(shapes, shape):
    queue = FIFOQueue(9, "int64", shapes=shapes)
    queue.enqueue(np.zeros(shape, np.int64))
    assert queue.dequeue_many(1).shape == (1, *shape)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: FIFOQueue(1.5, "int64"), TypeError, "capacity is 1.5, expected an integer"),
        (lambda: FIFOQueue(1, "int65"), TypeError, "int65"),
        (lambda: FIFOQueue(1, "int64", ["a"]), TypeError, "a"),
        (lambda: FIFOQueue(1, "int64", [[None]]), ValueError, "is not fully defined"),
        (
            lambda: PaddingFIFOQueue(1, "int64", None),
            TypeError,
            "shapes is None, expected one shape",
        ),
        (
            lambda: PaddingFIFOQueue(1, "int64", [tf.TensorShape(None)]),
            ValueError,
            "is not fully defined. Set the rank",
        ),
        (
            lambda: FIFOQueue(1, "int64", [(), ()]),
            ValueError,
            "got 2 shapes for 1 dtypes, expected the same number",
        ),
        (lambda: FIFOQueue(1, "int64", names=["a", "b"]), ValueError, "got 2 names for 1 dtypes"),
        (lambda: PriorityQueue(1, "int64", None), TypeError, "shapes is None, expected one shape"),
        (
            lambda: RandomShuffleQueue(4, 4, "int64"),
            errors.InvalidArgumentError,
            "min_after_dequeue 4 must be < capacity 4",
        ),
        (
            lambda: RandomShuffleQueue(4, -1, "int64"),
            errors.InvalidArgumentError,
            "min_after_dequeue -1 must be >= 0",
        ),
    ],
)
def test_invalid_queue_is_rejected(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
