"""`dump_waits` describes the waits of queues, sessions and runners."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.calls import TIMEOUT, Call, wait_until
from tests.io.storage.server import Server, stalls

import headrace.tf1 as tf
from headrace.core import errors
from headrace.testing import dump_waits, dump_waits_on_signal
from headrace.tf1.queues import FIFOQueue, RandomShuffleQueue

TOP = Path(__file__).parents[2]
SECONDS = r"\d+\.\d s"


def fifo(capacity=4, num_elements=0, name="examples"):
    queue = FIFOQueue(capacity, "int64", shapes=(), name=name)
    queue.enqueue_many([list(range(num_elements))])
    return queue


class TestQueues:
    """Without a graph."""

    @pytest.mark.parametrize(
        ("num_elements", "call", "words"),
        [
            (0, lambda q: q.dequeue(), "elements: it has 0 of 1; the queue has 0 of at most 4"),
            (3, lambda q: q.dequeue_many(32), "elements: it has 3 of 32; the queue has 0 of at"),
            (1, lambda q: q.dequeue_up_to(9), "elements: it has 1 of 9; the queue has 0 of at"),
            (4, lambda q: q.enqueue(1), "room: it has added 0 of 1 elements; the queue has 4 of"),
            (2, lambda q: q.enqueue_many([[1] * 9]), "room: it has added 2 of 9 elements"),
        ],
        ids=["dequeue", "dequeue_many", "dequeue_up_to", "enqueue", "enqueue_many"],
    )
    def test_queue_call_shows_its_progress(self, wait_for_dump, num_elements, call, words):
        queue = fifo(num_elements=num_elements)
        waiting = Call(lambda: call(queue))
        text = wait_for_dump(f"^   waits for queue 'examples': {words}")
        assert re.search(f"it is open, nobody waits to (en|de)queue, for {SECONDS}", text)
        queue.close(cancel_pending_enqueues=True)
        with contextlib.suppress(errors.OpError):
            waiting.result()
        assert not re.search("^   waits for queue", dump_waits(write=False), re.MULTILINE)

    def test_close_is_shown_as_waiting_for_enqueues(self, wait_for_dump):
        queue = fifo(num_elements=4)
        enqueue = Call(lambda: queue.enqueue(5))
        wait_until(lambda: queue.stats.num_waiting_enqueues == 1)
        close = Call(queue.close)
        wait_for_dump("queue 'examples': earlier enqueues; .* 1 others are ahead of it")
        queue.dequeue()
        enqueue.result()
        close.result()

    def test_elements_kept_by_a_shuffle_queue_are_counted(self, wait_for_dump):
        queue = RandomShuffleQueue(9, 4, "int64", shapes=(), name="shuffled")
        queue.enqueue_many([[1, 2, 3]])
        waiting = Call(queue.dequeue)
        wait_for_dump(
            "queue 'shuffled': elements: it has 0 of 1; the queue has 3 of at most 9 and keeps 4"
        )
        queue.close()
        assert waiting.result() in (1, 2, 3)


class TestSessions:
    def test_run_shows_its_operation_and_the_reason(self, wait_for_dump):
        batch = tf.train.batch([tf.constant(1)], 4)
        with tf.Session() as sess:
            waiting = Call(lambda: sess.run(batch))
            text = wait_for_dump(r"waits for queue 'batch/fifo_queue' \(operation 'batch'\), but")
            assert "its runner was never started in this session" in text
            assert "elements: it has 0 of 4" in text
            assert re.search(
                r"queue 'batch/fifo_queue': 0 of 32 elements, open, 0 enqueues and 1 dequeues "
                "are waiting; of its runner, it has no threads",
                text,
            )
        with pytest.raises(errors.CancelledError):
            waiting.result()

    def test_reader_waiting_for_a_file_name_is_shown(self, wait_for_dump):
        names = tf.FIFOQueue(3, [tf.string], [()], name="names")
        key, _ = tf.TextLineReader(name="lines").read(names)
        with tf.Session() as sess:
            calls = [Call(lambda: sess.run(key)) for _ in range(2)]
            wait_for_dump("^   waits for .*TextLineReader 'lines', which another call reads from")
            wait_for_dump("^   waits for .*a file name: queue '.*names': elements: it has 0 of 1")
        for call in calls:
            with pytest.raises(errors.CancelledError):
                call.result()

    def test_runners_and_a_coordinator_are_shown(self, wait_for_dump):
        tf.train.batch([tf.constant(1)], 4, capacity=8)
        coord = tf.train.Coordinator()
        with tf.Session() as sess:
            threads = tf.train.start_queue_runners(sess, coord)
            join = Call(lambda: coord.join(threads))
            text = wait_for_dump(
                r"a coordinator's threads to end \(no stop was requested\): 'Queue"
            )
            assert "-close_on_stop'" in text
            wait_for_dump(
                "-- thread 'QueueRunnerThread-batch/fifo_queue-.*\n   waits for room in queue"
            )
            coord.request_stop()
            join.result()

    def test_wait_for_a_stop_is_shown(self, wait_for_dump):
        coord = tf.train.Coordinator()
        waiting = Call(coord.wait_for_stop)
        wait_for_dump(
            f"waits for a coordinator to stop \\(nobody has requested it\\), for {SECONDS}"
        )
        coord.request_stop()
        assert waiting.result()


class TestStorages:
    @pytest.fixture
    def server(self):
        with Server() as server:
            yield server

    def test_opening_a_remote_file_is_shown(self, wait_for_dump, server):
        goes_on = threading.Event()
        server.files["a"] = b"line\n"
        server.faults = [stalls(goes_on)]
        reading = Call(lambda: tf.gfile.GFile(f"{server.url}/a").read())
        try:
            wait_for_dump(f"waits for storage: opening {server.url}/a")
        finally:
            goes_on.set()
        assert reading.result() == "line\n"


class TestSignals:
    def test_signal_dumps_waits_while_the_main_thread_waits(self, monkeypatch):
        before = signal.getsignal(signal.SIGUSR1)
        dump_waits_on_signal()
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        queue = fifo()

        def send():
            wait_until(lambda: queue.stats.num_waiting_dequeues == 1)
            while not re.search("^   waits for queue 'ex.* 0 of 1;", sys.stderr.getvalue(), re.M):
                os.kill(os.getpid(), signal.SIGUSR1)
                threading.Event().wait(0.05)
            queue.enqueue(1)

        try:
            sending = Call(send)
            assert queue.dequeue(timeout=TIMEOUT) == 1
            sending.result()
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_timed_out_test_shows_the_awaited_queue(self, tmp_path):
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "test_hangs.py").write_text(
            "from headrace.tf1.queues import FIFOQueue\n"
            "def test_hangs():\n"
            "    FIFOQueue(1, 'int64', shapes=(), name='forgotten').dequeue()\n"
        )
        for method in ("signal", "thread"):
            options = ("-p", "tests.stalls", "-p", "no:cacheprovider", "--timeout", "1")
            command = [sys.executable, "-m", "pytest", *options, "--timeout-method", method]
            command += ["-c", str(tmp_path / "pytest.ini"), str(tmp_path / "test_hangs.py")]
            done = subprocess.run(
                command, cwd=TOP, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
            assert done.returncode == 1
            output = done.stdout + done.stderr
            assert "waits for queue 'forgotten': elements: it has 0 of 1" in output
