"""The contract of all kinds of queues without a graph."""

import numpy as np
import pytest

from headrace.core import errors

TIMEOUT = 10.0


def fill(kind, queue, numbers):
    queue.enqueue_many(kind.rows(numbers), TIMEOUT)


def drain(kind, queue):
    """Closes the queue and takes the remaining elements."""
    queue.close(cancel_pending_enqueues=True)
    taken = [number for batch in queue.batches(7) for number in kind.numbers(batch)]
    return taken if kind.has_order else sorted(taken)


def test_elements_are_dequeued_one_by_one(kind):
    queue = kind.make()
    for number in range(3):
        queue.enqueue(kind.element(number))
    taken = [kind.numbers(queue.dequeue(TIMEOUT))[0] for _ in range(3)]
    assert (taken if kind.has_order else sorted(taken)) == [0, 1, 2]


def test_batch_is_enqueued_and_dequeued(kind):
    queue = kind.make()
    fill(kind, queue, range(10))
    assert kind.numbers(queue.dequeue_many(10, TIMEOUT)) == list(range(10))


def test_empty_batch_does_nothing(kind):
    queue = kind.make()
    fill(kind, queue, [])
    queue.close()
    fill(kind, queue, [])
    assert kind.numbers(queue.dequeue_many(0)) == []
    assert queue.size() == 0


def test_dequeue_waits_for_an_element(kind, blocked):
    queue = kind.make()
    call = blocked(queue, queue.dequeue)
    queue.enqueue(kind.element(7))
    assert kind.numbers(call.result()) == [7]


def test_enqueue_waits_for_room(kind, blocked):
    queue = kind.make(capacity=1)
    queue.enqueue(kind.element(0))
    call = blocked(queue, lambda: queue.enqueue(kind.element(1)))
    assert kind.numbers(queue.dequeue(TIMEOUT)) == [0]
    call.result()
    assert kind.numbers(queue.dequeue(TIMEOUT)) == [1]


def test_batch_can_be_larger_than_the_queue(kind, blocked):
    queue = kind.make(capacity=2)
    call = blocked(queue, lambda: fill(kind, queue, range(5)))
    taken = [number for _ in range(5) for number in kind.numbers(queue.dequeue(TIMEOUT))]
    call.result()
    assert sorted(taken) == list(range(5))


def test_negative_capacity_is_unbounded_and_never_blocks(kind):
    queue = kind.make(capacity=-1)
    fill(kind, queue, range(1000))
    assert (queue.capacity, queue.size()) == (None, 1000)


@pytest.mark.parametrize("timeout", [0, 0.001])
def test_dequeue_timeout_reports_the_missing_elements(kind, timeout):
    queue = kind.make()
    with pytest.raises(errors.DeadlineExceededError) as caught:
        queue.dequeue(timeout)
    assert str(caught.value) == (
        f"queue 'numbers': dequeue waited {timeout} s for elements. The queue has 0 elements. "
        "Check that a thread enqueues, or allow more time."
    )


@pytest.mark.parametrize("timeout", [0, 0.001])
def test_enqueue_timeout_reports_the_missing_room(kind, timeout):
    queue = kind.make(capacity=1)
    queue.enqueue(kind.element(0))
    with pytest.raises(errors.DeadlineExceededError) as caught:
        queue.enqueue(kind.element(1), timeout)
    assert str(caught.value) == (
        f"queue 'numbers': enqueue waited {timeout} s for room. The queue has 1 elements. "
        "Check that a thread dequeues, or allow more time."
    )
    assert kind.numbers(queue.dequeue(TIMEOUT)) == [0]
    assert queue.size() == 0


def test_deadline_exceeded_error_is_a_timeout_error(kind):
    with pytest.raises(TimeoutError):
        kind.make().dequeue(timeout=0)


@pytest.mark.parametrize("timeout", [0, 0.001])
@pytest.mark.parametrize("call", ["dequeue_many", "dequeue_up_to"])
def test_timed_out_batch_loses_nothing(kind, call, timeout):
    queue = kind.make()
    fill(kind, queue, range(3))
    with pytest.raises(errors.DeadlineExceededError) as caught:
        getattr(queue, call)(5, timeout)
    # A priority queue returns a batch all at once.
    held = "0 of 5 elements" if kind.is_priority else "3 of 5 elements, which are back in the queue"
    assert f"'numbers': {call} waited {timeout} s for elements, had taken {held}." in str(
        caught.value
    )
    fill(kind, queue, [3])
    assert drain(kind, queue) == [0, 1, 2, 3]


@pytest.mark.parametrize("timeout", [0, 0.001])
def test_timed_out_enqueue_many_reports_the_number_of_added_elements(kind, timeout):
    queue = kind.make(capacity=3)
    with pytest.raises(errors.DeadlineExceededError) as caught:
        queue.enqueue_many(kind.rows(range(5)), timeout)
    text = f"enqueue_many waited {timeout} s for room, had added 3 of 5 elements, which stay."
    assert text in str(caught.value)
    assert drain(kind, queue) == [0, 1, 2]


@pytest.mark.parametrize(("timeout", "shown"), [(-1, "-1"), (-0.5, "-0.5"), (float("nan"), "NaN")])
def test_negative_timeout_is_rejected(kind, timeout, shown):
    with pytest.raises(ValueError, match="timeout is") as caught:
        kind.make().dequeue(timeout)
    assert str(caught.value) == (
        f"queue 'numbers': timeout is {shown}, expected None or seconds from 0 up. Pass None to "
        "wait forever."
    )


@pytest.mark.parametrize("timeout", [1e300, float("inf")])
def test_timeout_can_be_very_long(kind, blocked, timeout):
    queue = kind.make()
    call = blocked(queue, lambda: queue.dequeue(timeout))
    queue.enqueue(kind.element(7))
    assert kind.numbers(call.result()) == [7]


def test_closed_queue_can_be_drained_but_not_filled(kind):
    queue = kind.make()
    fill(kind, queue, range(3))
    queue.close()
    assert queue.is_closed
    with pytest.raises(errors.CancelledError, match=rf"^{kind.name} 'numbers' is closed\.$"):
        queue.enqueue(kind.element(9))
    text = rf"{kind.name} 'numbers' is closed and has insufficient elements \(requested 5, current"
    with pytest.raises(errors.OutOfRangeError, match=text):
        queue.dequeue_many(5)
    assert kind.numbers(queue.dequeue_up_to(5)) == [0, 1, 2]
    for take in (queue.dequeue, lambda: queue.dequeue_up_to(5)):
        with pytest.raises(errors.OutOfRangeError):
            take()


def test_second_plain_close_fails_but_a_cancelling_one_does_not(kind):
    queue = kind.make()
    queue.close()
    with pytest.raises(errors.CancelledError, match=r"Queue 'numbers' is already closed\."):
        queue.close()
    queue.close(cancel_pending_enqueues=True)


def test_close_wakes_waiting_dequeues(kind, blocked):
    queue = kind.make()
    call = blocked(queue, queue.dequeue)
    queue.close()
    with pytest.raises(errors.OutOfRangeError):
        call.result()


def test_plain_close_waits_for_enqueues(kind, blocked):
    queue = kind.make(capacity=1)
    enqueue = blocked(queue, lambda: fill(kind, queue, range(3)))
    with pytest.raises(errors.DeadlineExceededError, match="close waited 0 s for earlier enqueues"):
        queue.close(timeout=0)
    close = blocked(queue, queue.close)
    assert not queue.is_closed
    taken = [number for _ in range(3) for number in kind.numbers(queue.dequeue(TIMEOUT))]
    enqueue.result()
    close.result()
    assert queue.is_closed
    assert sorted(taken) == [0, 1, 2]


def test_cancelling_close_wakes_enqueues_and_keeps_their_added_elements(kind, blocked):
    queue = kind.make(capacity=2)
    call = blocked(queue, lambda: fill(kind, queue, range(5)))
    queue.close(cancel_pending_enqueues=True)
    text = "'numbers': Enqueue operation was cancelled. It had added 2 of 5 elements, which stay"
    with pytest.raises(errors.CancelledError, match=text):
        call.result()
    assert drain(kind, queue) == [0, 1]


def test_iteration_ends_when_the_queue_is_closed_and_empty(kind):
    queue = kind.make()
    fill(kind, queue, range(5))
    queue.close()
    taken = [number for element in queue for number in kind.numbers(element)]
    assert sorted(taken) == list(range(5))


def test_final_batch_can_be_smaller(kind):
    queue = kind.make()
    fill(kind, queue, range(5))
    queue.close()
    batches = [kind.numbers(batch) for batch in queue.batches(2)]
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert sorted(number for batch in batches for number in batch) == list(range(5))


def test_error_in_a_loop_body_is_not_mistaken_for_the_end(kind):
    queue = kind.make()
    queue.enqueue(kind.element(0))
    empty = kind.make()
    empty.close()
    with pytest.raises(errors.OutOfRangeError, match="insufficient"):
        [empty.dequeue() for _ in queue]


def test_context_manager_closes_and_cancels(kind, blocked):
    with kind.make(capacity=1) as queue:
        queue.enqueue(kind.element(0))
        call = blocked(queue, lambda: queue.enqueue(kind.element(1)))
    with pytest.raises(errors.CancelledError, match="Enqueue operation was cancelled"):
        call.result()
    assert queue.is_closed
    assert drain(kind, queue) == [0]


def test_first_caller_is_served_first(kind, blocked):
    queue = kind.make()
    first = blocked(queue, lambda: queue.dequeue_many(2))
    second = blocked(queue, queue.dequeue)
    queue.enqueue(kind.element(0))
    assert second.is_running
    fill(kind, queue, [1, 2])
    taken = [*kind.numbers(first.result()), *kind.numbers(second.result())]
    assert (taken if kind.has_order else sorted(taken)) == [0, 1, 2]


def test_elements_of_a_timed_out_batch_go_to_the_next_caller(kind, blocked):
    queue = kind.make()
    late = blocked(queue, lambda: queue.dequeue_many(3, timeout=0.2))
    fill(kind, queue, [0, 1])
    call = blocked(queue, lambda: queue.dequeue_many(2))
    with pytest.raises(errors.DeadlineExceededError):
        late.result()
    assert kind.numbers(call.result()) == [0, 1]


def test_negative_count_is_rejected(kind):
    queue = kind.make()
    for take in (queue.dequeue_many, queue.dequeue_up_to):
        with pytest.raises(ValueError, match=r"queue 'numbers': n is -1, expected 0 or more\."):
            take(-1)


def test_repr_shows_the_state(kind):
    queue = kind.make()
    fill(kind, queue, range(3))
    assert repr(queue) == f"<{kind.name} 'numbers': 3 of 10 elements, open>"
    queue.close()
    assert repr(queue) == f"<{kind.name} 'numbers': 3 of 10 elements, closed>"
    assert repr(kind.make(capacity=-1)) == f"<{kind.name} 'numbers': 0 elements, open>"


def test_batch_is_an_array_owned_by_the_caller(kind):
    queue = kind.make(capacity=-1)
    fill(kind, queue, range(1000))
    batch = queue.dequeue_many(1000)
    numbers = batch[1] if kind.is_priority else batch
    assert isinstance(numbers, np.ndarray)
    assert numbers.flags.writeable
    numbers[:] = 0
