"""Queue runners inside a `with` block, and the base class of decoders."""

import pytest

import headrace.tf1 as tf

slim = tf.contrib.slim


def test_runners_run_only_inside_the_block():
    number = tf.train.range_input_producer(3, shuffle=False).dequeue()
    batch = tf.train.batch([number], 3)
    for _ in range(2):
        with tf.Session() as session:
            with slim.queues.QueueRunners(session):
                assert session.run(batch).tolist() == [0, 1, 2]
            assert not session.is_closed


def test_blocks_cannot_be_nested():
    with (
        tf.Session() as session,
        slim.queues.QueueRunners(session),
        pytest.raises(slim.queues.NestedQueueRunnerError, match="cannot be nested"),
        slim.queues.QueueRunners(session),
    ):
        pass
    with tf.Session() as session, slim.queues.QueueRunners(session):
        pass


def test_end_of_the_input_does_not_fail_the_block():
    number = tf.train.range_input_producer(2, num_epochs=1, shuffle=False).dequeue()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            assert [session.run(number) for _ in range(2)] == [0, 1]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(number)


def run_until_the_end(session, fetch):
    with slim.queues.QueueRunners(session):
        while True:
            try:
                session.run(fetch)
            except tf.errors.OutOfRangeError:
                break


def test_runner_error_is_raised_by_the_block():
    number = tf.train.range_input_producer(3, shuffle=False).dequeue()
    divided = tf.train.batch([12 // (2 - number)], 1)
    error = pytest.raises(tf.errors.InvalidArgumentError, match="division by zero")
    with tf.Session() as session, error:
        run_until_the_end(session, divided)


def test_error_in_the_block_stops_the_runners():
    number = tf.train.range_input_producer(3).dequeue()
    with tf.Session() as session, pytest.raises(KeyError), slim.queues.QueueRunners(session):
        {}[session.run(number)]
    with tf.Session() as session, slim.queues.QueueRunners(session):
        session.run(number)


def test_decoders_have_an_abstract_base():
    class Halves(slim.data_decoder.DataDecoder):
        def decode(self, data, items):
            return [data / 2 for _ in items]

        def list_items(self):
            return ["half"]

    assert Halves().decode(6, ["half"]) == [3]
    assert issubclass(slim.tfexample_decoder.TFExampleDecoder, slim.data_decoder.DataDecoder)
    with pytest.raises(TypeError, match="abstract"):
        slim.data_decoder.DataDecoder()
