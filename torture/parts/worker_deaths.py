"""Worker processes are killed at random moments: each example comes once, or there is an error."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread

import headrace as hr
from headrace.pipeline.workers.fork_server import fork_server
from torture.part import Options, Result

NUM_EXAMPLES = 400
_WHOLE = 1000


def run(options: Options) -> Result:
    """Kills workers while pipelines run, with and without `skip_errors`."""
    result = Result()
    num_kills, num_errors, num_skipped = 0, 0, 0
    for number in range(options.times(_WHOLE)):
        random = Random(f"{options.seed} worker deaths {number}")
        with _killing(random) as kills:
            if number % 2:
                skipped = _iterate_skipping(random, number, result.failures)
                num_skipped += skipped
            else:
                num_errors += _iterate(random, number, result.failures)
        num_kills += len(kills)
    time.sleep(0.1)
    if left := _workers():
        result.failures.append(f"workers are left: {left}")
    result.figures["kills"] = num_kills
    result.figures["iterations that ended with an error"] = num_errors
    result.figures["examples that were skipped"] = num_skipped
    return result


def busy(example: dict[str, int]) -> dict[str, int]:
    """Takes a fraction of a millisecond."""
    return {"n": example["n"], "sum": sum(range(3000))}


def _pipeline(random: Random) -> "hr.Pipeline":
    rows = hr.arrays({"n": list(range(NUM_EXAMPLES))})
    return rows.map(busy, num_processes=random.randint(1, 3))


def _iterate(random: Random, number: int, failures: list[str]) -> int:
    """Returns 1 if a death was an error."""
    given: list[int] = []
    try:
        given.extend(int(example["n"]) for example in _pipeline(random))
    except RuntimeError as error:
        if "worker process" not in str(error) or given != list(range(len(given))):
            failures.append(f"worker deaths {number}: {len(given)} examples, {error}")
        return 1
    if given != list(range(NUM_EXAMPLES)):
        failures.append(f"worker deaths {number}: {len(given)} examples and no error")
    return 0


def _iterate_skipping(random: Random, number: int, failures: list[str]) -> int:
    """Returns how many examples were skipped."""
    given: list[int] = []
    try:
        batches = iter(_pipeline(random).skip_errors(NUM_EXAMPLES))
        given.extend(int(example["n"]) for example in batches)
    except RuntimeError as error:
        # A worker that is killed before each of its first calls.
        if "worker process" not in str(error):
            failures.append(f"worker deaths {number}: {error}")
        return 0
    skipped = [int(left.record_number or 0) for left in batches.skipped]
    if sorted(given + skipped) != list(range(NUM_EXAMPLES)) or given != sorted(given):
        failures.append(
            f"worker deaths {number}: {len(given)} examples and {len(skipped)} skipped ones"
        )
    return len(skipped)


@contextlib.contextmanager
def _killing(random: Random) -> Iterator[list[int]]:
    """Kills a worker now and then, as long as the block runs."""
    is_over, kills = Event(), []

    def kill() -> None:
        while not is_over.wait(random.random() * 0.1):
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
    """Returns the processes that the fork server has started and that have not ended."""
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
