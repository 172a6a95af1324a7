"""Staging areas: order, limits, waits, and errors of wrong arguments."""

import numpy as np
import pytest
from tests.calls import waiting_call

import headrace.tf1 as tf
from headrace.tf1 import checkpoint

StagingArea = tf.contrib.staging.StagingArea


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


def waiting(function):
    return waiting_call(function, "staging area")


def test_elements_are_returned_in_order(session):
    area, number = StagingArea([tf.int32, tf.string]), tf.placeholder(tf.int32, [])
    put, get = area.put([number, tf.as_string(number)]), area.get()
    for n in range(3):
        session.run(put, {number: n})
    assert session.run([area.size(), *area.peek(1)]) == [3, 1, b"1"]
    assert [session.run(get) for _ in range(3)] == [[0, b"0"], [1, b"1"], [2, b"2"]]
    assert session.run(area.size()) == 0


def test_batch_passes_through_while_the_next_is_staged(session):
    """The idiom of software pipelines: put and get in one run."""
    area, number = StagingArea([tf.int64], [[2]]), tf.Variable(0, dtype=tf.int64)
    session.run(number.initializer)
    put = area.put([tf.stack([number.assign_add(1), 7])])
    (staged,) = area.get()
    assert staged.shape.as_list() == [2]
    session.run(put)
    assert [session.run([staged, put])[0].tolist() for _ in range(3)] == [[1, 7], [2, 7], [3, 7]]


def test_named_elements_are_dicts(session):
    area = StagingArea([tf.int32, tf.int32], [[], []], names=["b", "a"])
    session.run(area.put({"a": tf.constant(1), "b": tf.constant(2)}))
    assert session.run(area.peek(0)) == {"a": 1, "b": 2}
    assert session.run(area.get()) == {"a": 1, "b": 2}


def test_cleared_area_is_empty(session):
    area = StagingArea([tf.int32])
    session.run(area.put([tf.constant(1)]))
    session.run(area.clear())
    assert session.run(area.size()) == 0


def test_areas_with_the_same_shared_name_are_shared(session):
    first = StagingArea([tf.int32], shared_name="s")
    second = StagingArea([tf.int32], shared_name="s")
    session.run(first.put([tf.constant(5)]))
    assert session.run(second.get()) == [5]
    with tf.Session() as other:
        assert other.run(second.size()) == 0


def test_get_waits_for_an_element(session):
    area = StagingArea([tf.int32])
    put, get = area.put([tf.constant(5)]), area.get()
    call = waiting(lambda: session.run(get))
    session.run(put)
    assert call.result() == [5]
    assert session.run([get, put])[0] == [5]


@pytest.mark.parametrize("limit", [{"capacity": 1}, {"memory_limit": 7}])
def test_put_waits_for_capacity(session, limit):
    area, number = StagingArea([tf.int32], **limit), tf.placeholder(tf.int32, [])
    put, get = area.put([number]), area.get()
    session.run(put, {number: 1})
    call = waiting(lambda: session.run(put, {number: 2}))
    assert session.run(get) == [1]
    call.result()
    assert session.run(get) == [2]


def test_queue_and_area_can_use_the_same_shared_name(session):
    area = StagingArea([tf.int32], shared_name="s")
    queue = tf.FIFOQueue(1, tf.int32, [()], shared_name="s")
    session.run([queue.enqueue(1), area.put([tf.constant(2)])])
    assert session.run([queue.dequeue(), *area.get()]) == [1, 2]


def test_areas_that_share_a_name_must_have_equal_components(session):
    numbers = StagingArea([tf.int32], shared_name="s")
    others = [
        StagingArea([tf.int32] * 2, shared_name="s"),
        StagingArea([tf.int64], shared_name="s"),
    ]
    for other, words in zip(others, ["stage/unstage: 1 vs. 2", "type int32 was put"], strict=True):
        session.run(numbers.put([tf.constant(1)]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(other.get())


def test_element_larger_than_the_memory_limit_is_rejected(session):
    area = StagingArea([tf.int64], memory_limit=15)
    with pytest.raises(
        tf.errors.ResourceExhaustedError,
        match="combined size of '16' bytes into Staging Area with a memory limit of '15'",
    ):
        session.run(area.put([tf.constant(np.arange(2))]))


def test_run_that_waits_too_long_reports_the_operation(session):
    area = StagingArea([tf.int32], capacity=3)
    get, options = area.get(), tf.RunOptions(timeout_in_ms=20)
    with pytest.raises(tf.errors.DeadlineExceededError, match="operation 'StagingArea_get'"):
        session.run(get, options=options)
    session.run(area.put([tf.constant(5)]))
    assert session.run(get) == [5]


def test_closing_the_session_ends_waits():
    area, session = StagingArea([tf.int32]), tf.Session()
    get, peek = area.get(), area.peek(2)
    for fetch in (get, peek):
        session = tf.Session()
        call = waiting(lambda session=session, fetch=fetch: session.run(fetch))
        session.close()
        with pytest.raises(tf.errors.CancelledError):
            call.result()


def test_negative_index_is_rejected(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="index is -1, expected 0 or more"):
        session.run(StagingArea([tf.int32]).peek(-1))


def test_checkpoint_contains_the_staged_elements(session, tmp_path):
    area, number = StagingArea([tf.int32, tf.string]), tf.placeholder(tf.int32, [])
    put, get = area.put([number, tf.constant("a")]), area.get()
    for n in range(3):
        session.run(put, {number: n})
    checkpoint.save(session, tmp_path / "saved")
    with tf.Session() as other:
        checkpoint.restore(other, tmp_path / "saved")
        assert [other.run(get)[0] for _ in range(3)] == [0, 1, 2]
    assert session.run(area.size()) == 3


def test_checkpoint_error_names_a_runner_that_stages(session, tmp_path):
    area = StagingArea([tf.int32])
    queue = tf.FIFOQueue(1, tf.int32, [()], name="numbers")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(area.get())])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, daemon=True, start=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"numbers.*staging area"):
        checkpoint.save(session, tmp_path / "saved")
    coord.request_stop()
    session.close()
    coord.join(threads)


def test_imported_graphs_share_the_area():
    area = StagingArea([tf.int32])
    area.put([tf.constant(5)], name="put")
    area.get(name="get")
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        session.run("put")
        assert session.run("get:0") == 5


class TestArguments:
    def test_types_shapes_and_names_must_match(self):
        with pytest.raises(ValueError, match="shapes must be the same length as dtypes"):
            StagingArea([tf.int32], [[], []])
        with pytest.raises(ValueError, match="names must be the same length as dtypes"):
            StagingArea([tf.int32], names=["a", "b"])
        with pytest.raises(ValueError, match="shared_name must be a string"):
            StagingArea([tf.int32], shared_name=3)
        text = "Attr 'capacity' of 'StageSize' Op passed -1 less than minimum 0"
        with pytest.raises(ValueError, match=text):
            StagingArea([tf.int32], capacity=-1).size()

    def test_values_must_match_the_components(self):
        area = StagingArea([tf.int32], [[2]])
        named = StagingArea([tf.int32], names=["a"])
        cases = [
            (area, [tf.constant([1.0, 2.0])], "Datatypes do not match"),
            (area, [tf.constant(1)], "are incompatible"),
            (area, [tf.constant([1, 2])] * 2, "Unexpected number of inputs '2' vs '1'"),
            (area, {"a": tf.constant([1, 2])}, "must have names"),
            (named, [tf.constant(1)], "must enqueue a dictionary"),
            (named, {"b": tf.constant(1)}, "do not match names"),
        ]
        for target, values, words in cases:
            with pytest.raises(ValueError, match=words):
                target.put(values)

    def test_staging_area_exposes_its_arguments(self):
        area = StagingArea([tf.int32], [[2]], ["a"], "s", 3, 40)
        assert (area.name, area.dtypes, area.names) == ("s", [tf.int32], ["a"])
        assert (area.capacity, area.memory_limit, area.shapes[0].as_list()) == (3, 40, [2])
