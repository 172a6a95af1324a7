"""The guide's program with a pipeline, and how it can end."""

import threading

import pytest

import headrace.tf1 as tf

OPTIONS = tf.RunOptions(timeout_in_ms=10_000)


def test_standard_program_sees_every_example_of_every_epoch(write_records):
    files = [write_records(f"{i}", [b"%d-%d" % (i, j) for j in range(7)]) for i in range(3)]
    names = tf.train.string_input_producer(files, num_epochs=2)
    _, record = tf.TFRecordReader().read(names)
    batch = tf.train.shuffle_batch([record], 4, 30, 10, 2, allow_smaller_final_batch=True)
    init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
    seen = []
    sess = tf.Session()
    sess.run(init)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    try:
        while not coord.should_stop():
            seen += sess.run(batch, options=OPTIONS).tolist()
    except tf.errors.OutOfRangeError:
        pass
    finally:
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)
    sess.close()
    assert sorted(seen) == sorted([b"%d-%d" % (i, j) for i in range(3) for j in range(7)] * 2)


def test_queued_elements_can_be_dequeued_after_an_early_stop():
    """The course note's program: it asks for a stop at 50 and continues dequeuing."""
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[()])
    enqueue = queue.enqueue(tf.random_normal([]))
    runner = tf.train.QueueRunner(queue, [enqueue] * 3)
    value = queue.dequeue()
    taken = 0
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord=coord, start=True)
        try:
            while True:
                session.run(value, options=OPTIONS)
                taken += 1
                if taken == 51:
                    coord.request_stop()
        except tf.errors.OutOfRangeError:
            pass
        coord.join(threads, stop_grace_period_secs=10)
    # 51, plus the elements in the queue, and those that the threads were about to add.
    assert 51 <= taken <= 51 + 10 + 3


def test_join_waits_until_a_stop_is_requested(numbers):
    number = numbers(3)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert [session.run(number, options=OPTIONS) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(number, options=OPTIONS)
        filling, cancelling = threads
        filling.join(10)
        joining = threading.Thread(target=coord.join, args=[threads])
        joining.start()
        assert not filling.is_alive()
        assert cancelling.is_alive()
        assert joining.is_alive()
        assert not coord.should_stop()
        coord.request_stop()
        joining.join(10)
        assert not joining.is_alive()


def test_error_in_the_first_stage_ends_the_last_and_is_raised_by_join(pipeline, tmp_path):
    names = tf.train.string_input_producer([str(tmp_path / "none")], num_epochs=1)
    _, record = tf.TFRecordReader().read(names)
    batch = tf.train.shuffle_batch_join([[record]], 2, 10, 3)
    assert pipeline.values(batch) == []
    assert isinstance(pipeline.end, tf.errors.OutOfRangeError)
    assert isinstance(pipeline.failure, tf.errors.NotFoundError)
    assert "none" in str(pipeline.failure)


def test_range_and_slices_feed_batches_with_several_threads(pipeline):
    index = tf.train.range_input_producer(100, num_epochs=2).dequeue()
    squares = tf.constant([i * i for i in range(100)])
    batch = tf.train.batch([index, tf.gather(squares, index)], 10, num_threads=3, capacity=20)
    seen = []
    for numbers, values in pipeline.values(batch):
        assert (values == numbers * numbers).all()
        seen += numbers.tolist()
    assert sorted(seen) == sorted([*range(100)] * 2)
