"""Describes the current activity of a pipeline, for example to find out why no batch arrives."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker

__all__ = ["activity_lines"]

_MIB: Final = 1 << 20


def activity_lines(
    execution: engine.Execution,
    python_workers: Sequence[PythonWorker],
    names: Sequence[str],
    waits: Mapping[int, str],
) -> Iterator[str]:
    """Yields a line for the iteration, then one for each engine thread and each call.

    Args:
        execution: The execution of the pipeline.
        python_workers: The Python workers of the pipeline.
        names: The names of the measured stages, by number.
        waits: The reason why a thread waits, by the operating system's thread ID.
    """
    now = execution.state()
    used, limit = execution.memory()
    state = "closed" if now.is_closed else "at its end" if now.is_over else "running"
    yield (
        f"{state}: {now.num_ready} of {now.max_ready} results are ready, {now.num_tasks} tasks "
        f"have not started, {used // _MIB} of {limit // _MIB} MiB of memory are in use"
    )
    reads = {
        read.thread: f"reading {read.text} ({_name(names, read.stage)})"
        for read in execution.reads()
    }
    idle = "idle, because no task fits into memory" if now.is_memory_short else "idle"
    words = {"nothing": idle, "asking": "looking for tasks", "ended": "has ended"}
    for number, worker in enumerate(now.workers):
        text = words.get(worker.activity) or reads.get(worker.thread)
        text = text or f"working on {_name(names, worker.stage)}"
        wait = f"; waits for {waits[worker.thread]}" if worker.thread in waits else ""
        yield f"worker {number} (thread {worker.thread}), for {worker.seconds:.1f} s: {text}{wait}"
    for python_worker, num_waiting in zip(python_workers, now.num_python_tasks, strict=False):
        calls = list(python_worker.running.values())
        for call in calls:
            seconds = time.monotonic() - call.since
            doing = call.doing or "waiting for its turn"
            yield f"{call.where}: {doing}, in a block started {seconds:.1f} s ago"
        if num_waiting:
            where = calls[0].where if calls else "a Python function"
            yield f"{where}: {num_waiting} more blocks are waiting for it"


def _name(names: Sequence[str], stage: int | None) -> str:
    return names[stage] if stage is not None and stage < len(names) else "a task"
