"""Every call that waits has a row in docs/reference/waits.md, and each row has tests.

Ctrl-C is tested here, for all of them. Other ends of waits are mostly tested with their code, as
listed in the table.
"""

import ast
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from tests.calls import TIMEOUT, wait_until
from tests.io.storage.server import Server, stalls
from tests.tiers import nightly_after

import headrace.tf1 as tf

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs/reference/waits.md"

EAGER = "tf1/queues/test_eager_contract.py"
BLOCKING = "tf1/session/test_blocking.py"
RUNNERS = "tf1/session/test_runners.py"
SESSION_WAITS = "tf1/session/test_waits.py"
BARRIER = "tf1/ops/queues/test_barrier.py"
STAGING = "tf1/ops/queues/test_staging.py"
COORDINATOR = "tf1/test_coordinator.py"
STUCK = "pipeline/run/threads/test_watchdog.py"
ITERATING = "pipeline/run/test_batches.py"
DUMP = "testing/test_waits.py"
DUMP_OF_TF1 = "tf1/test_dump_waits.py"
FAULTS = "io/storage/test_faults.py"

# For each row of the page, by its first cell: the tests of the end and the report of the call.
# Ctrl-C has the cases below, by the words before the colon.
ROWS = {
    "`next(batches)`, a loop over a pipeline": [
        (ITERATING, "test_interrupt_ends_a_wait"),
        (FAULTS, "test_stalled_body_is_logged_and_close_does_not_wait_for_it"),
        (STUCK, "test_warning_names_a_pipe_without_a_writer"),
        (DUMP, "test_hanging_function_is_shown_with_its_example"),
        (DUMP, "test_hanging_read_is_shown_with_its_offset"),
    ],
    "`batches.close()`, the end of a `with` block": [
        (STUCK, "test_warning_names_a_hanging_function_and_its_record"),
        (STUCK, "test_no_call_starts_after_close"),
        (ITERATING, "test_interrupt_ends_the_wait_for_a_slow_worker"),
        (DUMP, "test_closing_an_iteration_waits_for_its_threads"),
    ],
    "A Python function, or an iterator of `iterable`": [
        (STUCK, "test_warning_names_a_hanging_function_and_its_record"),
        (STUCK, "test_warning_names_a_hanging_iterator"),
        (DUMP, "test_hanging_function_is_shown_with_its_example"),
    ],
    "`journal`": [
        ("pipeline/sources/test_journal.py", "test_warning_names_the_open_writers"),
        ("pipeline/sources/test_journal.py", "test_close_ends_a_wait_at_once"),
        ("pipeline/sources/test_journal.py", "test_ctrl_c_ends_a_wait"),
        (
            "pipeline/sources/test_journal.py",
            "test_writer_whose_process_is_gone_counts_as_closed",
        ),
    ],
    "`pipe.spec`, `iter(pipe)`": [
        ("tf1/test_waits.py", "test_ctrl_c_ends_a_reported_wait"),
    ],
    "`to_torch`, `to_jax`, `to_mlx`, `to_grain`, `to_arrow`": [
        ("pipeline/outputs/test_outputs.py", "test_leaving_the_loop_stops_the_threads"),
        ("pipeline/outputs/test_outputs.py", "test_leaving_an_arrow_reader_stops_the_threads"),
    ],
    "`tf_record_iterator`": [
        ("tf1/ops/readers/test_pipes.py", "test_ctrl_c_ends_a_read"),
    ],
    "A writer whose file is a pipe": [
        ("tf1/test_waits.py", "test_ctrl_c_ends_a_write_into_a_full_pipe"),
    ],
    "The end of the program": [
        ("tf1/test_exit.py", "test_program_exits_with_the_expected_status"),
        (ITERATING, "test_program_can_exit_while_iterating"),
        (
            "tf1/queues/test_eager_interrupt.py",
            "test_program_exits_while_daemon_threads_are_blocked",
        ),
    ],
    "Commands that only read: `inspect`, `verify`, `index`, `bench`": [
        ("cli/test_terminals.py", "test_ctrl_c_ends_a_command_at_once"),
    ],
    "`headrace convert`": [
        ("cli/test_convert_killed.py", "test_signal_ends_a_conversion_cleanly_and_it_can_continue"),
        ("cli/test_convert_killed.py", "test_second_run_is_rejected_while_the_first_one_writes"),
    ],
    "`headrace demo`": [
        ("cli/test_demo.py", "test_interrupt_ends_the_demo_cleanly"),
    ],
    "`queue.enqueue`, `enqueue_many`": [
        (EAGER, "test_enqueue_waits_for_room"),
        (EAGER, "test_enqueue_timeout_reports_the_missing_room"),
        (EAGER, "test_cancelling_close_wakes_enqueues_and_keeps_their_added_elements"),
        ("tf1/queues/test_eager_interrupt.py", "test_ctrl_c_ends_a_blocked_call_and_loses_nothing"),
        (DUMP_OF_TF1, "test_queue_call_shows_its_progress"),
    ],
    "`queue.dequeue`, `dequeue_many`, `dequeue_up_to`, a loop over the queue": [
        (EAGER, "test_dequeue_waits_for_an_element"),
        (EAGER, "test_dequeue_timeout_reports_the_missing_elements"),
        (EAGER, "test_close_wakes_waiting_dequeues"),
        ("tf1/queues/test_eager_interrupt.py", "test_ctrl_c_ends_a_blocked_call_and_loses_nothing"),
        (DUMP_OF_TF1, "test_queue_call_shows_its_progress"),
    ],
    "`queue.close()`": [
        (EAGER, "test_plain_close_waits_for_enqueues"),
        ("tf1/queues/test_eager_interrupt.py", "test_ctrl_c_ends_a_blocked_call_and_loses_nothing"),
        (DUMP_OF_TF1, "test_close_is_shown_as_waiting_for_enqueues"),
    ],
    "`session.run` of a queue operation": [
        (BLOCKING, "test_run_dequeues_the_available_elements_and_waits_for_the_rest"),
        (BLOCKING, "test_run_that_waits_too_long_ends"),
        (BLOCKING, "test_closing_wakes_every_blocked_run"),
        (
            RUNNERS,
            "test_consumer_error_after_a_reset_mentions_the_reset",
        ),
        (SESSION_WAITS, "test_warning_for_runners_that_were_never_started"),
        (SESSION_WAITS, "test_timeout_error_names_the_queue_and_the_reason"),
        (SESSION_WAITS, "test_ctrl_c_adds_a_note_about_the_waiting_run"),
        (DUMP_OF_TF1, "test_run_shows_its_operation_and_the_reason"),
    ],
    "`session.run` of a staging area operation": [
        (STAGING, "test_get_waits_for_an_element"),
        (STAGING, "test_put_waits_for_capacity"),
        (STAGING, "test_run_that_waits_too_long_reports_the_operation"),
        (STAGING, "test_closing_the_session_ends_waits"),
    ],
    "`session.run` of a barrier take": [
        (BARRIER, "test_take_waits_for_elements"),
        (BARRIER, "test_close_ends_takes_that_can_never_be_satisfied"),
        (BARRIER, "test_run_that_waits_too_long_reports_the_barrier"),
        (BARRIER, "test_closing_the_session_ends_waits"),
    ],
    "`session.run` of a reader or a `RecordInput`": [
        ("tf1/ops/readers/test_record_input.py", "test_many_threads_receive_each_record_once"),
        (BLOCKING, "test_closing_wakes_a_reader_that_waits_for_file_names"),
        (SESSION_WAITS, "test_warning_for_a_reader_that_waits_for_file_names"),
        ("tf1/ops/readers/test_pipes.py", "test_closing_the_session_ends_a_read"),
        ("tf1/ops/readers/test_pipes.py", "test_timeout_ends_a_read"),
        ("tf1/ops/readers/test_pipes.py", "test_ctrl_c_ends_a_read"),
        (DUMP_OF_TF1, "test_reader_waiting_for_a_file_name_is_shown"),
    ],
    "`session.run` of a Python function": [
        ("tf1/session/test_signals.py", "test_function_can_wait_in_the_thread_of_its_run"),
        ("tf1/test_waits.py", "test_closing_a_session_ends_a_run_once_its_function_returns"),
    ],
    "`session.run` that reads a remote file": [
        ("tf1/storage/test_faults.py", "test_stopped_run_does_not_wait_for_a_response_body"),
        (FAULTS, "test_request_that_keeps_failing_is_an_error_after_some_retries"),
        ("tf1/test_waits.py", "test_closing_a_session_ends_a_wait_for_remote_storage"),
    ],
    "Threads of queue runners": [
        ("tf1/ops/readers/test_pipes.py", "test_closing_the_session_stops_a_queue_runner"),
        (RUNNERS, "test_unreferenced_session_ends_its_runners"),
        (
            RUNNERS,
            "test_resetting_the_default_graph_ends_the_runners_of_its_sessions",
        ),
        (
            RUNNERS,
            "test_closing_a_session_ends_the_threads_that_wait_for_the_stop",
        ),
        (DUMP_OF_TF1, "test_runners_and_a_coordinator_are_shown"),
    ],
    "`coord.join()`": [
        (COORDINATOR, "test_join_waits_for_passed_and_registered_threads"),
        (COORDINATOR, "test_join_names_the_threads_that_outlive_the_grace_period"),
        (COORDINATOR, "test_ctrl_c_ends_join_at_once"),
        ("tf1/queue_runners/test_endings.py", "test_join_without_a_stop_logs_the_missing_stop"),
        (DUMP_OF_TF1, "test_runners_and_a_coordinator_are_shown"),
    ],
    "`coord.wait_for_stop()`": [
        (COORDINATOR, "test_stop_wakes_every_waiting_thread"),
        (COORDINATOR, "test_wait_for_stop_returns_false_after_its_timeout"),
        (DUMP_OF_TF1, "test_wait_for_a_stop_is_shown"),
    ],
    "`SessionManager.prepare_session(wait_for_checkpoint=True)`, `recover_session`": [
        ("tf1/training/test_session_manager.py", "test_session_waits_for_a_checkpoint"),
    ],
    "`SessionManager.wait_for_session`, a session of a non-chief worker": [
        (
            "tf1/training/test_session_manager.py",
            "test_waiting_ends_at_once_if_the_session_is_ready",
        ),
    ],
    "`GlobalStepWaiterHook`": [
        ("tf1/training/test_hooks.py", "test_global_step_waiter_waits_until_the_step_is_reached"),
    ],
    "`Server.join()`": [
        ("tf1/test_waits.py", "test_ctrl_c_ends_a_reported_wait"),
    ],
    "A `LooperThread` between two calls": [
        (COORDINATOR, "test_stop_ends_a_looper_thread_waiting_for_its_next_tick"),
    ],
    "`headrace.tf1.checkpoint.save`": [
        ("tf1/checkpoint/test_pause.py", "test_step_finishes_even_if_the_queue_is_full"),
        ("tf1/checkpoint/test_refusals.py", "test_error_names_a_step_that_cannot_finish"),
    ],
    "A runner that pauses for a checkpoint": [
        ("tf1/checkpoint/test_pause.py", "test_stop_ends_a_pause"),
        ("tf1/checkpoint/test_pause.py", "test_closing_the_session_ends_a_pause"),
    ],
    "`Saver.save`, writers, `gfile`, of a remote file": [
        (FAULTS, "test_permission_errors_are_not_retried"),
    ],
}

HARNESS = """
import os, signal, socket, sys, threading, time
import numpy as np

# Takes connections and never answers.
silent = socket.create_server(("127.0.0.1", 0), backlog=100)
url = f"http://127.0.0.1:{{silent.getsockname()[1]}}"
os.environ.update(
    AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_REGION="x"
)
signal.signal(signal.SIGINT, signal.default_int_handler)

import headrace as hr
import headrace.tf1 as tf
from headrace.tf1 import checkpoint
from headrace.tf1.queues import FIFOQueue
from headrace.testing import dump_waits

os.chdir(sys.argv[1])
os.mkfifo("pipe")

def main_waits():
    # Its stack is after its waits. This line is part of another stack, from Python 3.13 on.
    after = dump_waits(write=False).partition("\\n-- thread 'MainThread'")[2].split("\\n")[1:]
    found = []
    for line in after:
        if not line.startswith("   waits for "):
            return found
        found.append(line.strip())

def interrupt():
    while not (found := main_waits()):
        time.sleep(0.01)
    print("; ".join(found), flush=True)
    os.kill(os.getpid(), signal.SIGINT)

{before}
threading.Thread(target=interrupt, daemon=True).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""

SESSION = "sess = tf.Session(); queue = tf.FIFOQueue(2, [tf.string], [()], name='names')"
HANGING = "hangs = lambda example: time.sleep(1000) if example['n'] == 3 else example"
# The code before the wait, the call, and the report.
INTERRUPTED = {
    "session.run of a dequeue": (
        SESSION,
        "sess.run(queue.dequeue_many(3))",
        r"queue 'names' \(operation 'names_DequeueMany'\).*elements: it has 0 of 3",
    ),
    "session.run of an enqueue": (
        f"{SESSION}; sess.run(queue.enqueue_many([['a', 'b']]))",
        "sess.run(queue.enqueue('c'))",
        "room in queue 'names'.*room: it has added 0 of 1",
    ),
    "session.run of a get from a staging area": (
        "area = tf.contrib.staging.StagingArea([tf.int32], capacity=2); sess = tf.Session()",
        "sess.run(area.get())",
        "staging area 'StagingArea': an element; it has 0 of at most 2 elements",
    ),
    "session.run of a put into a staging area": (
        "area = tf.contrib.staging.StagingArea([tf.int32], capacity=1); sess = tf.Session()\n"
        "put = area.put([tf.constant(1)]); sess.run(put)",
        "sess.run(put)",
        "staging area 'StagingArea': room; it has 1 of at most 1 elements",
    ),
    "session.run of a take from a barrier": (
        "from headrace.tf1.ops.queues import Barrier\n"
        "sess = tf.Session(); barrier = Barrier(tf.int32)",
        "sess.run(barrier.take_many(2))",
        "queue '_0_barrier_queue': elements: it has 0 of 2",
    ),
    "session.run of a reader without names": (
        SESSION,
        "sess.run(tf.TextLineReader().read(queue))",
        "a file name: queue '.*names': elements",
    ),
    "session.run of a reader of a pipe": (
        f"{SESSION}; sess.run(queue.enqueue('pipe'))",
        "sess.run(tf.TextLineReader().read(queue))",
        "data from a pipe /.*/pipe",
    ),
    "session.run of a remote file": (
        SESSION,
        "sess.run(tf.read_file('s3://bucket/a'))",
        "storage: opening s3://bucket/a",
    ),
    "coord.join": (
        "hanging = threading.Thread(target=time.sleep, args=(1000,), name='hanging', daemon=True)\n"
        "hanging.start()",
        "tf.train.Coordinator().join([hanging])",
        r"a coordinator's threads to end \(no stop was requested\): 'hanging'",
    ),
    "coord.wait_for_stop": (
        "",
        "tf.train.Coordinator().wait_for_stop()",
        r"a coordinator to stop \(nobody has requested it\)",
    ),
    "SessionManager.prepare_session": (
        "tf.Variable(1)",
        "tf.train.SessionManager().prepare_session("
        "'', saver=tf.train.Saver(), checkpoint_dir='none', wait_for_checkpoint=True)",
        "a checkpoint in none",
    ),
    "SessionManager.wait_for_session": (
        "tf.Variable(1)",
        "tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())"
        ".wait_for_session('')",
        "another process to initialize the variables",
    ),
    "GlobalStepWaiterHook": (
        "step = tf.train.create_global_step(); sess = tf.Session()\n"
        "sess.run(step.initializer); hook = tf.train.GlobalStepWaiterHook(5); hook.begin()",
        "hook.before_run(tf.train.SessionRunContext(None, sess))",
        "global step 5",
    ),
    "Server.join": (
        "",
        "tf.train.Server.create_local_server().join()",
        r"a server to end \(it never does\)",
    ),
    "checkpoint.save": (
        "started = threading.Event()\n"
        "hangs = lambda: started.set() or time.sleep(1000) or np.int64(1)\n"
        "queue = tf.FIFOQueue(2, [tf.int64], [()], name='numbers')\n"
        "number = tf.py_func(hangs, [], tf.int64); number.set_shape([])\n"
        "tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(number)]))\n"
        "sess = tf.Session(); tf.train.start_queue_runners(sess, tf.train.Coordinator())\n"
        "started.wait()",
        "checkpoint.save(sess, 'saved')",
        "the runners of 'numbers' to finish their steps before a checkpoint",
    ),
    "next(batches) of a function": (
        f"{HANGING}; batches = iter(hr.arrays({{'n': np.arange(9)}}).map(hangs))",
        "list(batches)",
        r"the next rows of pipeline 'arrays > map\(<lambda>\)'",
    ),
    "next(batches) of a pipe": (
        "batches = iter(hr.text_lines('pipe', compression=None))",
        "next(batches)",
        "the next rows of pipeline 'text_lines'",
    ),
    "pipe.spec of csv": ("", "hr.csv('pipe').spec", "data from a pipe"),
    "pipe.spec of json_lines": ("", "hr.json_lines('pipe').spec", "data from a pipe"),
    "pipe.spec of webdataset": ("", "hr.webdataset('pipe').spec", "data from a pipe"),
    "a file in a storage": (
        "",
        "iter(hr.text_lines('s3://bucket/a'))",
        "storage: looking for 1 files, such as s3://bucket/a",
    ),
    "names in a storage": ("", "iter(hr.tfrecords('s3://bucket/*'))", "storage: l.* s3://bucket"),
    "a writer of a remote file": (
        "writer = hr.records.TFRecordWriter('s3://bucket/a.tfrecord'); writer.write(b'record')",
        "writer.close()",
        "storage: uploading s3://bucket/a.tfrecord",
    ),
    "a writer of records into a pipe": (
        "",
        "hr.records.TFRecordWriter('pipe').write(b'record')",
        "a reader of the pipe /.*/pipe|a reader of the pipe pipe",
    ),
    "gfile": ("", "tf.gfile.GFile('s3://bucket/a').read()", "storage: opening s3://bucket/a"),
    "Saver.save": (
        "variable = tf.Variable(1); sess = tf.Session(); sess.run(variable.initializer)",
        "tf.train.Saver().save(sess, 's3://bucket/model')",
        "storage: ",
    ),
    "tf_record_iterator": (
        "",
        "next(tf.python_io.tf_record_iterator('pipe'))",
        "data from a pipe",
    ),
}


@pytest.mark.parametrize("what", nightly_after(8, INTERRUPTED))
def test_ctrl_c_ends_a_reported_wait(what, tmp_path):
    before, call, words = INTERRUPTED[what]
    program = HARNESS.format(before=before, call=call)
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    report, _, end = done.stdout.partition("\n")
    assert re.search(f"waits for .*{words}", report), done.stdout + done.stderr
    assert end == "interrupted\n", done.stderr


WRITING = """
import os, signal, sys
import headrace as hr
from headrace.io import atomic_file

signal.signal(signal.SIGINT, signal.default_int_handler)
os.mkfifo(sys.argv[1])
reader = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
if sys.argv[2] == "records":
    write = hr.records.TFRecordWriter(sys.argv[1]).write
else:
    write = atomic_file.AtomicFile(sys.argv[1]).write
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
# Again and again: a signal just before a call of the system does not end that.
signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
try:
    while True:
        write(bytes(100_000))
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("what", ["records", "bytes"])
def test_ctrl_c_ends_a_write_into_a_full_pipe(what, tmp_path):
    command = [sys.executable, "-c", WRITING, str(tmp_path / "pipe"), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.stdout == "interrupted\n", done.stderr


def test_closing_a_session_ends_a_wait_for_remote_storage(monkeypatch):
    goes_on = threading.Event()
    with Server() as server, ThreadPoolExecutor() as pool:
        server.files["a"] = bytes(100)
        server.faults = [stalls(goes_on)]
        contents = tf.read_file(f"{server.url}/a")
        sess = tf.Session()
        try:
            call = pool.submit(sess.run, contents)
            wait_until(lambda: bool(server.data_requests()))
            sess.close()
            with pytest.raises(tf.errors.CancelledError):
                call.result(TIMEOUT)
        finally:
            goes_on.set()


def test_closing_a_session_ends_a_run_once_its_function_returns():
    is_called, goes_on = threading.Event(), threading.Event()

    def function():
        is_called.set()
        goes_on.wait(TIMEOUT)
        return 1

    queue = tf.FIFOQueue(1, [tf.int64], [()])
    with tf.control_dependencies([tf.py_func(function, [], tf.int64)]):
        element = queue.dequeue()
    sess = tf.Session()
    with ThreadPoolExecutor() as pool:
        call = pool.submit(sess.run, element)
        assert is_called.wait(TIMEOUT)
        sess.close()
        assert not call.done()
        goes_on.set()
        with pytest.raises(tf.errors.CancelledError):
            call.result(TIMEOUT)


def rows_of_the_page():
    """The first cells of all tables of the page but their heads."""
    lines = PAGE.read_text("utf-8").splitlines()
    bodies = [line for before, line in pairwise(lines) if before[:1] == "|"]
    cells = [line.split(" | ")[0].removeprefix("| ") for line in bodies if line[:1] == "|"]
    return [cell for cell in cells if not cell.startswith("|--")]


def test_every_row_of_the_page_has_tests():
    assert rows_of_the_page() == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_tests_of_each_row_exist(row):
    for path, name in ROWS[row]:
        tree = ast.parse((TESTS / path).read_text("utf-8"))
        results = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in results, f"{path} has no {name}"
