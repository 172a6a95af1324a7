"""Many threads call a queue at random, and no element is lost or repeated."""

import random
import re
import threading

import numpy as np
import pytest

from headrace.core import errors
from headrace.tf1 import queues

NUM_PRODUCERS = 8
NUM_CONSUMERS = 8
NUM_ELEMENTS = 250_000
"""Elements for each kind of queue; there are four."""
ROUND_ELEMENTS = 50_000
"""Elements that go at most through one queue, before the next is made."""
LARGEST_BATCH = 60
TIMEOUTS = (None, None, 0, 0.0001, 0.01)

MAKERS = {
    "FIFOQueue": lambda capacity: queues.FIFOQueue(capacity, "int64", ()),
    "RandomShuffleQueue": lambda capacity: queues.RandomShuffleQueue(
        capacity, capacity // 4, "int64", ()
    ),
    "PaddingFIFOQueue": lambda capacity: queues.PaddingFIFOQueue(capacity, "int64", ()),
    "PriorityQueue": lambda capacity: queues.PriorityQueue(capacity, "int64", ()),
}


class Round:
    """One queue, from the first element to the last: enqueued and dequeued elements."""

    def __init__(self, name, seed):
        self.random = random.Random(seed)
        self.is_priority = name == "PriorityQueue"
        self.capacity = self.random.choice([2, 30, 1000])
        self.queue = MAKERS[name](self.capacity)
        self.closes_early = self.random.random() < 0.5
        self.went_in = []
        self.came_out = []
        self.failures = []

    def run(self):
        producers = self.start(NUM_PRODUCERS, self.produce)
        consumers = self.start(NUM_CONSUMERS, self.consume)
        for thread in producers:
            thread.join()
        self.queue.close(cancel_pending_enqueues=True)
        for thread in consumers:
            thread.join()
        if self.failures:
            raise self.failures[0]
        assert self.queue.size() == 0
        return np.sort(np.concatenate(self.went_in)), np.sort(np.concatenate(self.came_out))

    def start(self, count, body):
        def run(number, seed):
            try:
                body(number, random.Random(seed))
            except Exception as error:
                self.failures.append(error)
                self.queue.close(cancel_pending_enqueues=True)

        threads = [
            threading.Thread(target=run, args=(number, self.random.random()))
            for number in range(count)
        ]
        for thread in threads:
            thread.start()
        return threads

    def produce(self, number, choice):
        share = ROUND_ELEMENTS // NUM_PRODUCERS
        numbers = np.arange(share) + number * share
        closes_at = choice.randrange(share) if self.closes_early and number == 0 else share
        first = 0
        while first < share:
            if first >= closes_at:
                return self.close(choice)
            is_single = choice.random() < 0.1
            batch = numbers[first : first + (1 if is_single else choice.randint(0, LARGEST_BATCH))]
            error = self.enqueue(batch, is_single, choice.choice(TIMEOUTS))
            added = len(batch)
            if error is not None:
                match = re.search(r"had added (\d+) of", str(error))
                added = int(match[1]) if match else 0
            self.went_in.append(batch[:added])
            first += added
            if isinstance(error, errors.CancelledError):
                return None
        return None

    def enqueue(self, batch, is_single, timeout):
        """Returns the error, if there is one."""
        numbers = batch[0] if is_single else batch
        element = (numbers % 7, numbers) if self.is_priority else numbers
        enqueue = self.queue.enqueue if is_single else self.queue.enqueue_many
        try:
            enqueue(element, timeout)
        except (errors.CancelledError, errors.DeadlineExceededError) as error:
            return error
        return None

    def close(self, choice):
        try:
            self.queue.close(choice.random() < 0.5)
        except errors.CancelledError:
            pass  # Another one was first.

    def consume(self, number, choice):
        # A priority queue never has more elements to return than its capacity.
        largest = min(LARGEST_BATCH, self.capacity) if self.is_priority else LARGEST_BATCH
        take_all = False
        while True:
            timeout, count = choice.choice(TIMEOUTS), choice.randint(0, largest)
            if choice.random() < 0.1:
                call, arguments = self.queue.dequeue, (timeout,)
            elif take_all or choice.random() < 0.5:
                call, arguments = self.queue.dequeue_up_to, (count, timeout)
            else:
                call, arguments = self.queue.dequeue_many, (count, timeout)
            try:
                taken = call(*arguments)
            except errors.DeadlineExceededError:
                continue
            except errors.OutOfRangeError:
                if call != self.queue.dequeue_many:
                    return
                take_all = True  # Fewer elements remain than this call needs.
                continue
            self.came_out.append(np.atleast_1d(taken[1] if self.is_priority else taken))


@pytest.mark.parametrize("name", MAKERS)
def test_no_element_is_lost_or_duplicated(name):
    total = seed = 0
    while total < NUM_ELEMENTS:
        went_in, came_out = Round(name, seed).run()
        np.testing.assert_array_equal(came_out, went_in, f"seed {seed}")
        total += len(went_in)
        seed += 1
