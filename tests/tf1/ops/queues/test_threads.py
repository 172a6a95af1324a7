"""Many threads on one queue: every element is returned once and complete."""

import collections
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

NUM_PRODUCERS = 4
NUM_CONSUMERS = 3
NUM_ELEMENTS = 120
"""For each producer; it puts them in three at a time and one at a time by turns."""


def produce(session, kind, queue, producer):
    number, copies = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    one = queue.enqueue(kind.batch(0, number, copies))
    many = queue.enqueue_many(kind.batch([0] * 3, number, copies))

    def run():
        numbers = range(producer * NUM_ELEMENTS, (producer + 1) * NUM_ELEMENTS)
        for start in range(0, NUM_ELEMENTS, 4):
            first, *rest = numbers[start : start + 4]
            session.run(one, {number: first, copies: [first] * 5})
            session.run(many, {number: rest, copies: [[each] * 5 for each in rest]})

    return run


def consume(session, kind, queue, n):
    operation = queue.dequeue_up_to(n)

    def run():
        taken = []
        while True:
            try:
                numbers, copies = kind.components(session.run(operation))
            except tf.errors.OutOfRangeError:
                return taken
            assert (copies == numbers[:, None]).all()
            taken += numbers.tolist()

    return run


@pytest.mark.parametrize("capacity", [1, 7, -1])
def test_each_element_is_dequeued_once_with_its_components(kind, sess, capacity):
    if kind.is_priority and capacity == 1:
        capacity = 5  # a batch has to fit
    queue = kind.make(capacity, ["int32", "int32"], [(), (5,)])
    close = queue.close()
    consumers = [consume(sess.session, kind, queue, n) for n in range(1, NUM_CONSUMERS + 1)]
    producers = [produce(sess.session, kind, queue, number) for number in range(NUM_PRODUCERS)]
    calls = [sess.call(function) for function in (*consumers, *producers)]
    for call in calls[NUM_CONSUMERS:]:
        call.result()
    sess.run(close)
    taken = [call.result() for call in calls[:NUM_CONSUMERS]]
    counts = collections.Counter(itertools.chain(*taken))
    assert counts == collections.Counter(range(NUM_PRODUCERS * NUM_ELEMENTS))
    if kind.name in {"FIFOQueue", "PaddingFIFOQueue"}:
        for numbers in taken:
            for producer in range(NUM_PRODUCERS):
                of_one = [number for number in numbers if number // NUM_ELEMENTS == producer]
                assert of_one == sorted(of_one)


def test_statistics_count_enqueued_and_dequeued_elements(kind, sess):
    queue = kind.make(3, ["int32", "int32"], [(), (5,)])
    consumer = sess.call(consume(sess.session, kind, queue, 1))
    sess.call(produce(sess.session, kind, queue, 0)).result()
    sess.run(queue.close())
    assert len(consumer.result()) == NUM_ELEMENTS
    stats = sess.stats(queue)
    assert (stats.num_enqueued, stats.num_dequeued) == (NUM_ELEMENTS, NUM_ELEMENTS)
    assert (stats.size, stats.num_waiting_enqueues, stats.num_waiting_dequeues) == (0, 0, 0)


class Model:
    """A queue as a list, as one thread sees it."""

    def __init__(self, is_priority):
        self.is_priority = is_priority
        self.elements = []
        self.is_closed = False

    def put(self, numbers):
        if self.is_closed and numbers:
            return tf.errors.CancelledError
        self.elements += numbers
        if self.is_priority:
            self.elements.sort()
        return None

    def take(self, n, is_up_to):
        if len(self.elements) < n:
            if not is_up_to or not self.elements:
                return tf.errors.OutOfRangeError
            n = len(self.elements)
        taken, self.elements = self.elements[:n], self.elements[n:]
        return taken

    def close(self):
        if self.is_closed:
            return tf.errors.CancelledError
        self.is_closed = True
        return None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4)),
        st.tuples(st.sampled_from(["dequeue_many", "dequeue_up_to"]), st.integers(0, 5)),
        st.tuples(st.just("close"), st.just(0)),
    ),
    max_size=25,
)


@given(steps=STEPS)
@pytest.mark.parametrize("kind_name", ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue"])
def test_single_threaded_queue_behaves_like_a_list(kind_name, steps):
    """Each step that would not block has the same effect as on a list."""
    with tf.Graph().as_default(), tf.Session() as session:
        queue = getattr(tf, kind_name)(-1, [tf.int32], [()])
        model = Model(kind_name == "PriorityQueue")
        counter = itertools.count()
        for step, n in steps:
            if step == "put":
                # All different, and going up and down.
                numbers = [(-1) ** number * number for number in itertools.islice(counter, n)]
                columns = [numbers, numbers] if model.is_priority else [numbers]
                operation, expected = queue.enqueue_many(columns), model.put(numbers)
            elif step == "close":
                operation, expected = queue.close(), model.close()
            elif model.is_closed or n <= len(model.elements):
                expected = [] if n == 0 else model.take(n, step == "dequeue_up_to")
                operation = getattr(queue, step)(n)
                operation = operation[1] if model.is_priority else operation
            else:
                continue
            if isinstance(expected, type):
                with pytest.raises(expected):
                    session.run(operation)
            else:
                result = session.run(operation)
                assert (None if result is None else result.tolist()) == expected
            assert session.run(queue.size()) == len(model.elements)
