"""Compares queues with a list after random calls.

No call blocks, because a timeout of 0 reveals which calls would, and the model predicts these.
"""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.core import errors
from headrace.tf1 import queues

priorities = st.integers(-2, 2)
counts = st.integers(0, 8)


def outcome_of(call, *arguments):
    """Calls without waiting, and returns the outcome as a word, and the result or error."""
    try:
        return "done", call(*arguments, timeout=0)
    except errors.CancelledError as error:
        return "closed", str(error)
    except errors.DeadlineExceededError as error:
        return "late", str(error)
    except errors.OutOfRangeError as error:
        return "end", str(error)


class QueueModel(RuleBasedStateMachine):
    """A queue of elements (priority, number, vector), and the list of its elements.

    The vector repeats the element's number.
    """

    min_after_dequeue = 0
    takes_all_at_once = False
    lengths = st.just(3)

    def make(self, capacity):
        raise NotImplementedError

    def __init__(self):
        super().__init__()
        self.next_number = 0
        self.length_of = {}  # of a number's vector

    @initialize(capacity=st.sampled_from([-1, 0, 1, 5, 20]))
    def start(self, capacity):
        self.queue = self.make(max(capacity, 2) if self.min_after_dequeue else capacity)
        self.elements = []  # (priority, number, length of the vector), in order
        self.is_closed = False
        self.num_enqueued = 0

    @rule(priority=priorities, length=lengths)
    def enqueue(self, priority, length):
        [element] = self.new_elements(priority, length, 1)
        components = priority, element[1], self.vectors([element])[0]
        outcome, _ = outcome_of(self.queue.enqueue, components)
        assert outcome == ("closed" if self.is_closed else "late" if self.room == 0 else "done")
        self.add([element] if outcome == "done" else [])

    @rule(data=st.data(), priority=priorities, count=counts)
    def enqueue_many(self, data, priority, count):
        new = self.new_elements(priority, data.draw(self.lengths), count)
        numbers = np.array([number for _, number, _ in new], np.int64)
        batch = np.full(count, priority), numbers, self.vectors(new)
        added = min(count, 0 if self.is_closed else self.room)
        outcome, text = outcome_of(self.queue.enqueue_many, batch)
        assert outcome == ("done" if added == count else "closed" if self.is_closed else "late")
        assert outcome != "late" or f"had added {added} of {count} elements" in text
        self.add(new[:added])

    @rule()
    def dequeue(self):
        outcome, element = outcome_of(self.queue.dequeue)
        assert outcome == ("done" if self.available else "end" if self.is_closed else "late")
        if outcome == "done":
            priority, number, vector = element
            self.take([(priority, number, len(vector))], [vector])

    @rule(count=counts, is_up_to=st.booleans())
    def dequeue_batch(self, count, is_up_to):
        may_be_less = is_up_to and self.is_closed and self.available > 0
        enough = min(count, self.available) if may_be_less else count
        call = self.queue.dequeue_up_to if is_up_to else self.queue.dequeue_many
        outcome, result = outcome_of(call, count)
        if enough <= self.available:
            assert outcome == "done"
            priorities, numbers, vectors = result
            lengths = [self.length_of[number] for number in numbers]
            assert len(numbers) == enough
            assert vectors.shape[1] == max(lengths, default=vectors.shape[1])
            self.take(list(zip(priorities, numbers, lengths, strict=True)), vectors)
        elif self.is_closed:
            assert outcome == "end"
            assert f"(requested {count}, current size {len(self.elements)})" in result
        else:
            assert outcome == "late"
            held = 0 if self.takes_all_at_once else self.available
            assert f"had taken {held} of {count} elements" in result

    @rule()
    def close(self):
        outcome, _ = outcome_of(self.queue.close)
        assert outcome == ("closed" if self.is_closed else "done")
        self.is_closed = True

    @precondition(lambda self: self.elements)
    @rule()
    def close_and_cancel(self):
        self.queue.close(cancel_pending_enqueues=True)
        self.is_closed = True

    @precondition(lambda self: self.is_closed)
    @rule(capacity=st.sampled_from([-1, 2, 7]))
    def start_again(self, capacity):
        self.drain()
        self.start(capacity)

    @invariant()
    def the_statistics_of_the_queue_are_those_of_the_model(self):
        if not hasattr(self, "queue"):
            return
        stats = self.queue.stats
        assert self.queue.size() == stats.size == len(self.elements)
        assert self.queue.is_closed == stats.is_closed == self.is_closed
        assert stats.num_enqueued == self.num_enqueued
        assert stats.num_dequeued == self.num_enqueued - len(self.elements)
        assert (stats.num_waiting_enqueues, stats.num_waiting_dequeues) == (0, 0)

    def teardown(self):
        if hasattr(self, "queue"):
            self.drain()

    def drain(self):
        """Checks that all elements of the model can be dequeued."""
        self.queue.close(cancel_pending_enqueues=True)
        self.is_closed = True
        while self.elements:
            self.dequeue()
        self.dequeue()

    def new_elements(self, priority, length, count):
        first, self.next_number = self.next_number, self.next_number + count
        self.length_of |= dict.fromkeys(range(first, first + count), length)
        return [(priority, number, length) for number in range(first, first + count)]

    def vectors(self, elements):
        length = elements[0][2] if elements else 3
        rows = [[number] * length for _, number, length in elements]
        return np.array(rows, np.int64).reshape(len(rows), length)

    @property
    def room(self):
        capacity = self.queue.capacity
        return 10**9 if capacity is None else capacity - len(self.elements)

    @property
    def available(self):
        reserved = 0 if self.is_closed else self.min_after_dequeue
        return max(0, len(self.elements) - reserved)

    def add(self, new):
        self.elements += new
        self.num_enqueued += len(new)

    def take(self, taken, vectors):
        """Checks that these elements may be dequeued now, with their vectors padded with 0."""
        for (_, number, length), vector in zip(taken, vectors, strict=True):
            assert vector.tolist() == [number] * length + [0] * (len(vector) - length)
        self.check_order(taken)
        for element in taken:
            self.elements.remove(element)

    def check_order(self, taken):
        assert taken == self.elements[: len(taken)]


class FIFOModel(QueueModel):
    def make(self, capacity):
        return queues.FIFOQueue(capacity, ["int64"] * 3, shapes=[(), (), (3,)])


class ShuffleModel(QueueModel):
    min_after_dequeue = 1

    def make(self, capacity):
        types, shapes = ["int64"] * 3, [(), (), (3,)]
        return queues.RandomShuffleQueue(capacity, self.min_after_dequeue, types, shapes)

    def check_order(self, taken):
        assert len(set(taken)) == len(taken)


class PaddingModel(QueueModel):
    lengths = st.integers(0, 4)

    def make(self, capacity):
        return queues.PaddingFIFOQueue(capacity, ["int64"] * 3, shapes=[(), (), (None,)])


class PriorityModel(QueueModel):
    takes_all_at_once = True

    def make(self, capacity):
        return queues.PriorityQueue(capacity, ["int64"] * 2, shapes=[(), (3,)])

    def check_order(self, taken):
        assert len(set(taken)) == len(taken)
        best = sorted(priority for priority, _, _ in self.elements)[: len(taken)]
        assert [priority for priority, _, _ in taken] == best


for model in (FIFOModel, ShuffleModel, PaddingModel, PriorityModel):
    case = model.TestCase
    case.settings = settings(stateful_step_count=40)
    globals()[f"Test{model.__name__}"] = case
del case
