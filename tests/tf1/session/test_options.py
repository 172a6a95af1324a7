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
def test_timeouts_beyond_64_bits_are_rejected(where, ms):
    words = rf"{where} is {ms}, expected at most 9223372036854775807 milliseconds\. Use 0 to"
    with pytest.raises(ValueError, match=words):
        MAKERS[where](ms)
    options = MAKERS[where](5)
    with pytest.raises(ValueError, match=words):
        setattr(options, where.split()[1], ms)
    assert getattr(options, where.split()[1]) == 5


@pytest.mark.parametrize("ms", [1.5, "5", True, [1]])
def test_non_integer_timeout_is_rejected(where, ms):
    with pytest.raises(
        TypeError, match=f"{where} is .*, expected an integer number of milliseconds"
    ):
        MAKERS[where](ms)


@pytest.mark.parametrize("ms", [2**63 - 1, 10**18, np.int64(10**15)])
def test_timeout_far_in_the_future_means_no_timeout(queue, ms, in_thread):
    for arguments in (
        {"options": tf.RunOptions(timeout_in_ms=ms)},
        {"config": tf.ConfigProto(operation_timeout_in_ms=ms)},
    ):
        with tf.Session(config=arguments.pop("config", None)) as session:
            call = in_thread.run(session, queue, queue.dequeue(), **arguments)
            session.run(queue.enqueue(1), **arguments)
            assert call.result() == 1


@pytest.mark.parametrize("ms", [0, -1, -(2**63 - 1), None])
def test_run_without_a_timeout_uses_the_session_timeout(queue, ms):
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with tf.Session(config=config) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=ms))


@pytest.mark.parametrize("ms", [0, -1, None])
def test_session_without_a_timeout_waits_forever(queue, ms, in_thread):
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=ms)) as session:
        call = in_thread.run(session, queue, queue.dequeue())
        session.run(queue.enqueue(1))
        assert call.result() == 1


def test_session_graph_def_has_shapes_with_infer_shapes():
    tf.placeholder(tf.float32, [None, 3], name="rows")
    options = tf.GraphOptions(infer_shapes=True)
    for config, shapes in ((tf.ConfigProto(graph_options=options), [[-1, 3]]), (None, [])):
        with tf.Session(config=config) as session:
            [node] = session.graph_def.node
        result = node.attr["_output_shapes"].list.shape
        assert [[dim.size for dim in shape.dim] for shape in result] == shapes


def test_number_of_listed_cpus_follows_device_count():
    for counts, expected in (({}, 1), ({"CPU": 2}, 2), ({"GPU": 4}, 1), ({"CPU": 0}, 1)):
        config = tf.ConfigProto(device_count=counts)
        with tf.device("/cpu:1"):
            number = tf.constant(7)
        with tf.Session(config=config) as session:
            names = [device.name for device in session.list_devices()]
            assert session.run(number) == 7
        prefix = "/job:localhost/replica:0/task:0/device:CPU:"
        assert names == [f"{prefix}{n}" for n in range(expected)]


def test_thread_pool_options_are_kept_and_have_no_effect():
    config = tf.ConfigProto()
    config.session_inter_op_thread_pool.add().num_threads = 1
    config.session_inter_op_thread_pool.add(num_threads=2, global_name="x")
    again = tf.ConfigProto(session_inter_op_thread_pool=config.session_inter_op_thread_pool)
    again.session_inter_op_thread_pool.add()
    assert [pool.num_threads for pool in again.session_inter_op_thread_pool] == [1, 2, None]
    with tf.Session(config=again) as session:
        assert session.run(tf.constant(1), options=tf.RunOptions(inter_op_thread_pool=1)) == 1
