"""Queues as nodes of the graph, without runners."""

import pytest

import headrace.tf1 as tf


def test_queue_is_incremented_by_one_operation():
    """The example of the guide: take an element, add one, put it back."""
    q = tf.FIFOQueue(3, "float")
    init = q.enqueue_many(([0.0, 0.0, 0.0],))
    x = q.dequeue()
    y = x + 1
    q_inc = q.enqueue([y])

    with tf.Session() as sess:
        init.run()
        for _ in range(4):
            q_inc.run()
        assert sess.run(q.size()) == 3
        assert [sess.run(x) for _ in range(3)] == [1.0, 1.0, 2.0]


def test_queued_integers_are_incremented_in_turn():
    q = tf.FIFOQueue(3, tf.int32, shapes=[()])
    init = q.enqueue_many(([0, 10, 0],))
    x = q.dequeue()
    q_inc = q.enqueue([x + 1])
    with tf.Session() as sess:
        sess.run(init)
        for _ in range(5):
            sess.run(q_inc)
        assert sess.run(q.dequeue_many(3)).tolist() == [1, 2, 12]


def test_words_come_in_random_order():
    words = [f"word {number}" for number in range(10)]
    q = tf.RandomShuffleQueue(capacity=10, min_after_dequeue=2, dtypes="string")
    with tf.Session() as sess:
        sess.run(q.enqueue_many([words]))
        dequeue = q.dequeue()
        taken = [sess.run(dequeue).decode() for _ in range(8)]
        # Two stay, to be mixed with later elements: another dequeue would wait.
        assert sess.run(q.size()) == 2
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(dequeue, options=tf.RunOptions(timeout_in_ms=50))
        sess.run(q.close())
        taken += [sess.run(dequeue).decode() for _ in range(2)]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(dequeue)
    assert sorted(taken) == words


def test_sentences_of_different_lengths_form_one_batch():
    q = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[(None,), ()])
    length = tf.placeholder(tf.int32, [])
    enqueue = q.enqueue([tf.range(1, length + 1), tf.as_string(length)])
    ids, names = q.dequeue_many(3)
    with tf.Session() as sess:
        for n in (2, 0, 4):
            sess.run(enqueue, {length: n})
        ids, names = sess.run([ids, names])
    assert ids.tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4]]
    assert names.tolist() == [b"2", b"0", b"4"]


def test_urgent_work_comes_first():
    q = tf.PriorityQueue(10, [tf.string], shapes=[()])
    with tf.Session() as sess:
        sess.run(q.enqueue_many(([30, 10, 20], ["low", "high", "middle"])))
        sess.run(q.enqueue((0, "now")))
        dequeue = q.dequeue()
        order = [sess.run(dequeue) for _ in range(4)]
    assert order == [[0, b"now"], [10, b"high"], [20, b"middle"], [30, b"low"]]


def test_closed_queue_is_drained_and_rejects_new_elements():
    q = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    with tf.Session() as sess:
        sess.run(q.enqueue_many([list(range(5))]))
        sess.run(q.close())
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            sess.run(q.enqueue(5))
        assert sess.run([q.size(), q.is_closed()]) == [5, True]
        assert sess.run(q.dequeue_many(2)).tolist() == [0, 1]
        assert sess.run(q.dequeue_up_to(9)).tolist() == [2, 3, 4]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(q.dequeue())


def test_dequeued_element_can_be_enqueued_elsewhere_in_one_run():
    first = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    second = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[(), ()])
    number = first.dequeue()
    move = second.enqueue([number * number, tf.as_string(number)])
    with tf.Session() as sess:
        sess.run(first.enqueue_many([list(range(4))]))
        sess.run(first.close())
        for _ in range(4):
            sess.run(move)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(move)
        squares, names = sess.run(second.dequeue_many(4))
    assert squares.tolist() == [0, 1, 4, 9]
    assert names.tolist() == [b"0", b"1", b"2", b"3"]
