"""The contents of a session's checkpoint, and sessions restored from it."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.calls import wait_until
from tests.tf1.checkpoint.conftest import open_session, running

import headrace.tf1 as tf
from headrace.tf1 import checkpoint


def test_stopped_session_continues_where_it_was_saved(lines, session, path):
    with running(session):
        before = [session.run(lines.line) for _ in range(5)]
        checkpoint.save(session, path)
    # The stop has closed the queues.
    checkpoint.restore(session, path)
    with running(session):
        after = read_to_end(session, lines.line)
    assert sorted(before + after) == sorted(2 * [b"line %d" % number for number in range(50)])


def read_to_end(session, fetches):
    values = []
    try:
        while True:
            values.append(session.run(fetches))
    except tf.errors.OutOfRangeError:
        return values


def test_everything_is_restored_together(lines, session, path, take):
    take([lines.noise, lines.count], 3)
    checkpoint.save(session, path)
    expected = take([lines.noise, lines.count], 3)
    with tf.Session() as other:
        other.run(lines.noise)
        checkpoint.restore(other, path)
        assert [other.run([lines.noise, lines.count]) for _ in range(3)] == expected
        # No initializer has run.
        assert other.run(tf.local_variables()) == [0]


def test_unused_generator_is_restored_as_new(lines, session, path, take):
    checkpoint.save(session, path)
    first = take(lines.noise, 2)
    checkpoint.restore(session, path)
    assert take(lines.noise, 2) == first


def test_uninitialized_variable_is_restored_as_uninitialized(path):
    variable = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        with tf.Session() as other:
            other.run(tf.is_variable_initialized(variable))
            checkpoint.save(other, path)
        checkpoint.restore(session, path)
        assert not session.run(tf.is_variable_initialized(variable))


def test_random_generator_without_a_seed_continues(path):
    noise = tf.random_normal([3])
    with open_session() as session:
        session.run(noise)
        checkpoint.save(session, path)
        expected = session.run(noise)
    with open_session() as session:
        checkpoint.restore(session, path)
        np.testing.assert_array_equal(session.run(noise), expected)


def test_queues_with_the_same_shared_name_are_saved_once(path):
    first, second = (tf.FIFOQueue(9, [tf.int32], [[]], shared_name="both") for _ in range(2))
    with open_session() as session:
        session.run(second.enqueue_many([[1, 2]]))
        session.run(first.enqueue_many([[3]]))
        checkpoint.save(session, path)
    with open_session() as session:
        session.run(first.enqueue_many([[4, 5]]))
        checkpoint.restore(session, path)
        assert session.run(first.size()) == 3
        assert session.run([second.dequeue_many(3)])[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "value",
    [
        np.float32([[1.5, np.nan]]),
        np.array([b"", b"a\0b", "ä".encode()], object),
        np.array(True),
        np.array([2 + 3j]),
        np.float16([0.1]),
        np.uint64([2**64 - 1]),
        np.zeros([0, 3], np.int8),
    ],
)
def test_values_of_every_kind_are_kept(path, value):
    variable = tf.Variable(value)
    queue = tf.FIFOQueue(2, [variable.dtype.base_dtype])
    enqueue, dequeue = queue.enqueue([variable]), queue.dequeue()
    with open_session() as session:
        session.run(enqueue)
        checkpoint.save(session, path)
    with tf.Session() as session:
        checkpoint.restore(session, path)
        for restored in session.run([variable, dequeue]):
            assert np.asarray(restored).dtype == value.dtype
            np.testing.assert_array_equal(restored, value)


def test_any_kind_of_path_is_accepted(lines, session, path):
    for kind in (str, os.fsencode, lambda path: path):
        checkpoint.save(session, kind(path))
        checkpoint.restore(session, kind(path))


def test_many_threads_yield_each_example_once(tmp_path, path):
    """They share the order by timing, so only the examples are compared."""
    names = [str(tmp_path / f"{part}.txt") for part in range(6)]
    for part, name in enumerate(names):
        with open(name, "w") as file:
            file.writelines(f"{part} {line}\n" for line in range(30))
    queue = tf.train.string_input_producer(names, num_epochs=2, capacity=2)
    lines = [tf.TextLineReader().read(queue)[1] for _ in range(3)]
    batch = tf.train.shuffle_batch_join([[line] for line in lines], 4, 30, 10)
    taken = []
    with open_session() as session, running(session):
        for _ in range(6):
            taken += [line for _ in range(7) for line in session.run(batch)]
            checkpoint.save(session, path)
    with open_session() as session:
        checkpoint.restore(session, path)
        with running(session):
            taken += [line for lines in read_to_end(session, batch) for line in lines]
    expected = sorted(2 * [b"%d %d" % (part, line) for part in range(6) for line in range(30)])
    assert sorted(taken) == expected


def test_runners_continue_after_a_checkpoint(lines, session, path):
    with running(session):
        for _ in range(20):
            checkpoint.save(session, path)
        wait_until(lambda: session.queue_statistics(lines.queue).num_waiting_enqueues == 1)
        # Saving does not let a runner continue.
        assert session.run(lines.reader.num_records_produced()) == 4
        assert len(read_to_end(session, lines.line)) == 100


def test_end_of_the_input_is_saved(lines, session, path):
    with running(session):
        assert len(read_to_end(session, lines.line)) == 100
        checkpoint.save(session, path)
    checkpoint.save(session, path)
    with open_session() as other:
        checkpoint.restore(other, path)
        with running(other):
            assert read_to_end(other, lines.line) == []


def test_closed_queue_keeps_its_elements(path):
    queue = tf.FIFOQueue(5, [tf.int32], [[]])
    dequeue = queue.dequeue()
    with open_session() as session:
        session.run(queue.enqueue_many([[1, 2, 3]]))
        session.run(queue.close())
        checkpoint.save(session, path)
    with open_session() as session:
        checkpoint.restore(session, path)
        assert read_to_end(session, dequeue) == [1, 2, 3]
        with pytest.raises(tf.errors.CancelledError):
            session.run(queue.enqueue([4]))


KILLED = """
    import os, signal, sys
    import headrace.tf1 as tf
    from headrace.io import atomic_file
    from headrace.tf1 import checkpoint

    queue = tf.FIFOQueue(9, [tf.string], [[]])
    value = tf.placeholder(tf.string, [])
    enqueue = queue.enqueue([value])
    path, num_writes = sys.argv[1], int(sys.argv[2])
    with tf.Session() as session:
        session.run(enqueue, {value: b"old"})
        checkpoint.save(session, path)
        for _ in range(5):
            session.run(enqueue, {value: b"new" * 1_000_000})
        write, count = atomic_file.AtomicFile.write, 0

        def write_and_die(file, data):
            global count
            count += 1
            if count > num_writes:
                os.kill(os.getpid(), signal.SIGKILL)
            return write(file, data)

        atomic_file.AtomicFile.write = write_and_die
        checkpoint.save(session, path)
"""


@pytest.mark.parametrize("num_writes", [0, 1, 8, 14])
def test_kill_during_a_save_leaves_the_old_checkpoint(path, num_writes):
    program = [sys.executable, "-c", textwrap.dedent(KILLED), str(path), str(num_writes)]
    done = subprocess.run(program, timeout=60, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    dequeue = tf.FIFOQueue(9, [tf.string], [[]]).dequeue()
    with tf.Session() as session:
        checkpoint.restore(session, path)
        assert session.run(dequeue) == b"old"


def test_failed_save_leaves_the_session_unchanged(lines, session, tmp_path):
    with running(session):
        session.run(lines.line)
        with pytest.raises(tf.errors.NotFoundError):
            checkpoint.save(session, tmp_path / "nowhere" / "checkpoint")
        assert len(read_to_end(session, lines.line)) == 99


def test_checkpoint_is_a_record_file(lines, session, path):
    checkpoint.save(session, path)
    records = list(tf.python_io.tf_record_iterator(str(path)))
    assert b'"version": 1' in records[0]
    assert records[-1] == b"end"
