"""Worker processes with little shared memory, other kinds of parents, and other systems."""

import gc
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from tests.pipeline.workers import picklable
from tests.pipeline.workers.test_processes import (
    TIMEOUT,
    environment,
    is_there,
    rows,
    taken,
    wait_until,
)

import headrace as hr
from headrace.pipeline.workers import fork_server as servers
from headrace.pipeline.workers.fork_server import fork_server

pytestmark = pytest.mark.timeout(2 * TIMEOUT)

_ALONE = ("unshare", "--user", "--map-root-user", "--mount")


def run(*command, **more):
    return subprocess.run(
        command,
        timeout=TIMEOUT,
        capture_output=True,
        text=True,
        env={**environment(), **more},
        check=False,
    )


def may_mount():
    """Returns True if file systems may be mounted in a new namespace."""
    mount = (*_ALONE, "mount", "-t", "tmpfs", "none", "/dev/shm")
    return shutil.which("unshare") is not None and run(*mount).returncode == 0


LARGE = """
import os, tempfile
import headrace as hr
from tests.pipeline.workers import picklable

if {hides}:
    del os.memfd_create
    tempfile.tempdir = "/dev/shm"
pipeline = hr.arrays({{"n": range(6)}}).map(picklable.four_megabytes, num_processes=2)
try:
    print(sum(int(example["x"].sum()) for example in pipeline))
    print(sum(int(example["x"].sum()) for example in hr.iterable(picklable.large, 1)))
except MemoryError as error:
    print("MemoryError:", error)
"""


@pytest.mark.parametrize("hides", [False, True])
def test_shared_memory_works_without_dev_shm_or_names_it_in_the_error(hides):
    if not may_mount():
        pytest.skip("no file system may be mounted")
    program = LARGE.format(hides=hides)
    script = f"mount -t tmpfs -o size=1M none /dev/shm && exec {sys.executable} -c '{program}'"
    values = run(*_ALONE, "sh", "-c", script)
    if hides:
        # Memory files are then on the small disk.
        assert values.stdout.startswith("MemoryError: worker processes: cannot allocate ")
        assert "No space left on device" in values.stdout
    else:
        full = sum(n << 22 for n in range(6))
        assert values.stdout == f"{full}\n{full}\n"
    assert values.returncode == 0


@pytest.fixture
def as_on_macos(monkeypatch):
    """Workers are new interpreters, and memory files are in the temporary directory."""
    fork_server().close()
    monkeypatch.setattr(servers, "_spawns_workers", True)
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    yield
    gc.collect()
    fork_server().close()


@pytest.mark.usefixtures("as_on_macos")
def test_workers_run_without_fork_and_memory_files():
    result = taken(rows(100).map(picklable.with_process, num_processes=2))
    assert [example["n"] for example in result] == list(range(100))
    assert [example["text"] for example in result] == [f"é{n}" for n in range(100)]
    processes = {example["process"] for example in result}
    assert os.getpid() not in processes
    assert not any(map(is_there, processes))
    parts = hr.iterable(picklable.part, num_processes=4)
    assert len(taken(parts)) == 22
    with pytest.raises(RuntimeError, match=r"SIGKILL \(signal 9\) at arrays: row 30"):
        list(rows().map(picklable.kills_itself, num_processes=1))


def test_processes_are_rejected_at_the_call_on_systems_without_fork(monkeypatch):
    monkeypatch.delattr(os, "fork")
    expected = "num_processes is 2, but this system cannot fork"
    for stage in ("map", "filter", "flat_map"):
        with pytest.raises(ValueError, match=f"^{stage}: {expected}"):
            getattr(rows(), stage)(dict, num_processes=2)
    with pytest.raises(ValueError, match=f"^iterable: {expected}"):
        hr.iterable(picklable.part, num_processes=2)
    assert len(list(rows().map(dict, num_processes=0))) == 100


DAEMON = """
import multiprocessing, os, sys
import headrace as hr
{hidden}

def with_process(example):
    return {{**example, "process": os.getpid()}}

def iterate(results):
    pipeline = hr.arrays({{"n": range(40)}}).map(with_process, num_processes=2)
    for number in range(2):
        found = [(int(e["n"]), int(e["process"])) for e in pipeline.epoch(number)]
        results.put(([n for n, _ in found], sorted({{process for _, process in found}})))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    results = context.Queue()
    child = context.Process(target=iterate, args=(results,), daemon=True)
    child.start()
    for _ in range(2):
        numbers, processes = results.get(timeout=50)
        assert numbers == list(range(40))
        print(*processes)
    child.join(50)
    assert child.exitcode == 0, child.exitcode
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("hides", [False, True])
def test_daemon_process_can_have_workers(tmp_path, method, hides):
    """Functions of the main program have another module name in a child that was not forked."""
    hidden = 'sys.modules["cloudpickle"] = None' if hides else ""
    (tmp_path / "program.py").write_text(DAEMON.format(hidden=hidden))
    values = run(sys.executable, str(tmp_path / "program.py"), method)
    assert (values.returncode, values.stderr) == (0, "")
    first, second = (set(map(int, line.split())) for line in values.stdout.splitlines())
    assert second <= first | second
    assert len(first | second) <= 2, "workers are kept between epochs"
    wait_until(lambda: not any(map(is_there, first)))


def test_forked_child_starts_its_own_workers():
    pipeline = rows().map(picklable.with_process, num_processes=2)
    parts = hr.iterable(picklable.part, num_processes=4)
    numbers = [example["n"] for example in taken(parts)]
    mine = {example["process"] for example in taken(pipeline.epoch(0))}
    assert len(taken(parts.epoch(0))) == len(taken(parts.epoch(1))) == 22
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(TIMEOUT)
        try:
            result = taken(pipeline.epoch(1))
            ours = {example["process"] for example in result}
            is_right = [example["n"] for example in result] == list(range(100))
            is_right &= [example["n"] for example in taken(parts.epoch(2))] == numbers
            os.write(writing, b"yes" if is_right and not ours & mine else b"no")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 10) == b"yes"
    os.close(reading)
    os.waitpid(child, 0)
    again = taken(pipeline.epoch(1))
    assert {example["process"] for example in again} <= mine, "the child has left them alone"
    assert [example["n"] for example in taken(parts.epoch(2))] == numbers


def test_shared_memory_counts_towards_the_budget():
    pipeline = rows(12).map(picklable.four_megabytes, num_processes=1)
    with iter(pipeline.options(memory_bytes=200 << 20)) as batches:
        next(batches)
        assert batches._execution.used_bytes >= 4 << 20


def test_non_contiguous_and_empty_arrays_are_sent_unchanged():
    results = list(rows(4).map(picklable.strided, num_processes=1))
    for number, example in enumerate(results):
        np.testing.assert_array_equal(example["turned"], number + np.arange(6).reshape(2, 3).T)
        assert example["none"].shape == (0, 5)
