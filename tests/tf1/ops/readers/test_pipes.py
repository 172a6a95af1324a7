"""Readers of pipes wait for the writer until the run ends."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.calls import wait_until

import headrace.tf1 as tf

TIMEOUT = 20.0

KINDS = {
    "text": tf.TextLineReader,
    "records": tf.TFRecordReader,
    "compressed": lambda: tf.TFRecordReader(
        options=tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    ),
    "fixed": lambda: tf.FixedLengthRecordReader(record_bytes=2, header_bytes=1),
    "whole": tf.WholeFileReader,
    "read_file": None,
}


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return str(path)


@pytest.fixture
def in_thread():
    """Calls functions in threads, and returns a future for each."""
    with ThreadPoolExecutor() as pool:
        yield pool.submit


def read(session, path, make_reader):
    """Returns the operation that reads a record, and whether the file's name was dequeued."""
    if make_reader is None:
        return tf.read_file(path), lambda: True
    names = tf.FIFOQueue(3, [tf.string], [()])
    session.run(names.enqueue(path))
    value = make_reader().read(names)[1]
    return value, lambda: session.queue_statistics(names).num_dequeued == 1


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


class TestEnds:
    """Nobody writes to the pipe."""

    def test_closing_the_session_ends_a_read(self, pipe, kind, in_thread):
        session = tf.Session()
        value, has_begun = read(session, pipe, kind)
        call = in_thread(lambda: session.run(value))
        wait_until(has_begun)
        session.close()
        with pytest.raises((tf.errors.CancelledError, RuntimeError)) as caught:
            call.result(TIMEOUT)
        # A run of `read_file` may not have begun when the session is closed.
        assert kind is None or isinstance(caught.value, tf.errors.CancelledError)

    def test_timeout_ends_a_read(self, pipe, kind):
        with tf.Session() as session:
            value, _ = read(session, pipe, kind)
            with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
                session.run(value, options=tf.RunOptions(timeout_in_ms=100))

    def test_closing_the_session_stops_a_queue_runner(self, pipe):
        names = tf.train.string_input_producer([pipe])
        queue = tf.FIFOQueue(9, [tf.string], [()])
        enqueue = queue.enqueue(tf.TextLineReader().read(names)[1])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
        coord = tf.train.Coordinator()
        with tf.Session() as session:
            threads = tf.train.start_queue_runners(session, coord)
            wait_until(lambda: session.queue_statistics(names).num_dequeued == 1)
            coord.request_stop()
        coord.join(threads, stop_grace_period_secs=TIMEOUT)

    @pytest.mark.parametrize("what", ["session.run(value)", "next(tf.io.tf_record_iterator(path))"])
    def test_ctrl_c_ends_a_read(self, pipe, what):
        code = f"""
import signal, sys
import headrace.tf1 as tf

path, session = sys.argv[1], tf.Session()
names = tf.FIFOQueue(3, [tf.string], [()])
session.run(names.enqueue(path))
value = tf.TFRecordReader().read(names)[1]
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    {what}
except KeyboardInterrupt:
    print("interrupted")
"""
        done = subprocess.run(
            [sys.executable, "-c", code, pipe],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


class TestWriters:
    def test_lines_arrive_as_they_are_written(self, pipe, in_thread):
        with tf.Session() as session:
            value, _ = read(session, pipe, tf.TextLineReader)
            first = in_thread(lambda: session.run(value))
            with open(pipe, "w") as writer:
                for number in range(5):
                    print(number, file=writer, flush=True)
                    line = first.result(TIMEOUT) if number == 0 else session.run(value)
                    assert line == b"%d" % number
                second = in_thread(lambda: session.run(value))
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(value, options=tf.RunOptions(timeout_in_ms=50))
            session.close()
            with pytest.raises(tf.errors.CancelledError):
                second.result(TIMEOUT)

    def test_large_record_is_read_completely(self, pipe, tmp_path, in_thread):
        path, record = tmp_path / "a.tfrecord", os.urandom(3 << 20)
        with tf.python_io.TFRecordWriter(str(path)) as writer:
            for _ in range(3):
                writer.write(record)
        content = path.read_bytes()
        with tf.Session() as session:
            value, _ = read(session, pipe, tf.TFRecordReader)
            writing = in_thread(lambda: Path(pipe).write_bytes(content))
            for _ in range(3):
                assert session.run(value) == record
            writing.result(TIMEOUT)

    def test_pipe_closed_without_data_is_empty(self, pipe, in_thread):
        with tf.Session() as session:
            call = in_thread(lambda: session.run(tf.read_file(pipe)))
            open(pipe, "wb").close()
            assert call.result(TIMEOUT) == b""

    def test_output_of_another_program_is_read(self):
        """As `<(program)` in a shell: the writer may have ended before the pipe is opened."""
        reader, writer = os.pipe()
        try:
            os.write(writer, b"all of it\n")
            os.close(writer)
            with tf.Session() as session:
                value, _ = read(session, f"/dev/fd/{reader}", tf.TextLineReader)
                assert session.run(value) == b"all of it"
        finally:
            os.close(reader)

    def test_timed_out_run_loses_nothing(self, pipe):
        """Between two records. The reader continues at the same position."""
        late = tf.RunOptions(timeout_in_ms=50)
        with tf.Session() as session, open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as writer:
            value, _ = read(session, pipe, tf.TextLineReader)
            for number in range(3):
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(value, options=late)
                writer.write(b"%d\n" % number)
                assert session.run(value) == b"%d" % number

    def test_run_that_times_out_within_a_record_causes_a_later_error(self, pipe):
        late = tf.RunOptions(timeout_in_ms=50)
        with tf.Session() as session, open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as writer:
            value, _ = read(session, pipe, tf.TextLineReader)
            writer.write(b"first\nsec")
            assert session.run(value) == b"first"
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(value, options=late)
            writer.write(b"ond\n")
            words = r"/pipe: a cancelled wait left record 1 incomplete.*Reset the reader\."
            with pytest.raises(tf.errors.DataLossError, match=words):
                session.run(value)


def test_harmless_signal_handler_ends_no_wait(pipe, in_thread):
    """The main thread reads, and the signal arrives while it waits."""
    seen = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.set())
    try:
        with tf.Session() as session:
            value, has_begun = read(session, pipe, tf.TextLineReader)

            def write():
                wait_until(has_begun)
                os.kill(os.getpid(), signal.SIGUSR1)
                assert seen.wait(TIMEOUT)
                with open(pipe, "w") as writer:
                    writer.write("line\n")

            writing = in_thread(write)
            assert session.run(value) == b"line"
            writing.result(TIMEOUT)
    finally:
        signal.signal(signal.SIGUSR1, before)
