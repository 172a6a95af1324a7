"""Ctrl-C and the end of the program, while calls are blocked."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.tf1.queues import FIFOQueue

TIMEOUT = 30.0

START = """
import json, sys, threading, time
from headrace.tf1.queues import FIFOQueue

def say(**what):
    print(json.dumps(what), flush=True)

def when_blocked(queue, num_calls, then):
    def watch():
        while queue.stats.num_waiting_enqueues + queue.stats.num_waiting_dequeues < num_calls:
            time.sleep(0.001)
        then()
    threading.Thread(target=watch, daemon=True).start()
"""

INTERRUPTED = """
queue = FIFOQueue(3, "int64", shapes=(), name="numbers")
{before}
num_before = queue.stats.num_waiting_enqueues
when_blocked(queue, num_before + 1, lambda: say(is_blocked=True))
try:
    {call}
except KeyboardInterrupt as error:
    say(notes=getattr(error, "__notes__", []))
{after}
queue.close(cancel_pending_enqueues=True)
say(left=[int(element) for element in queue])
"""

FULL = "queue.enqueue_many([[0, 1, 2]])"
BACK = "3 of 5 elements, which are back in the queue"
CALLS = {
    "enqueue": (FULL, "queue.enqueue(3)", None, [0, 1, 2]),
    "enqueue_many": (
        "queue.enqueue(0)",
        "queue.enqueue_many([[1, 2, 3, 4]])",
        "queue 'numbers': enqueue_many had added 2 of 4 elements, which stay",
        [0, 1, 2],
    ),
    "dequeue": ("", "queue.dequeue()", None, []),
    "dequeue_many": (
        FULL,
        "queue.dequeue_many(5)",
        f"queue 'numbers': dequeue_many had taken {BACK}",
        [0, 1, 2],
    ),
    "dequeue_up_to": (
        FULL,
        "queue.dequeue_up_to(5, timeout=1000)",
        f"queue 'numbers': dequeue_up_to had taken {BACK}",
        [0, 1, 2],
    ),
    "iteration": (FULL, "list(queue)", None, []),
    "batches": (
        FULL,
        "list(queue.batches(5))",
        f"queue 'numbers': dequeue_up_to had taken {BACK}",
        [0, 1, 2],
    ),
    "close": (
        f"{FULL}; thread = threading.Thread(target=lambda: queue.enqueue(3)); thread.start()\n"
        "while not queue.stats.num_waiting_enqueues: time.sleep(0.001)",
        "queue.close()",
        None,
        [0, 1, 2, 3],
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_blocked_call_and_loses_nothing(call):
    before, text, note, left = CALLS[call]
    after = "assert queue.dequeue() == 0; thread.join()" if call == "close" else ""
    code = START + INTERRUPTED.format(before=before, call=text, after=after)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert json.loads(process.stdout.readline()) == {"is_blocked": True}
        process.send_signal(signal.SIGINT)
        interrupted = json.loads(process.stdout.readline())
        rest, errors = process.stdout.read(), process.stderr.read()
        process.wait(TIMEOUT)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert interrupted == {"notes": [note] if note else []}
    assert json.loads(rest) == {"left": left[1:] if call == "close" else left}


EXITING = """
import headrace.tf1 as tf

def ignore_errors(function):
    def run():
        try:
            function()
        except Exception:
            pass
    return run

full, empty = FIFOQueue(1, "int64", shapes=()), FIFOQueue(1, "int64", shapes=())
full.enqueue(0)
calls = [lambda: full.enqueue(1), lambda: full.enqueue_many([[1, 2]]), lambda: full.close(),
         empty.dequeue, lambda: empty.dequeue_many(2, timeout=1000), lambda: list(empty)]
for call in calls:
    threading.Thread(target=ignore_errors(call), daemon=True).start()

value = tf.constant(1)
small = tf.FIFOQueue(1, tf.int32, shapes=())
tf.train.add_queue_runner(tf.train.QueueRunner(small, [small.enqueue(value)] * 2))
slow = tf.FIFOQueue(1, tf.int32, shapes=())
doubled = tf.py_func(lambda x: x * 2, [value], tf.int32)
doubled.set_shape([])
tf.train.add_queue_runner(tf.train.QueueRunner(slow, [slow.enqueue(doubled)] * 2))
never = tf.FIFOQueue(1, tf.int32, shapes=())
session = tf.Session()
tf.train.start_queue_runners(session, daemon=True)
threading.Thread(target=ignore_errors(lambda: session.run(never.dequeue())), daemon=True).start()

def num_waiting(stats):
    return stats.num_waiting_enqueues + stats.num_waiting_dequeues

waiting = {full: 3, empty: 3, small: 2, slow: 2, never: 1}
for queue, count in waiting.items():
    while num_waiting(queue.stats if isinstance(queue, FIFOQueue)
                      else session.queue_statistics(queue)) < count:
        time.sleep(0.001)
say(is_blocked=True)
"""


def test_program_exits_while_daemon_threads_are_blocked(is_nightly):
    for _ in range(10 if is_nightly else 1):
        check_exit()


def check_exit():
    done = subprocess.run(
        [sys.executable, "-c", START + EXITING],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"is_blocked": True}


@pytest.mark.parametrize("timeout", [10**22, 10**400, float("inf"), 1e300])
def test_timeout_far_in_the_future_means_no_timeout(timeout):
    queue = FIFOQueue(1, "int64", shapes=())
    queue.enqueue(1, timeout=timeout)
    assert queue.dequeue(timeout=timeout) == 1
    with ThreadPoolExecutor() as pool:
        call = pool.submit(queue.dequeue, timeout=timeout)
        while not queue.stats.num_waiting_dequeues:
            time.sleep(0.001)
        queue.enqueue(2)
        assert call.result(TIMEOUT) == 2


@pytest.mark.parametrize("timeout", [-1, -(10**400), float("nan"), float("-inf")])
def test_invalid_timeout_is_rejected(timeout):
    queue = FIFOQueue(1, "int64", shapes=(), name="q")
    words = "queue 'q': timeout is .*, expected None or seconds from 0 up. Pass None to wait"
    for call in (lambda: queue.enqueue(1, timeout=timeout), lambda: queue.dequeue(timeout)):
        with pytest.raises(ValueError, match=words):
            call()
