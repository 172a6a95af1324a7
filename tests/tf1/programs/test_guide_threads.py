"""Threads with a coordinator, queue runners, and a session that several threads use."""

import threading

import pytest

import headrace.tf1 as tf

# A coordinator alone


def test_plain_threads_stop_together():
    counts = [0] * 10
    enough = threading.Event()

    def my_loop(coord, number):
        while not coord.should_stop():
            counts[number] += 1
            if counts[number] > 20:
                enough.set()
            coord.wait_for_stop(0.001)

    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=my_loop, args=(coord, i)) for i in range(10)]
    for t in threads:
        t.start()
    enough.wait()
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=120)
    assert not any(t.is_alive() for t in threads)
    assert max(counts) > 20


def test_one_thread_can_request_a_stop_of_all():
    def my_loop(coord, number):
        step = 0
        while not coord.should_stop():
            step += 1
            if number == 3 and step == 5:
                coord.request_stop()
            coord.wait_for_stop(0.001)

    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=my_loop, args=(coord, i)) for i in range(10)]
    for t in threads:
        t.start()
    coord.join(threads)
    assert coord.should_stop()


def test_thread_error_is_raised_by_join():
    def my_loop(coord, number):
        with coord.stop_on_exception():
            while not coord.should_stop():
                if number == 3:
                    raise ValueError("thread 3 has failed")
                coord.wait_for_stop(0.001)

    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=my_loop, args=(coord, i)) for i in range(5)]
    for t in threads:
        t.start()
    with pytest.raises(ValueError, match="thread 3 has failed"):
        coord.join(threads)
    assert not any(t.is_alive() for t in threads)


def test_thread_that_does_not_stop_in_time_is_reported():
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait)
    coord = tf.train.Coordinator()
    thread.start()
    coord.request_stop()
    try:
        with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running"):
            coord.join([thread], stop_grace_period_secs=0.1)
    finally:
        ends.set()
        thread.join()


# A queue runner alone


def test_runner_fills_a_queue_from_four_threads():
    """The example of the guide, with a new coordinator."""
    example = tf.constant([1.0, 2.0])
    queue = tf.RandomShuffleQueue(20, 5, tf.float32, shapes=[(2,)])
    enqueue_op = queue.enqueue(example)
    inputs = queue.dequeue_many(10)
    train_op = tf.reduce_sum(inputs)
    qr = tf.train.QueueRunner(queue, [enqueue_op] * 4)

    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        enqueue_threads = qr.create_threads(sess, coord=coord, start=True)
        for _ in range(100):
            if coord.should_stop():
                break
            assert sess.run(train_op) == 30.0
        coord.request_stop()
        coord.join(enqueue_threads)
        # Four threads enqueue, and one closes the queue at the stop.
        assert len(enqueue_threads) == 5
        assert not any(thread.is_alive() for thread in enqueue_threads)


def test_queued_elements_can_be_dequeued_after_a_stop():
    """The known example: the loop asks for the stop and continues until the queue is empty."""
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    qr = tf.train.QueueRunner(queue, [queue.enqueue(7)])
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = qr.create_threads(sess, coord=coord, start=True)
        dequeue, taken = queue.dequeue(), []
        try:
            for i in range(1000):
                taken.append(sess.run(dequeue))
                if i == 50:
                    coord.request_stop()
        except tf.errors.OutOfRangeError:
            coord.join(threads)
    # The elements before the stop, those in the queue, and one that was being enqueued.
    assert 51 <= len(taken) <= 51 + 10 + 1


def test_runner_needs_no_coordinator():
    """Its threads end with the input, and the last one closes the queue."""
    queue = tf.FIFOQueue(10, tf.int32)
    counter = tf.Variable(0)
    qr = tf.train.QueueRunner(queue, [queue.enqueue(counter.count_up_to(40))] * 2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = qr.create_threads(sess, start=True)
        dequeue = queue.dequeue()
        assert sorted(sess.run(dequeue) for _ in range(40)) == list(range(40))
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(dequeue)
        for thread in threads:
            thread.join()
    assert len(threads) == 2


def test_one_operation_of_a_runner_can_increment_a_counter():
    """The known example: the counter and the enqueues run side by side, so numbers are skipped."""
    queue = tf.FIFOQueue(10, "float")
    counter = tf.Variable(0.0)
    increment_op = tf.assign_add(counter, tf.constant(1.0))
    enqueue_op = queue.enqueue([counter])
    qr = tf.train.QueueRunner(queue, enqueue_ops=[increment_op, enqueue_op])

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        enqueue_threads = qr.create_threads(sess, coord=coord, start=True)
        numbers = [sess.run(queue.dequeue()) for _ in range(10)]
        coord.request_stop()
        coord.join(enqueue_threads)
        # The remaining elements can still be dequeued. Then the input ends.
        numbers += [sess.run(queue.dequeue()) for _ in range(sess.run(queue.size()))]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(queue.dequeue())
    assert numbers == sorted(numbers)
    assert all(number == int(number) for number in numbers)


def test_runners_of_the_graph_are_started_together():
    first = tf.FIFOQueue(5, tf.int32, shapes=[()], name="first")
    second = tf.FIFOQueue(5, tf.int32, shapes=[()], name="second")
    counter = tf.Variable(0, name="counter")
    tf.train.add_queue_runner(tf.train.QueueRunner(first, [first.enqueue(counter.count_up_to(50))]))
    tf.train.add_queue_runner(tf.train.QueueRunner(second, [second.enqueue(first.dequeue() * 2)]))
    batch = second.dequeue_many(10)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        numbers = [number for _ in range(5) for number in sess.run(batch)]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(batch)
        coord.request_stop()
        coord.join(threads)
    assert numbers == [2 * number for number in range(50)]


def test_runners_can_be_started_without_a_coordinator():
    queue = tf.train.range_input_producer(5, num_epochs=2, shuffle=False)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners()
        assert [sess.run(queue.dequeue()) for _ in range(10)] == [0, 1, 2, 3, 4] * 2
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(queue.dequeue())
        for thread in threads:
            thread.join()


# One session and many threads


def test_many_threads_share_one_session():
    queue = tf.FIFOQueue(8, [tf.int32, tf.int32], shapes=[(), ()])
    number = tf.placeholder(tf.int32, [])
    enqueue, dequeue, close = queue.enqueue([number, -number]), queue.dequeue(), queue.close()
    taken, lock = [], threading.Lock()

    with tf.Session() as sess:

        def produce(start):
            for value in range(start, start + 50):
                sess.run(enqueue, {number: value})

        def consume():
            while True:
                try:
                    pair = sess.run(dequeue)
                except tf.errors.OutOfRangeError:
                    return
                with lock:
                    taken.append(pair)

        producers = [threading.Thread(target=produce, args=(50 * i,)) for i in range(6)]
        consumers = [threading.Thread(target=consume) for _ in range(6)]
        for thread in producers + consumers:
            thread.start()
        for thread in producers:
            thread.join()
        sess.run(close)
        for thread in consumers:
            thread.join()
    assert sorted(taken) == [[value, -value] for value in range(300)]


def test_waiting_thread_does_not_block_the_others():
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[()])
    x = tf.placeholder(tf.int32, [])
    dequeue, enqueue, double = queue.dequeue(), queue.enqueue(x), x * 2
    result = []
    with tf.Session() as sess:
        waiting = threading.Thread(target=lambda: result.append(sess.run(dequeue)))
        waiting.start()
        assert [sess.run(double, {x: value}) for value in range(100)] == list(range(0, 200, 2))
        assert waiting.is_alive()
        sess.run(enqueue, {x: 7})
        waiting.join()
    assert result == [7]


def test_threads_extend_the_graph_while_others_run():
    queue = tf.FIFOQueue(100, [tf.int32], shapes=[()])
    with tf.Session() as sess:

        def work(number):
            with sess.graph.as_default():
                for step in range(10):
                    sess.run(queue.enqueue(10 * number + step))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(sess.run(queue.dequeue_many(50))) == list(range(50))
