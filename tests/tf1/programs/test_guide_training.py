"""The training template: a finite pipeline, a loop, a coordinator, and the ways it can end."""

import numpy as np
import pytest

import headrace.tf1 as tf


def read_squares(names):
    """Reads one example: a number and its square."""
    _, record = tf.TFRecordReader().read(names)
    features = {name: tf.FixedLenFeature([], tf.int64) for name in ("number", "square")}
    example = tf.parse_single_example(record, features=features)
    return example["number"], example["square"]


def input_pipeline(filenames, batch_size, num_epochs=None):
    names = tf.train.string_input_producer(filenames, num_epochs=num_epochs, shuffle=True)
    number, square = read_squares(names)
    return tf.train.shuffle_batch(
        [number, square],
        batch_size=batch_size,
        capacity=16,
        min_after_dequeue=8,
        num_threads=2,
        allow_smaller_final_batch=True,
    )


def initialize(sess):
    sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))


def run_to_the_end(sess, fetches):
    try:
        while True:
            sess.run(fetches)
    except tf.errors.OutOfRangeError:
        pass


def test_model_trains_until_the_input_ends(squares):
    numbers, targets = input_pipeline(squares, batch_size=5, num_epochs=40)
    numbers, targets = tf.to_float(numbers) / 10.0, tf.to_float(targets) / 100.0
    features = tf.stack([numbers, numbers * numbers], axis=1)
    weights = tf.Variable(tf.zeros([2, 1]), name="weights")
    errors = tf.squeeze(tf.matmul(features, weights), [1]) - targets
    gradient = tf.matmul(tf.transpose(features), tf.expand_dims(errors, 1)) / 5.0
    train_op = tf.assign_sub(weights, 0.02 * gradient)
    loss = tf.reduce_mean(tf.square(errors))

    sess = tf.Session()
    initialize(sess)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    losses = []
    try:
        while not coord.should_stop():
            losses.append(sess.run([train_op, loss])[1])
    except tf.errors.OutOfRangeError:
        pass
    finally:
        coord.request_stop()
    coord.join(threads)
    sess.close()

    assert len(losses) == 30 * 40 // 5
    assert np.mean(losses[-20:]) < np.mean(losses[:20]) / 100


def test_loop_reads_every_example_of_every_epoch_until_the_end(squares):
    """Including the elements that `min_after_dequeue` kept back."""
    numbers, targets = input_pipeline(squares, batch_size=7, num_epochs=3)
    taken = []
    with tf.Session() as sess:
        initialize(sess)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord)
        try:
            while not coord.should_stop():
                batch = sess.run([numbers, targets])
                taken += zip(*batch, strict=True)
        except tf.errors.OutOfRangeError:
            pass
        # Nothing requested the stop: the input has ended.
        assert not coord.should_stop()
        coord.request_stop()
        coord.join(threads)
    assert sorted(taken) == sorted([(n, n * n) for n in range(30)] * 3)


def test_input_ends_stage_by_stage(squares):
    """The epoch limit closes the names, readers drain them, the last closes the examples."""
    names = tf.train.string_input_producer(squares, num_epochs=2, shuffle=False)
    examples = tf.RandomShuffleQueue(100, 50, [tf.int64, tf.int64], shapes=[(), ()])
    enqueue_ops = [examples.enqueue(read_squares(names)) for _ in range(3)]
    tf.train.add_queue_runner(tf.train.QueueRunner(examples, enqueue_ops))
    number, _ = examples.dequeue()
    with tf.Session() as sess:
        initialize(sess)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        taken = [int(sess.run(number)) for _ in range(60)]
        assert sorted(taken) == sorted([*range(30)] * 2)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(number)
        assert sess.run([names.is_closed(), examples.is_closed()]) == [True, True]
        assert sess.run([names.size(), examples.size()]) == [0, 0]
        coord.request_stop()
        coord.join(threads)


def test_join_reports_uninitialized_epochs(squares):
    """The counter of the epochs is a local variable: initializing the global ones is not enough."""
    numbers, _ = input_pipeline(squares, batch_size=5, num_epochs=1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(numbers)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            coord.join(threads)


def test_error_in_one_stage_stops_all_and_is_raised_by_join(squares):
    def check(number):
        if number == 17:
            raise ValueError("17 is not to be read")
        return number

    number, square = read_squares(tf.train.string_input_producer(squares))
    checked = tf.py_func(check, [number], tf.int64)
    checked.set_shape([])
    batch, _ = tf.train.batch([checked, square], batch_size=2, num_threads=2)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        # The loop sees the end of the input, a moment after the threads have stopped.
        run_to_the_end(sess, batch)
        with pytest.raises(tf.errors.InvalidArgumentError, match="17 is not to be read"):
            coord.join(threads)
        assert not any(thread.is_alive() for thread in threads)


def test_damaged_file_stops_all_stages_and_is_raised_by_join(squares, tmp_path):
    damaged = tmp_path / "damaged.tfrecords"
    content = bytearray((tmp_path / "squares-1.tfrecords").read_bytes())
    content[-6] ^= 0xFF
    damaged.write_bytes(content)
    numbers, _ = input_pipeline([*squares, str(damaged)], batch_size=5)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        run_to_the_end(sess, numbers)
        with pytest.raises(tf.errors.DataLossError, match="corrupted record"):
            coord.join(threads)


def test_error_in_the_loop_stops_the_threads(squares):
    numbers, _ = input_pipeline(squares, batch_size=5)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            sess.run(numbers)
            raise KeyError("the loop")
        except KeyError as error:
            coord.request_stop(error)
        with pytest.raises(KeyError, match="the loop"):
            coord.join(threads)
        assert not any(thread.is_alive() for thread in threads)


def test_early_stop_ends_all_threads(squares):
    numbers, _ = input_pipeline(squares, batch_size=1)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for step in range(10):
            if coord.should_stop():
                break
            sess.run(numbers)
            if step == 5:
                coord.request_stop()
        assert step == 6
        coord.join(threads)
        assert not any(thread.is_alive() for thread in threads)
