"""Kills worker processes, and checks that each example is returned once or an error is raised.

Also kills programs with workers, which no worker may survive, and checks that many epochs leave
nothing behind.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from threading import Event, Thread

import headrace as hr
from headrace.pipeline.workers.fork_server import fork_server
from stress.footprint import footprint
from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.05
NUM_EXAMPLES = 400
_WHOLE = 1000
_WHOLE_PARENTS = 50
_WHOLE_EPOCHS = 1000
# The number of epochs before counting starts, which load modules and fill caches.
_NUM_WARM = 4
# The time for which a worker may outlive its program.
_MOST_SECONDS = 2.0
_PATIENCE_S = 20.0
# Permitted variation without a leak, and permitted growth per epoch.
_NOISE_BYTES = 4 << 20
_ALLOWED_BYTES = 400
_PROGRAM = """
import sys
import headrace as hr
from stress.parts import worker_deaths
if __name__ == "__main__":
    rows = hr.arrays({"n": list(range(10**6))}).map(worker_deaths.with_process, num_processes=2)
    parts = hr.iterable(worker_deaths.endless_part, num_processes=2)
    found = set()
    for one, other in zip(rows, parts):
        before = len(found)
        found |= {int(one["process"]), int(other["process"])}
        if len(found) != before:
            print(*found, flush=True)
"""


def run(options: Options) -> Result:
    """Kills workers and their programs while pipelines run, and counts leaked resources."""
    result = Result()
    num_kills, num_errors, num_skipped = 0, 0, 0
    for number in range(max(options.times(_WHOLE), 3)):
        random = Random(f"{options.seed} worker deaths {number}")
        with _killing(random) as kills:
            if number % 3 == 2:
                num_errors += _iterate_parts(random, number, result.failures)
            elif number % 3:
                skipped = _iterate_skipping(random, number, result.failures)
                num_skipped += skipped
            else:
                num_errors += _iterate(random, number, result.failures)
        num_kills += len(kills)
    begin = time.monotonic()
    while (left := _workers()) and time.monotonic() < begin + _PATIENCE_S:
        time.sleep(0.01)
    if left:
        result.failures.append(f"workers are left: {left}")
    result.figures["kills"] = num_kills
    result.figures["iterations that ended with an error"] = num_errors
    result.figures["examples that were skipped"] = num_skipped
    _kill_parents(options, result)
    _iterate_epochs(options, result)
    return result


def busy(example: dict[str, int]) -> dict[str, int]:
    """Takes up to a millisecond, so that many kills happen during a call."""
    return {"n": example["n"], "sum": sum(range(30000))}


def with_process(example: dict[str, int]) -> dict[str, int]:
    """Adds the id of the process that calls it."""
    return {**busy(example), "process": os.getpid()}


def endless_part(worker: int, num_workers: int) -> Iterator[dict[str, int]]:
    """Yields the id of its process."""
    while True:
        yield {"part": worker, "process": os.getpid()}


def part(worker: int, num_workers: int, count: int) -> Iterator[dict[str, int]]:
    """Yields every `num_workers`-th number, with a fraction of a millisecond for each."""
    return (busy({"n": number}) for number in range(worker, count, num_workers))


def _iterate_parts(random: Random, number: int, failures: list[str]) -> int:
    """Returns 1 if a death raised an error."""
    inputs: list[int] = []
    parts = hr.iterable(partial(part, count=NUM_EXAMPLES), num_processes=random.randint(2, 3))
    try:
        inputs.extend(int(example["n"]) for example in parts)
    except RuntimeError as error:
        if "worker process" not in str(error) or inputs != list(range(len(inputs))):
            failures.append(f"worker deaths {number}: {len(inputs)} examples of parts, {error}")
        return 1
    if inputs != list(range(NUM_EXAMPLES)):
        failures.append(f"worker deaths {number}: {len(inputs)} examples of parts and no error")
    return 0


def _kill_parents(options: Options, result: Result) -> None:
    """Kills programs that iterate, and waits until their workers have ended."""
    random, longest, num_workers = Random(f"{options.seed} parents"), 0.0, 0
    times = options.times(_WHOLE_PARENTS)
    # A small share of the work, as in tests, does not check times.
    most = _MOST_SECONDS if times > 1 else _PATIENCE_S
    for number in range(times):
        program = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE)
        assert program.stdout is not None
        workers: list[int] = []
        while len(workers) < 3 and (line := program.stdout.readline()):
            workers = list(map(int, line.split()))
        time.sleep(random.random() * 0.1)
        program.kill()
        begin = time.monotonic()
        program.wait()
        program.stdout.close()
        while left := [worker for worker in workers if not _is_dead(str(worker))]:
            if time.monotonic() - begin > _PATIENCE_S:
                break
            time.sleep(0.001)
        seconds = time.monotonic() - begin
        longest, num_workers = max(longest, seconds), num_workers + len(workers)
        if left or seconds > most:
            result.failures.append(f"program {number}: workers {workers} end after {seconds:.1f} s")
    result.figures["programs that were killed"] = times
    result.figures["their workers"] = num_workers
    result.figures["seconds until the last worker had ended"] = round(longest, 2)


def _iterate_epochs(options: Options, result: Result) -> None:
    """Runs many epochs that keep their workers, and many that do not, both with threads."""
    numbers = hr.arrays({"n": list(range(50))})
    rows = numbers.map(busy, num_processes=2)
    parts = hr.iterable(partial(part, count=50), num_processes=2)
    threads = numbers.map(busy, num_threads=2)
    times = options.times(_WHOLE_EPOCHS)
    for what, is_kept in (("kept", True), ("new", False)):
        first, of_workers = None, {}
        for number in range(-_NUM_WARM, times):
            for pipeline in (rows, parts, threads):
                epoch = pipeline.epoch(max(number, 0)) if is_kept else pipeline
                inputs = [int(example["n"]) for example in epoch]
                if inputs != list(range(50)):
                    result.failures.append(f"epoch {number} with {what} workers: {inputs}")
            if number == -1:
                first, num_files, of_workers = footprint(), _num_memory_files(), _of_workers()
        assert first is not None
        last = footprint(first.threads)
        more = last.num_bytes - first.num_bytes
        allowed = _NOISE_BYTES + times * _ALLOWED_BYTES
        is_worse = last.descriptors > first.descriptors or last.threads > first.threads
        if is_worse or _num_memory_files() > num_files:
            result.failures.append(
                f"{times} epochs with {what} workers leave files or threads: {first} {last}"
            )
        if more > allowed:
            result.failures.append(f"{times} epochs with {what} workers leave {more} bytes")
        result.figures[f"epochs with {what} workers"] = times
        result.figures[f"KiB more after them, {what}"] = more // 1024
        if is_kept:
            _judge_workers(of_workers, allowed, result)


def _judge_workers(before: dict[int, tuple[int, int]], allowed: int, result: Result) -> None:
    """Checks that kept workers are the same ones, with as many open files and bytes as before."""
    after = _of_workers()
    if not before or after.keys() != before.keys():
        result.failures.append(f"workers {sorted(before)} became {sorted(after)}")
        return
    for worker, (num_bytes, num_files) in after.items():
        if num_files > before[worker][1] or num_bytes > before[worker][0] + allowed:
            result.failures.append(f"worker {worker} grows: {before[worker]} {after[worker]}")
    growth = max(num_bytes - before[worker][0] for worker, (num_bytes, _) in after.items())
    result.figures["KiB more of the worker that grew most"] = growth // 1024


def _of_workers() -> dict[int, tuple[int, int]]:
    """Returns the private bytes of each worker, and its number of descriptors."""
    results = {}
    for worker in _workers():
        lines = Path(f"/proc/{worker}/status").read_text().splitlines()
        kib = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
        results[worker] = kib * 1024, len(os.listdir(f"/proc/{worker}/fd"))
    return results


def _num_memory_files() -> int:
    """Returns how many memory files are mapped."""
    return Path("/proc/self/maps").read_text().count("memfd:headrace")


def _pipeline(random: Random) -> "hr.Pipeline":
    rows = hr.arrays({"n": list(range(NUM_EXAMPLES))})
    return rows.map(busy, num_processes=random.randint(1, 3))


def _iterate(random: Random, number: int, failures: list[str]) -> int:
    """Returns 1 if a death raised an error."""
    inputs: list[int] = []
    try:
        inputs.extend(int(example["n"]) for example in _pipeline(random))
    except RuntimeError as error:
        if "worker process" not in str(error) or inputs != list(range(len(inputs))):
            failures.append(f"worker deaths {number}: {len(inputs)} examples, {error}")
        return 1
    if inputs != list(range(NUM_EXAMPLES)):
        failures.append(f"worker deaths {number}: {len(inputs)} examples and no error")
    return 0


def _iterate_skipping(random: Random, number: int, failures: list[str]) -> int:
    """Returns how many examples were skipped."""
    inputs: list[int] = []
    try:
        batches = iter(_pipeline(random).skip_errors(NUM_EXAMPLES))
        inputs.extend(int(example["n"]) for example in batches)
    except RuntimeError as error:
        # Kills a worker before each of the first calls.
        if "worker process" not in str(error):
            failures.append(f"worker deaths {number}: {error}")
        return 0
    skipped = [int(left.record_number or 0) for left in batches.skipped]
    if sorted(inputs + skipped) != list(range(NUM_EXAMPLES)) or inputs != sorted(inputs):
        failures.append(
            f"worker deaths {number}: {len(inputs)} examples and {len(skipped)} skipped ones"
        )
    return len(skipped)


@contextlib.contextmanager
def _killing(random: Random) -> Iterator[list[int]]:
    """Kills a worker now and then while the block runs."""
    is_over, kills = Event(), []

    def kill() -> None:
        while not is_over.wait(random.random() * 0.3):
            if workers := _workers():
                worker = random.choice(workers)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
                    kills.append(worker)

    killer = Thread(target=kill, name="killer")
    killer.start()
    try:
        yield kills
    finally:
        is_over.set()
        killer.join()


def _workers() -> list[int]:
    """Returns the running processes that the fork server started."""
    server = fork_server()._process
    if server is None:
        return []
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    with contextlib.suppress(OSError):
        return [int(child) for child in children.read_text().split() if not _is_dead(child)]
    return []


def _is_dead(process: str) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"
