"""Signals that arrive while a file is read: no record is lost, repeated or changed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.tf1.ops.readers.reading import COMPRESS, KINDS, TIMEOUT

import headrace.tf1 as tf

RECORDS = [b"%04d" % (number * 7919 % 10_000) for number in range(4000)]


@pytest.fixture
def count_signals():
    """Counts the signals that reach Python, which is after the call they have interrupted."""
    arrived = []
    before = signal.signal(signal.SIGUSR1, lambda *_: arrived.append(time.monotonic()))
    signal.siginterrupt(signal.SIGUSR1, True)
    yield arrived
    signal.signal(signal.SIGUSR1, before)


def is_asleep(thread: int) -> bool:
    """Returns whether a thread of this process waits in the system."""
    text = Path(f"/proc/self/task/{thread}/stat").read_text()
    return text.rpartition(")")[2].split()[0] == "S"


def feed(path: Path, data: bytes, num_pieces: int, reader: threading.Thread) -> int:
    """Writes to a pipe in pieces, and interrupts the reader while it waits for each of them."""
    num_signals = 0
    size = max(1, len(data) // num_pieces)
    with open(path, "wb", buffering=0) as pipe:
        for start in range(0, len(data), size):
            deadline = time.monotonic() + TIMEOUT
            while not is_asleep(reader.native_id) and time.monotonic() < deadline:
                os.sched_yield()
            signal.pthread_kill(reader.ident, signal.SIGUSR1)
            num_signals += 1
            pipe.write(data[start : start + size])
    return num_signals


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.write is not None],
    ids=[kind.name for kind in KINDS if kind.write is not None],
)
def test_signals_do_not_interrupt_reading_a_pipe(kind, tmp_path, reading, count_signals):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    sent = []
    arguments = (path, kind.write(RECORDS), 60, threading.main_thread())
    writer = threading.Thread(target=lambda: sent.append(feed(*arguments)), daemon=True)
    one = reading(kind.make, [path])
    writer.start()
    # Signals arrive in the main thread, which is this one.
    assert one.read_all() == kind.expected(bytes(path), RECORDS)
    writer.join(TIMEOUT)
    assert sent[0] >= 30
    assert count_signals


def test_signals_do_not_interrupt_reading_compressed_data_or_read_file(tmp_path, count_signals):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = b"".join(RECORDS)
    arguments = (path, COMPRESS["GZIP"](text), 60, threading.main_thread())
    writer = threading.Thread(target=feed, args=arguments, daemon=True)
    contents = tf.decode_compressed(tf.read_file(str(path)), "GZIP")
    with tf.Session() as session:
        writer.start()
        assert session.run(contents) == text
    writer.join(TIMEOUT)
    assert count_signals
