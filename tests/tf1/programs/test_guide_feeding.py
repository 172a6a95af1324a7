"""Feeding: the caller passes the data to each run."""

import threading

import numpy as np
import pytest

import headrace.tf1 as tf


def test_classifier_is_fed_through_placeholders():
    images = tf.placeholder(tf.float32, shape=[None, 4], name="images")
    labels = tf.placeholder(tf.int64, shape=[None], name="labels")
    weights = tf.constant(np.eye(4)[:, :3], tf.float32)
    predictions = tf.argmax(tf.matmul(images, weights), 1)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(predictions, labels), tf.float32))
    with tf.Session() as sess:
        feed = {images: [[0, 1, 0, 0], [0, 0, 2, 0]], labels: [1, 0]}
        assert accuracy.eval(feed_dict=feed) == 0.5
        assert sess.run(predictions, feed_dict={images: np.eye(4)[:3]}).tolist() == [0, 1, 2]


def test_any_tensor_can_be_fed_without_running_its_producer():
    queue = tf.FIFOQueue(1, [tf.float32], shapes=[()])
    element = queue.dequeue()
    scaled = element * tf.constant(10.0, name="factor")
    with tf.Session() as sess:
        assert sess.run(scaled, feed_dict={element: 2.0}) == 20.0
        assert sess.run(scaled, feed_dict={element: 2.0, "factor:0": 3.0}) == 6.0
        assert sess.run(scaled, feed_dict={scaled: 7.0}) == 7.0
        assert sess.run(queue.size()) == 0


def test_unfed_placeholder_is_an_error():
    x = tf.placeholder(tf.float32, shape=[None, 2], name="x")
    doubled = x * 2.0
    with tf.Session() as sess:
        text = (
            r"You must feed a value for placeholder tensor 'x' with dtype float and shape \[\?,2\]"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            sess.run(doubled)
        # The session can be used afterwards.
        assert sess.run(doubled, {x: [[1, 2]]}).tolist() == [[2, 4]]


def test_feed_of_a_wrong_shape_is_an_error():
    x = tf.placeholder(tf.float32, shape=[None, 2], name="x")
    with (
        tf.Session() as sess,
        pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\)"),
    ):
        sess.run(x, {x: [1, 2, 3]})


def test_feeding_thread_fills_a_queue():
    """The migration from feeding to queues: one thread feeds, and another one takes batches."""
    value = tf.placeholder(tf.float32, shape=[2])
    queue = tf.FIFOQueue(capacity=4, dtypes=[tf.float32], shapes=[[2]])
    enqueue, close, batch = queue.enqueue([value]), queue.close(), queue.dequeue_many(5)

    with tf.Session() as sess:

        def feed():
            for number in range(20):
                sess.run(enqueue, feed_dict={value: [number, -number]})
            sess.run(close)

        thread = threading.Thread(target=feed)
        thread.start()
        batches = [sess.run(batch) for _ in range(4)]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(batch)
        thread.join()
    assert np.concatenate(batches)[:, 0].tolist() == list(range(20))


def test_run_blocks_without_queue_runners(squares):
    """It neither fails nor returns, because nothing fills the queue."""
    names = tf.train.string_input_producer(squares, num_epochs=1)
    _, record = tf.TFRecordReader().read(names)
    batch = tf.train.batch([record], batch_size=2)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for blocked in (record, batch):
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(blocked, options=tf.RunOptions(timeout_in_ms=100))
        # With the runners the same program continues.
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(batch).shape == (2,)
        coord.request_stop()
        coord.join(threads)
