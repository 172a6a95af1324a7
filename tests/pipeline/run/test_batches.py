"""The threads and files of an iteration, for each way to end it."""

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.calls import wait_until

from headrace import pipeline as hp
from headrace.core import processors
from headrace.core.errors import FailedPreconditionError

TIMEOUT = 30


@pytest.fixture
def endless():
    return hp.arrays({"n": np.arange(1000)}).map(lambda e: e).epochs().batch(10)


def test_default_threads_follow_the_quota_of_the_container(endless, tmp_path, monkeypatch):
    (tmp_path / "cgroup").write_text("0::/\n")
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    monkeypatch.setattr(processors, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(processors, "_MOUNT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    with iter(endless) as batches:
        assert batches.num_threads == 3
        assert native_threads() == ["headrace-0", "headrace-1", "headrace-2"]
    with iter(endless.options(num_threads=5)) as batches:
        assert batches.num_threads == 5


def native_threads():
    """The names of this process's threads that belong to pipelines.

    Excludes the thread for storage requests, which lives as long as the process, and threads of
    Python functions, which `threading` counts. Since Python 3.14, the latter have names here, and
    threads that a library such as pyarrow starts in one of them inherit its name.
    """
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # The thread has just ended.
            names.append(path.read_text().strip())
    others = ("headrace-io", "headrace-functi")
    return sorted(name for name in names if name.startswith("headrace-") and name not in others)


def assert_no_threads():
    # A joined thread may be in /proc for a moment.
    wait_until(lambda: native_threads() == [])
    assert not [thread for thread in threading.enumerate() if "headrace" in thread.name]


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")


@needs_proc
def test_threads_stop_when_the_loop_is_left(endless):
    for batch in endless:
        assert len(batch["n"]) == 10
        assert native_threads()
        break
    gc.collect()
    assert_no_threads()


@needs_proc
def test_threads_stop_at_the_end_on_close_and_after_a_with_block(endless):
    list(endless.take(3))
    assert_no_threads()
    batches = iter(endless)
    next(batches)
    batches.close()
    batches.close()
    assert_no_threads()
    with pytest.raises(StopIteration):
        next(batches)
    with iter(endless) as batches:
        next(batches)
    assert_no_threads()


@needs_proc
def test_a_thousand_iterations_leave_no_threads(endless):
    for _ in range(1000):
        next(iter(endless.options(num_threads=2)))
    gc.collect()
    assert_no_threads()


@needs_proc
def test_rerunning_a_notebook_cell_stops_the_previous_threads(endless):
    cell = "batches = iter(endless); first = next(batches)"
    variables = {"endless": endless}
    counts = []
    for _ in range(3):
        exec(cell, variables)
        gc.collect()
        counts.append(len(native_threads()))
    assert counts[0] == counts[1] == counts[2] > 0
    variables["batches"].close()
    assert_no_threads()


@needs_proc
def test_files_are_closed_however_an_iteration_ends(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\n" * 100_000)
    for shuffled in (hp.text_lines(path), hp.text_lines(path).shuffle(seed=1)):
        for _ in range(3):
            batches = iter(shuffled.epochs().batch(10))
            next(batches)
            batches.close()
            opened = [
                os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists()
            ]
            assert str(path) not in opened


def test_next_epoch_is_prepared_before_the_current_one_ends(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\n" * 3_000)
    per_epoch = hp.text_lines(path).shuffle(window=1_000, seed=1).batch(100).epochs(2)
    # A worker is woken when fewer than half of the batches are left, which may never happen with
    # two.
    with iter(per_epoch.prefetch(3)) as batches:
        for _ in range(29):
            next(batches)
        batch = [stage.name for stage in batches.statistics().stages].index("batch")
        # One batch of the first epoch is left, and a batch of the second one is being built.
        wait_until(lambda: batches.statistics().stages[batch].examples > 3_000)


def test_several_iterations_can_run_concurrently(endless):
    pipeline = endless.take(30)
    pairs = [(a["n"][0], b["n"][0]) for a, b in zip(pipeline, pipeline, strict=True)]
    assert all(a == b for a, b in pairs)
    nested = [(int(a["n"][0]), int(b["n"][0])) for a in pipeline.take(2) for b in pipeline.take(2)]
    assert nested == [(0, 0), (0, 10), (10, 0), (10, 10)]


def test_batches_can_be_kept_and_modified():
    array = np.zeros((100, 50))
    for batch in hp.arrays({"x": array}).batch(10):
        batch["x"] += 1
    assert not array.any()


PROGRAM = """
import sys, time
import numpy as np
from headrace import pipeline as hp
from headrace.core import processors
batches = iter(hp.arrays({"n": np.arange(1000)}).map(lambda e: e).epochs().batch(10))
next(batches)
print("begun", flush=True)
"""


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError('x')", 1),
        ("del batches", 0),
    ],
)
def test_program_can_exit_while_iterating(ending, status):
    program = [sys.executable, "-c", PROGRAM + ending]
    done = subprocess.run(program, capture_output=True, timeout=TIMEOUT, check=False)
    assert done.returncode == status, done.stderr


STUCK = """
stuck = hp.arrays({"n": np.arange(3)}).map(lambda example: time.sleep(0.2) or example).epochs()
try:
    for number, _ in enumerate(stuck):
        if number == 0:
            print("waiting", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_interrupt_ends_a_wait():
    program = [sys.executable, "-c", PROGRAM + STUCK]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=TIMEOUT)
    assert (output, process.returncode) == ("interrupted\n", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_iteration_cannot_continue_after_a_fork():
    program = PROGRAM + (
        "\nimport os\nif os.fork():\n    os.wait()\nelse:\n    try:\n        next(batches)\n"
        "    except Exception as error:\n        print(error, flush=True)\n    os._exit(0)"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True, text=True)
    assert "started before a fork" in done.stdout


class Loader:
    """Holds an iteration that calls one of its methods."""

    def __init__(self, **options):
        numbers = hp.arrays({"n": np.arange(1000)}).map(self.load).epochs().batch(10)
        self.batches = iter(numbers.options(**options))

    def load(self, example):
        return example


@needs_proc
@pytest.mark.parametrize("options", [{}, {"warn_after_s": 10.0}])
def test_object_that_references_its_own_iteration_is_collected(options):
    loader = Loader(**options)
    assert len(next(loader.batches)["n"]) == 10
    parts = [weakref.ref(loader), weakref.ref(loader.batches)]
    del loader

    def is_collected():
        # A running call keeps them alive.
        gc.collect()
        return not any(find() for find in parts)

    wait_until(is_collected)
    assert_no_threads()


def test_function_that_reads_its_own_iteration_is_rejected():
    is_known, is_begun, begun = threading.Event(), threading.Event(), []

    def next_of_the_same(example):
        if not is_known.is_set():
            return example
        assert is_begun.wait(TIMEOUT)
        return next(begun[0])

    numbers = hp.arrays({"n": np.arange(10)}).map(next_of_the_same).batch(5)
    assert "n" in numbers.spec
    is_known.set()
    with iter(numbers) as batches:
        begun.append(batches)
        is_begun.set()
        with pytest.raises(FailedPreconditionError, match="by a function of the same pipeline"):
            next(batches)


CLOSING = """
import sys
import numpy as np
import headrace as hr

def long(example):
    # One operation, since a worker ends between two.
    return {"x": example["x"] ** 1.7}

numbers = hr.arrays({"x": np.ones((1, 60_000_000))})
batches = iter(numbers.map(hr.native(long)).batch(1))

def is_in_map():
    workers = batches._execution.state().workers
    return any(worker.activity == "task" and worker.stage == 1 for worker in workers)

while not is_in_map():
    pass
try:
    # From here on an interrupt comes in the wait, or just before it.
    print("begins", flush=True)
    batches.close()
except KeyboardInterrupt:
    print("interrupted", is_in_map(), flush=True)
    batches.close()
"""


def test_interrupt_ends_the_wait_for_a_slow_worker():
    program = [sys.executable, "-c", CLOSING]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=TIMEOUT)[0] == "interrupted True\n"
        assert process.returncode == 0
