"""A text report of a pipeline's activity at one moment, for example why no batch comes."""

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
    """Yields lines: one for the iteration, then one for each thread of the engine and each call.

    Args:
        execution: The execution of the pipeline.
        python_workers: The work of its threads for Python functions.
        names: The names of its stages, by the numbers under which they are measured.
        waits: The waits of threads, by the threads' numbers in the system.
    """
    workers, (num_tasks, num_python), (num_ready, max_ready), flags = execution.snapshot()
    is_refused, is_over, is_closed = flags
    used, limit = execution.memory()
    state = "it is closed" if is_closed else "it is at its end" if is_over else "it is running"
    yield (
        f"{num_ready} of {max_ready} results are ready, {num_tasks} tasks are not begun, "
        f"{used // _MIB} of {limit // _MIB} MiB of memory are used; {state}"
    )
    reads = {
        thread: f"reads {text} ({_name(names, stage)})"
        for _, stage, text, thread, _ in execution.reads()
    }
    idle = "has no task, since none fits into the memory" if is_refused else "has no task"
    words = {"nothing": idle, "asking": "looks for tasks", "ended": "has ended"}
    for number, (thread, what, seconds, stage) in enumerate(workers):
        text = words.get(what) or reads.get(thread) or f"works on {_name(names, stage)}"
        wait = f"; waits for {waits[thread]}" if thread in waits else ""
        yield f"worker {number} (thread {thread}) {text}, for {seconds:.1f} s{wait}"
    for python_worker, num_waiting in zip(python_workers, num_python, strict=False):
        calls = list(python_worker.running.values())
        for call in calls:
            seconds = time.monotonic() - call.since
            yield (f"{call.where}: {call.doing}, in a block that was begun {seconds:.1f} s ago")
        if num_waiting:
            where = calls[0].where if calls else "a Python function"
            yield f"{where}: {num_waiting} more blocks wait for it"


def _name(names: Sequence[str], stage: int | None) -> str:
    return names[stage] if stage is not None and stage < len(names) else "a task"
