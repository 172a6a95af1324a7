"""Calls that wait for space, for elements or for their turn, and the ends of waits."""

import pytest

import headrace.tf1 as tf

CANCELLED = tf.errors.CancelledError
DEADLINE = tf.errors.DeadlineExceededError

ENQUEUE_CANCELLED = "Enqueue operation was cancelled"
DEQUEUE_CANCELLED = "Dequeue operation was cancelled"


def numbers(kind, taken):
    """Returns the numbers of a batch of one int32 component."""
    return kind.in_order(kind.components(taken)[0].tolist())


def drained(kind, sess, queue):
    return numbers(kind, sess.run(queue.dequeue_many(sess.size(queue))))


# Room


def test_enqueue_waits_for_room(kind, sess):
    queue = kind.make(2)
    sess.run(queue.enqueue_many(kind.rows([1, 2])))
    call = sess.blocked(queue, queue.enqueue(kind.element(3)))
    assert sess.size(queue) == 2
    first = kind.components(sess.run(queue.dequeue()))
    call.result()
    assert sorted([*first, *drained(kind, sess, queue)]) == [1, 2, 3]


@pytest.mark.parametrize("capacity", [-1, -7, None])
def test_unbounded_queue_always_has_room(kind, sess, capacity):
    queue = kind.make(capacity)
    for _ in range(3):
        sess.run(queue.enqueue_many(kind.rows(list(range(1000)))))
    assert sess.size(queue) == 3000


@pytest.mark.parametrize("kind_name", ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue"])
def test_queue_of_capacity_0_never_has_room_even_for_a_waiting_dequeue(kind_name, sess):
    queue = getattr(tf, kind_name)(0, [tf.int32], [()])
    element = [1, 1] if kind_name == "PriorityQueue" else [1]
    dequeue = sess.blocked(queue, queue.dequeue())
    enqueue = sess.blocked(queue, queue.enqueue(element))
    assert sess.num_waiting(queue) == 2
    sess.run(queue.close(cancel_pending_enqueues=True))
    with pytest.raises(CANCELLED, match=ENQUEUE_CANCELLED):
        enqueue.result()
    with pytest.raises(tf.errors.OutOfRangeError):
        dequeue.result()


def test_batch_is_enqueued_as_space_appears(kind, sess):
    queue = kind.make(3)
    call = sess.blocked(queue, queue.enqueue_many(kind.rows(list(range(10)))))
    taken = []
    for left in range(7, 0, -1):
        assert sess.size(queue) == 3
        assert sess.stats(queue).num_enqueued == 10 - left
        taken += kind.components(sess.run(queue.dequeue()))
    call.result()
    assert kind.in_order([*taken, *drained(kind, sess, queue)]) == list(range(10))


def test_rows_of_a_batch_stay_together(sess):
    queue = tf.FIFOQueue(3, [tf.int32], [()])
    batch = sess.blocked(queue, queue.enqueue_many([list(range(5))]))
    other = sess.blocked(queue, queue.enqueue(99))
    assert [sess.run(queue.dequeue()) for _ in range(6)] == [0, 1, 2, 3, 4, 99]
    batch.result()
    other.result()


def test_enqueue_does_not_overtake_a_waiting_batch(kind, sess):
    queue = kind.make(3)
    batch = sess.blocked(queue, queue.enqueue_many(kind.rows([1, 2, 3, 4, 5])))
    other = sess.blocked(queue, queue.enqueue(kind.element(9)))
    sess.run(queue.dequeue())
    assert (sess.size(queue), sess.num_waiting(queue)) == (3, 2)
    sess.run(queue.dequeue())
    batch.result()
    assert (sess.size(queue), sess.num_waiting(queue)) == (3, 1)
    sess.run(queue.dequeue())
    other.result()
    assert 9 in drained(kind, sess, queue) or not kind.has_order


def test_empty_batch_is_enqueued_without_waiting(kind, sess):
    queue = kind.make(1)
    call = sess.blocked(queue, queue.enqueue_many(kind.rows([1, 2])))
    sess.run(queue.enqueue_many(kind.rows([])))
    sess.run(queue.dequeue())
    call.result()


# Elements


def test_dequeue_waits_for_an_element(kind, sess):
    queue = kind.make()
    call = sess.blocked(queue, queue.dequeue())
    sess.run(queue.enqueue(kind.element(7)))
    assert kind.components(call.result()) == [7]


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_batch_is_returned_when_it_is_complete(kind, sess, method):
    """Also `dequeue_up_to` waits for all, as long as the queue is open."""
    queue = kind.make()
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    call = sess.blocked(queue, getattr(queue, method)(5))
    sess.run(queue.enqueue(kind.element(4)))
    assert sess.num_waiting(queue) == 1
    sess.run(queue.enqueue(kind.element(5)))
    assert numbers(kind, call.result()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_waiting_batch_holds_the_elements_so_far(kind, sess, method):
    queue = kind.make()
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    call = sess.blocked(queue, getattr(queue, method)(5))
    # A priority queue returns all or nothing, so that they are the best ones.
    assert sess.size(queue) == (3 if kind.is_priority else 0)
    sess.run(queue.enqueue_many(kind.rows([4, 5])))
    assert numbers(kind, call.result()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind_name", ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue"])
def test_batch_can_be_larger_than_the_capacity(kind_name, sess):
    arguments = (3, 0) if kind_name == "RandomShuffleQueue" else (3,)
    queue = getattr(tf, kind_name)(*arguments, [tf.int32], [()])
    call = sess.blocked(queue, queue.dequeue_many(8))
    sess.run(queue.enqueue_many([list(range(8))]))
    assert sorted(call.result().tolist()) == list(range(8))


def test_priority_queue_batch_larger_than_the_capacity_never_completes(sess):
    queue = tf.PriorityQueue(3, [tf.int32], [()])
    dequeue = sess.blocked(queue, queue.dequeue_many(4))
    enqueue = sess.blocked(queue, queue.enqueue_many([[0] * 4, list(range(4))]))
    assert (sess.size(queue), sess.num_waiting(queue)) == (3, 2)
    sess.close()
    for call in (dequeue, enqueue):
        with pytest.raises(CANCELLED):
            call.result()


def test_dequeue_does_not_overtake_a_waiting_batch(kind, sess):
    queue = kind.make()
    batch = sess.blocked(queue, queue.dequeue_many(3))
    one = sess.blocked(queue, queue.dequeue())
    sess.run(queue.enqueue(kind.element(1)))
    assert sess.num_waiting(queue) == 2
    sess.run(queue.enqueue_many(kind.rows([2, 3])))
    assert numbers(kind, batch.result()) == [1, 2, 3]
    assert sess.num_waiting(queue) == 1
    sess.run(queue.enqueue(kind.element(4)))
    assert kind.components(one.result()) == [4]


def test_empty_dequeue_returns_without_waiting(kind, sess):
    queue = kind.make()
    call = sess.blocked(queue, queue.dequeue())
    assert kind.components(sess.run(queue.dequeue_many(0)))[0].shape == (0,)
    sess.run(queue.enqueue(kind.element(1)))
    assert kind.components(call.result()) == [1]


# Plain close


def test_close_waits_for_earlier_enqueues(kind, sess):
    queue = kind.make(3)
    batch = sess.blocked(queue, queue.enqueue_many(kind.rows(list(range(10)))))
    close = sess.blocked(queue, queue.close())
    late = sess.blocked(queue, queue.enqueue(kind.element(99)))
    is_closed = queue.is_closed()
    taken = []
    for _ in range(6):
        taken += kind.components(sess.run(queue.dequeue()))
        assert not sess.run(is_closed)
    taken += kind.components(sess.run(queue.dequeue()))
    batch.result()
    close.result()
    with pytest.raises(CANCELLED, match=f"{kind.name} '.*' is closed."):
        late.result()
    assert sess.run(is_closed)
    assert kind.in_order([*taken, *drained(kind, sess, queue)]) == list(range(10))


def test_close_takes_effect_at_once_if_no_enqueue_waits(kind, sess):
    queue = kind.make(1)
    sess.run(queue.enqueue(kind.element(1)))
    sess.run(queue.close())
    assert sess.run(queue.is_closed())


def test_close_ends_a_dequeue_that_cannot_be_satisfied(kind, sess):
    queue = kind.make()
    calls = [sess.blocked(queue, queue.dequeue()) for _ in range(2)]
    sess.run(queue.close())
    for call in calls:
        with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 1, current size 0\)"):
            call.result()


def test_close_returns_the_elements_of_a_waiting_batch_to_the_queue(kind, sess):
    queue = kind.make()
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    call = sess.blocked(queue, queue.dequeue_many(5))
    sess.run(queue.close())
    # A priority queue had returned nothing. For the others, the last three were already counted.
    missing = "requested 5, current size 3" if kind.is_priority else "requested 2, current size 0"
    with pytest.raises(tf.errors.OutOfRangeError, match=missing):
        call.result()
    assert sess.size(queue) == 3
    assert numbers(kind, sess.run(queue.dequeue_up_to(5))) == [1, 2, 3]


def test_returned_elements_precede_the_remaining_ones(sess):
    """The next waiter gets the element, not the end of the input."""
    queue = tf.FIFOQueue(10, [tf.int32], [()])
    sess.run(queue.enqueue_many([[1, 2, 3]]))
    batch = sess.blocked(queue, queue.dequeue_many(5))
    one = sess.blocked(queue, queue.dequeue())
    sess.run(queue.close())
    with pytest.raises(tf.errors.OutOfRangeError):
        batch.result()
    assert one.result() == 1
    assert sess.run(queue.dequeue_many(2)).tolist() == [2, 3]


def test_close_completes_a_waiting_dequeue_up_to_with_the_rest(kind, sess):
    queue = kind.make()
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    call = sess.blocked(queue, queue.dequeue_up_to(5))
    sess.run(queue.close())
    assert numbers(kind, call.result()) == [1, 2, 3]
    assert sess.size(queue) == 0


# Cancelling close


def test_cancelling_close_ends_every_waiting_enqueue_and_close_at_once(kind, sess):
    queue = kind.make(3)
    batch = sess.blocked(queue, queue.enqueue_many(kind.rows(list(range(10)))))
    enqueue = sess.blocked(queue, queue.enqueue(kind.element(99)))
    close = sess.blocked(queue, queue.close())
    sess.run(queue.close(cancel_pending_enqueues=True))
    for call in (batch, enqueue, close):
        with pytest.raises(CANCELLED, match=ENQUEUE_CANCELLED):
            call.result()
    assert sess.run(queue.is_closed())
    # Elements that the batch had added stay.
    assert drained(kind, sess, queue) == [0, 1, 2]
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(queue.dequeue())


# Timeouts


def test_run_that_waits_too_long_ends(kind, sess):
    queue = kind.make(1)
    with pytest.raises(DEADLINE):
        sess.run(queue.dequeue(), timeout=0.02)
    sess.run(queue.enqueue(kind.element(1)))
    with pytest.raises(DEADLINE):
        sess.run(queue.enqueue(kind.element(2)), timeout=0.02)
    assert sess.num_waiting(queue) == 0
    assert drained(kind, sess, queue) == [1]


def test_session_can_limit_every_run(kind):
    queue = kind.make()
    config = tf.ConfigProto(operation_timeout_in_ms=20)
    with tf.Session(config=config) as session, pytest.raises(DEADLINE):
        session.run(queue.dequeue())


def test_elements_held_by_a_cancelled_batch_are_lost(kind, sess):
    queue = kind.make()
    sess.run(queue.enqueue_many(kind.rows([1, 2, 3])))
    with pytest.raises(DEADLINE):
        sess.start(queue, queue.dequeue_many(5), timeout=0.2).result()
    assert drained(kind, sess, queue) == ([1, 2, 3] if kind.is_priority else [])


def test_elements_enqueued_by_a_cancelled_batch_stay(kind, sess):
    queue = kind.make(2)
    with pytest.raises(DEADLINE):
        sess.start(queue, queue.enqueue_many(kind.rows([1, 2, 3])), timeout=0.2).result()
    assert drained(kind, sess, queue) == [1, 2]


# The end of the session


def test_closing_the_session_ends_every_wait(kind, sess):
    full, empty = kind.make(2), kind.make(2)
    calls = [
        (sess.blocked(full, full.enqueue_many(kind.rows([1, 2, 3]))), ENQUEUE_CANCELLED),
        (sess.blocked(full, full.enqueue(kind.element(4))), ENQUEUE_CANCELLED),
        (sess.blocked(full, full.close()), ENQUEUE_CANCELLED),
        (sess.blocked(empty, empty.dequeue_many(2)), DEQUEUE_CANCELLED),
        (sess.blocked(empty, empty.dequeue_up_to(2)), DEQUEUE_CANCELLED),
        (sess.blocked(empty, empty.dequeue()), DEQUEUE_CANCELLED),
    ]
    names = tf.FIFOQueue(2, [tf.string], [()])
    _, record = tf.TFRecordReader().read(names)
    calls.append((sess.blocked(names, record), DEQUEUE_CANCELLED))
    sess.close()
    for call, text in calls:
        with pytest.raises(CANCELLED, match=text):
            call.result()
    with pytest.raises(RuntimeError, match=r"Attempted to use a closed Session\."):
        sess.run(full.size())
