"""Rejected attempts to save or restore, after which the session is unchanged."""

import json
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.calls import Call, wait_until
from tests.tf1.checkpoint.conftest import Lines, open_session, running

import headrace.tf1 as tf
from headrace.graph import reset_default_graph
from headrace.tf1 import checkpoint
from headrace.tf1.checkpoint import pause


def refused(error, *words):
    return pytest.raises(error, match=".*".join(words))


# Saving


@pytest.mark.parametrize("call", [checkpoint.save, checkpoint.restore])
def test_only_an_open_session_can_be_saved(call, path):
    with refused(TypeError, "expected a tf.Session"):
        call("session", path)
    session = tf.Session()
    session.close()
    with refused(RuntimeError, "is closed"):
        call(session, path)


def test_save_after_a_stop_is_rejected(lines, session, path):
    with running(session) as coord:
        session.run(lines.line)
        coord.request_stop()
        coord.join()
        with refused(tf.errors.FailedPreconditionError, "closed by a stop", "request_stop"):
            checkpoint.save(session, path)
    assert not path.exists()


def test_save_is_rejected_while_other_threads_run_steps(session, path):
    queue = tf.FIFOQueue(1, [tf.int32], [[]], name="numbers")
    enqueue, dequeue = queue.enqueue_many([[1, 2]]), queue.dequeue_many(2)
    call = Call(lambda: session.run(enqueue))
    wait_until(lambda: session.queue_statistics(queue).num_waiting_enqueues == 1)
    with refused(tf.errors.FailedPreconditionError, "numbers", "is in use"):
        checkpoint.save(session, path)
    assert session.run(dequeue).tolist() == [1, 2]
    call.result()


class OwnLoop(tf.train.QueueRunner):
    def _run(self, sess, enqueue_op, coord=None):
        while not coord.should_stop():
            sess.run(enqueue_op)


class OtherCoordinator:
    """A coordinator that is not headrace's own."""

    def __init__(self):
        self._stop = threading.Event()

    def should_stop(self):
        return self._stop.is_set()

    def request_stop(self, error=None):
        self._stop.set()

    def wait_for_stop(self):
        self._stop.wait()

    def register_thread(self, thread):
        pass


@pytest.mark.parametrize(
    ("kind", "make_coord"),
    [(OwnLoop, tf.train.Coordinator), (tf.train.QueueRunner, OtherCoordinator)],
)
def test_error_names_a_runner_that_cannot_pause(session, path, kind, make_coord):
    queue = tf.FIFOQueue(9, [tf.int32], [[]], name="numbers")
    runner, coord = kind(queue, [queue.enqueue([1])]), make_coord()
    threads = runner.create_threads(session, coord, start=True)
    with refused(tf.errors.FailedPreconditionError, "numbers", "cannot be paused"):
        checkpoint.save(session, path)
    coord.request_stop()
    for thread in threads:
        thread.join()


def test_runner_cannot_save_from_its_own_step(session, path):
    errors = []

    def save():
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            checkpoint.save(session, path)
        errors.append(caught.value)
        return np.int64(7)

    value = tf.py_func(save, [], tf.int64)
    value.set_shape([])
    batch = tf.train.batch([value], 1, capacity=1)
    with running(session):
        session.run(batch)
    assert "in another thread" in str(errors[0])


def test_error_names_a_step_that_cannot_finish(session, path, monkeypatch):
    monkeypatch.setattr(pause, "_PATIENCE_SECS", 0.05)
    first, second = (tf.FIFOQueue(3, [tf.int32], [[]], name=name) for name in ("one", "two"))
    fill_both = [queue.enqueue([1]) for queue in (first, second)]
    close = [queue.close() for queue in (first, second)]
    taken = first.dequeue()
    with tf.control_dependencies([taken]):
        other = second.dequeue()
    batch = tf.train.batch([taken, other], 1, name="pairs")
    with running(session):
        session.run(fill_both[0])
        wait_until(lambda: session.queue_statistics(second).num_waiting_dequeues == 1)
        with refused(tf.errors.FailedPreconditionError, "pairs", "in the middle of a step"):
            checkpoint.save(session, path)
        # It has not lost the element.
        session.run(fill_both[1])
        assert session.run(batch) == [1, 1]
        session.run(close)


def test_pipe_cannot_be_saved(session, tmp_path, path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    names = tf.train.string_input_producer([str(pipe)], num_epochs=1)
    _, line = tf.TextLineReader().read(names)
    session.run(tf.local_variables_initializer())
    with running(session), open(os.open(pipe, os.O_RDWR), "w") as file:
        file.write("first\nsecond\n")
        file.flush()
        assert session.run(line) == b"first"
        with refused(tf.errors.FailedPreconditionError, "pipe", "not a regular file"):
            checkpoint.save(session, path)
        assert session.run(line) == b"second"


# Restoring


@pytest.fixture
def saved(lines, path):
    """A checkpoint in the middle of the program, and the values after it."""
    with open_session() as session, running(session):
        session.run([lines.line, lines.count])
        wait_until(lambda: session.run(lines.size) == 3)
        checkpoint.save(session, path)
    return path


def check_unchanged(lines, path, error, *words):
    """Checks that a session in use rejects a file and is unchanged."""
    with open_session() as session:
        session.run([lines.count, lines.queue.enqueue_many([[b"mine", b"mine"]])])
        with refused(error, *words):
            checkpoint.restore(session, path)
        assert session.run([lines.counter, lines.size, lines.line]) == [1, 2, b"mine"]
        assert session.run(lines.reader.num_records_produced()) == 0


def test_restore_is_rejected_while_runners_run(lines, saved, session):
    words = ("runner of queue '", "is running")
    with running(session), refused(tf.errors.FailedPreconditionError, *words):
        checkpoint.restore(session, saved)


def test_missing_file_is_rejected(lines, path):
    check_unchanged(lines, path, tf.errors.NotFoundError, "checkpoint")


def another_graph(path, change):
    """The program, with a change."""
    reset_default_graph()
    capacity = 4 if change == "capacity" else 3
    if change == "before":
        tf.FIFOQueue(1, [tf.int32], [[]], name="extra")
    lines = Lines(path, capacity)
    if change == "extra":
        tf.FIFOQueue(1, [tf.int32], [[]], name="extra")
    if change == "random":
        tf.random_uniform([], seed=8, name="extra")
    return lines


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("capacity", ("'lines' had capacity 3, but now has 4",)),
        ("extra", ("this graph has FIFOQueueV2 'extra', which the checkpoint lacks",)),
        ("random", ("RandomUniform 'extra/RandomUniform'", "which the checkpoint lacks")),
    ],
)
def test_checkpoint_of_a_different_graph_is_rejected(tmp_path, saved, change, words):
    lines = another_graph(tmp_path / "lines.txt", change)
    check_unchanged(lines, saved, tf.errors.InvalidArgumentError, "a different graph", *words)


def make_queue(**changes):
    arguments = {"capacity": 3, "dtypes": [tf.int32], "shapes": [[2]], **changes}
    kind = arguments.pop("kind", tf.FIFOQueue)
    return kind(**arguments, name="q")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtypes": [tf.int64]}, "component_types"),
        ({"shapes": [[3]]}, "shapes"),
        ({"shapes": None}, "shapes"),
        ({"dtypes": [tf.int32] * 2, "shapes": [[2]] * 2}, "component_types"),
        ({"kind": tf.PaddingFIFOQueue}, "had type 'FIFOQueueV2', but now has 'PaddingFIFOQueueV2'"),
        ({"shared_name": "other"}, "shared_name"),
    ],
)
def test_changed_queue_is_rejected(path, changes, words):
    queue = make_queue()
    with open_session() as session:
        session.run(queue.enqueue([[1, 2]]))
        checkpoint.save(session, path)
    reset_default_graph()
    make_queue(**changes)
    with open_session() as session, refused(tf.errors.InvalidArgumentError, "'q'", words):
        checkpoint.restore(session, path)


def test_changed_reader_is_rejected(path):
    tf.TextLineReader(skip_header_lines=1, name="r")
    with open_session() as session:
        checkpoint.save(session, path)
    for make, words in (
        (lambda: tf.TextLineReader(name="r"), "had skip_header_lines 1, but now has 0"),
        (lambda: tf.WholeFileReader(name="r"), "had type"),
        (lambda: tf.TextLineReader(skip_header_lines=1, name="s"), "'r', which this graph lacks"),
    ):
        reset_default_graph()
        make()
        with open_session() as session, refused(tf.errors.InvalidArgumentError, words):
            checkpoint.restore(session, path)


def test_changed_input_file_is_rejected(lines, saved):
    with lines.path.open("a") as file:
        file.write("more\n")
    check_unchanged(
        lines, saved, tf.errors.InvalidArgumentError, "lines.txt: has 395 bytes, but had 390"
    )
    lines.path.unlink()
    check_unchanged(lines, saved, tf.errors.NotFoundError, "lines.txt")


def test_truncated_file_is_rejected(lines, saved, tmp_path):
    data = saved.read_bytes()
    short = tmp_path / "short"
    with open_session() as session:
        for length in range(len(data)):
            short.write_bytes(data[:length])
            with refused(tf.errors.DataLossError, "short"):
                checkpoint.restore(session, short)
    short.write_bytes(data[:-20])
    check_unchanged(lines, short, tf.errors.DataLossError, "short")
    short.write_bytes(data + data)
    check_unchanged(lines, short, tf.errors.DataLossError, "damaged")


@given(position=st.integers(0), byte=st.integers(1, 255))
def test_corrupted_file_is_rejected(lines, saved, tmp_path, position, byte):
    data = bytearray(saved.read_bytes())
    data[position % len(data)] ^= byte
    edited = tmp_path / "edited"
    edited.write_bytes(data)
    with open_session() as session, pytest.raises(tf.errors.DataLossError):
        checkpoint.restore(session, edited)


def rewrite(saved, change):
    """Writes changed records with right checksums, as an attacker would."""
    records = list(tf.python_io.tf_record_iterator(str(saved)))
    change(records)
    with tf.python_io.TFRecordWriter(str(saved)) as writer:
        for record in records:
            writer.write(record)


def with_header(**changes):
    def change(records):
        records[0] = json.dumps({**json.loads(records[0]), **changes}).encode()

    return change


def test_newer_checkpoint_version_is_rejected(lines, saved):
    rewrite(saved, with_header(version=2))
    check_unchanged(
        lines, saved, tf.errors.InvalidArgumentError, "version 2", "up to version 1", "Update"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"version": "1"},
        {"version": None},
        {"format": "another"},
        {"graph": None},
        {"graph": []},
        {"graph": {"lines": 3}},
        {"resources": None},
        {"resources": [["lines"]]},
        {"resources": ["lines", "lines"]},
        {"resources": ["nothing"]},
        {"resources": []},
    ],
)
def test_invalid_header_is_rejected(lines, saved, changes):
    rewrite(saved, with_header(**changes))
    check_unchanged(lines, saved, tf.errors.DataLossError, "checkpoint")


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"\xff", b"[" * 100_000, b"1" * 10_000, b'{"format": NaN}']
)
def test_record_file_without_a_checkpoint_header_is_rejected(lines, saved, header):
    rewrite(saved, lambda records: records.__setitem__(0, header))
    check_unchanged(lines, saved, tf.errors.DataLossError, "not the checkpoint of a session")


def test_text_file_is_rejected(lines, path):
    path.write_text("epoch 3\n" * 100)
    check_unchanged(lines, path, tf.errors.DataLossError, "checkpoint")


@given(data=st.data())
def test_arbitrary_records_do_not_corrupt_the_session(lines, saved, tmp_path, data):
    """Records with any contents are rejected, or the session restores them and continues."""
    records = list(tf.python_io.tf_record_iterator(str(saved)))
    index = data.draw(st.integers(1, len(records) - 1))
    junk = st.binary(max_size=30)
    record = records[index]
    cut = data.draw(st.integers(0, len(record)))
    records[index] = data.draw(st.sampled_from([record[:cut], record[cut:]])) + data.draw(junk)
    edited = tmp_path / "edited"
    with tf.python_io.TFRecordWriter(str(edited)) as writer:
        for one in records:
            writer.write(one)
    with open_session() as session:
        try:
            checkpoint.restore(session, edited)
        except tf.errors.OpError:
            assert session.run([lines.counter, lines.size]) == [0, 0]
