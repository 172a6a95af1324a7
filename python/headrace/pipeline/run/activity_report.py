"""Describes what a pipeline is doing at the moment, for example why no batch arrives."""

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
        python_workers: Its Python workers.
        names: The names of its stages, by the numbers under which they are measured.
        waits: What threads are waiting for, by the operating system's thread ID.
    """
    now = execution.state()
    used, limit = execution.memory()
    state = (
        "it is closed" if now.is_closed else "it is at its end" if now.is_over else "it is running"
    )
    yield (
        f"{now.num_ready} of {now.max_ready} results are ready, {now.num_tasks} tasks are not "
        f"begun, {used // _MIB} of {limit // _MIB} MiB of memory are used; {state}"
    )
    reads = {
        read.thread: f"reads {read.text} ({_name(names, read.stage)})" for read in execution.reads()
    }
    idle = "has no task, since none fits into the memory" if now.is_memory_short else "has no task"
    words = {"nothing": idle, "asking": "looks for tasks", "ended": "has ended"}
    for number, worker in enumerate(now.workers):
        text = words.get(worker.activity) or reads.get(worker.thread)
        text = text or f"works on {_name(names, worker.stage)}"
        wait = f"; waits for {waits[worker.thread]}" if worker.thread in waits else ""
        yield f"worker {number} (thread {worker.thread}) {text}, for {worker.seconds:.1f} s{wait}"
    for python_worker, num_waiting in zip(python_workers, now.num_python_tasks, strict=False):
        calls = list(python_worker.running.values())
        for call in calls:
            seconds = time.monotonic() - call.since
            yield (f"{call.where}: {call.doing}, in a block that was begun {seconds:.1f} s ago")
        if num_waiting:
            where = calls[0].where if calls else "a Python function"
            yield f"{where}: {num_waiting} more blocks wait for it"


def _name(names: Sequence[str], stage: int | None) -> str:
    return names[stage] if stage is not None and stage < len(names) else "a task"
