"""The longest wait of a run: valid times, and invalid ones."""

import numpy as np
import pytest

import headrace.tf1 as tf

MAKERS = {
    "RunOptions: timeout_in_ms": lambda ms: tf.RunOptions(timeout_in_ms=ms),
    "ConfigProto: operation_timeout_in_ms": lambda ms: tf.ConfigProto(operation_timeout_in_ms=ms),
}


@pytest.fixture(params=MAKERS)
def where(request):
    return request.param


@pytest.mark.parametrize("ms", [10**22, 2**63, -(10**22), 10**400], ids=lambda ms: str(ms)[:5])
def test_more_than_64_bits_of_milliseconds_are_refused(where, ms):
    words = rf"{where} is {ms}, expected milliseconds of at most 9223372036854775807\. Give 0 to"
    with pytest.raises(ValueError, match=words):
        MAKERS[where](ms)
    options = MAKERS[where](5)
    with pytest.raises(ValueError, match=words):
        setattr(options, where.split()[1], ms)
    assert getattr(options, where.split()[1]) == 5


@pytest.mark.parametrize("ms", [1.5, "5", True, [1]])
def test_a_value_that_is_not_an_integer_is_refused(where, ms):
    with pytest.raises(TypeError, match=f"{where} is .*, expected milliseconds as an integer"):
        MAKERS[where](ms)


@pytest.mark.parametrize("ms", [2**63 - 1, 10**18, np.int64(10**15)])
def test_a_timeout_far_in_the_future_means_no_timeout(queue, ms, in_thread):
    for arguments in (
        {"options": tf.RunOptions(timeout_in_ms=ms)},
        {"config": tf.ConfigProto(operation_timeout_in_ms=ms)},
    ):
        with tf.Session(config=arguments.pop("config", None)) as session:
            call = in_thread.run(session, queue, queue.dequeue(), **arguments)
            session.run(queue.enqueue(1), **arguments)
            assert call.result() == 1


@pytest.mark.parametrize("ms", [0, -1, -(2**63 - 1), None])
def test_a_run_without_a_time_of_its_own_has_that_of_the_session(queue, ms):
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with tf.Session(config=config) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=ms))


@pytest.mark.parametrize("ms", [0, -1, None])
def test_a_session_without_a_time_waits_for_ever(queue, ms, in_thread):
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=ms)) as session:
        call = in_thread.run(session, queue, queue.dequeue())
        session.run(queue.enqueue(1))
        assert call.result() == 1
