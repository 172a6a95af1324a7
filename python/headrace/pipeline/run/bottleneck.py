"""Determines the bottleneck of a running pipeline, and suggests a fix."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from headrace.core.processors import num_cores
from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.run.statistics import Readings, StageReadings
from headrace.pipeline.stages.function_step import caller_of
from headrace.pipeline.stages.stage import Stage

__all__ = ["bottleneck"]

# A stage that is busy for a smaller share of the time is not reported as the bottleneck.
_LEAST_LOAD: Final = 0.5
# If a function holds the GIL for at most this share of its time, more threads help.
_MOST_HELD: Final = 0.5
# A call shorter than this takes less time than handing it to another thread or process.
_LEAST_SECONDS: Final = 100e-6
# The maximum number of threads to suggest for a function that waits.
_MOST_WAITING: Final = 64


@dataclass(frozen=True)
class _Suspect:
    """A possible bottleneck: its message texts, and the share of time that it was fully used."""

    load: float
    name: str
    finding: str
    remedy: str


def bottleneck(readings: Readings) -> str:
    """Names the bottleneck and its share of the time, and suggests a fix."""
    if readings.seconds <= 0 or not any(stage.examples for stage in readings.stages):
        return "nothing has been read yet. Call it again after a few batches."
    worst = max(_suspects(readings), key=lambda suspect: suspect.load)
    waited = _share(readings.consumer_waiting, readings.seconds)
    idle = _share(readings.idle, readings.num_threads * readings.seconds)
    times = (
        f"The training loop waited {waited:.0%} of the time, and workers were idle {idle:.0%} of "
        "it."
    )
    if worst.load < _LEAST_LOAD:
        return (
            f"there is no single bottleneck. {times} The closest is {worst.name}: {worst.finding}. "
            "Call it again after more batches."
        )
    remedy = f"{worst.remedy[:1].upper()}{worst.remedy[1:]}"
    return f"{worst.name} is the bottleneck: {worst.finding}. {times} {remedy}."


def _share(part: float, total: float) -> float:
    """Returns a share of the time, limited to 1 because the clocks of threads differ slightly."""
    return min(max(part / total, 0.0), 1.0) if total > 0 else 0.0


def _suspects(readings: Readings) -> Iterator[_Suspect]:
    yield _training_loop(readings)
    yield _budget(readings)
    yield _workers(readings)
    for index, stage in enumerate(readings.stages):
        if stage.counted.is_python:
            yield _python(stage, readings, readings.stages[:index])
        elif stage.counted.reads_files:
            yield _storage(stage, readings)
            yield _reader(stage, readings)


def _training_loop(readings: Readings) -> _Suspect:
    load = 1 - _share(readings.consumer_waiting, readings.seconds)
    return _Suspect(
        load,
        "the training loop",
        f"it was busy {load:.0%} of the time",
        "the pipeline cannot go faster than the loop. Make the loop faster, or leave it as it is",
    )


def _budget(readings: Readings) -> _Suspect:
    load = _share(readings.budget_waiting, _scheduled(readings))
    return _Suspect(
        load,
        "memory",
        f"work waited for memory {load:.0%} of the time",
        "raise options(memory_bytes=...), or use a smaller window or batch",
    )


def _workers(readings: Readings) -> _Suspect:
    pooled = [stage for stage in readings.stages if not stage.counted.is_python]
    used = {id(stage): stage.busy - _stored(stage, readings) for stage in pooled}
    total = sum(used.values())
    worst = max(pooled, key=lambda stage: used[id(stage)], default=None)
    if worst is None or total <= 0:
        return _Suspect(0.0, "the workers", "", "")
    cores = num_cores()
    if readings.num_threads > cores:
        # Workers that wait for a core count as busy.
        load = _share(total / _crowding(readings), cores * readings.seconds)
        busy = f"workers used {load:.0%} of the {_cores(cores)}"
    else:
        load = _share(total, readings.num_threads * _scheduled(readings))
        busy = f"workers were busy {load:.0%} of the time"
    return _Suspect(
        load,
        worst.name,
        f"{busy}, {_share(used[id(worst)], total):.0%} of that in this stage",
        _less_work(worst, readings.num_threads, cores),
    )


def _cores(count: int) -> str:
    return "core" if count == 1 else f"{count} cores"


def _less_work(stage: StageReadings, num_threads: int, cores: int) -> str:
    if num_threads < cores:
        more = f"use more threads with options(num_threads={cores})"
    elif num_threads == cores:
        more = "use a machine with more cores"
    else:
        more = (
            f"remove options(num_threads={num_threads}), because more threads than the "
            f"{_cores(cores)} help only when reads wait for storage"
        )
    if stage.counted.reads_files:
        return f"{more}, or store the data uncompressed if it is compressed"
    if _groups(stage):
        return f"{more}, or keep components small and convert them after the batch, on the device"
    return f"{more}, or drop unneeded components with select"


def _groups(readings: StageReadings) -> bool:
    return readings.counted.stage.added_axes > 0


def _gets_batches(before: Sequence[StageReadings]) -> bool:
    return any(_groups(stage) for stage in before)


def _python(stage: StageReadings, readings: Readings, before: Sequence[StageReadings]) -> _Suspect:
    parallel = stage.counted.num_parallel or 1
    load = _share(stage.busy, readings.seconds * parallel)
    # More engine threads do not help here.
    num_processes = getattr(stage.counted.stage, "num_processes", 0)
    whose = "its only thread" if parallel == 1 else f"each of its {parallel} threads"
    if num_processes:
        whose = "its only process" if num_processes == 1 else f"each of its {parallel} processes"
        if num_processes > parallel:  # The pipeline waits for these processes one after the other.
            whose = f"the next of its {num_processes} processes"
    finding = f"{whose} was busy {load:.0%} of the time"
    gets_batches = _gets_batches(before)
    remedy = _less_python(stage.counted.stage, gets_batches)
    held = stage.holds_gil
    if held is not None and caller_of(stage.counted.stage) is not None and not num_processes:
        seconds = stage.busy / max(before[-1].examples if before else 0, 1)
        is_short = seconds < _LEAST_SECONDS and not gets_batches
        if is_short:
            micros = f"{seconds * 1e6:.0f} µs"
            remedy = (
                f"its calls take only {micros}, too short for more threads or processes to help. "
                f"{remedy[:1].upper()}{remedy[1:]}"
            )
        if held <= _MOST_HELD:
            finding += f", and released the GIL for {1 - held:.0%} of that"
            if not is_short and (more := _more_threads(stage, parallel)) is not None:
                remedy = f"pass num_threads={more}, or {remedy}"
        else:
            finding += f", and held the GIL for {held:.0%} of that"
            if not is_short and not keeps_state(stage.counted.stage.called_function):
                remedy = f"pass num_processes={max(num_cores(), 2)}, or {remedy}"
    return _Suspect(load, f"{stage.name} (Python)", finding, remedy)


def _more_threads(stage: StageReadings, parallel: int) -> int | None:
    """Returns the number of threads to suggest for a function, or None if more don't help."""
    stateful = keeps_state(stage.counted.stage.called_function)
    # A function that only waits needs no core.
    cores = num_cores() if _share(stage.computing, stage.busy) > _MOST_HELD else _MOST_WAITING
    more = min(max(4 * parallel, 4), max(cores, 2))
    return more if more > parallel and not stateful else None


def _less_python(stage: Stage, gets_batches: bool) -> str:
    if stage.reads_files:
        has_columns = getattr(stage, "columns", None) is not None
        fewer = (
            "read fewer columns" if has_columns else "list the columns you need with columns=[...]"
        )
        return (
            f"{fewer}, or store the data in a format that all threads can read, such as TFRecords"
        )
    if caller_of(stage) is None:
        more = "more processes" if cast("Any", stage).num_processes else "a separate process"
        return f"use {more} (num_processes), or write the examples to files"
    advice = "" if gets_batches else "call it on whole batches, after batch(...), "
    return f"make it native (headrace.native), {advice}or do less work in it"


def _storage(stage: StageReadings, readings: Readings) -> _Suspect:
    load = _share(_stored(stage, readings), readings.seconds * _parallel(stage, readings))
    most = stage.counted.num_parallel
    more = (
        "divide the data into more files, so that more are read at once"
        if most is not None and most <= readings.num_threads
        else "read more files at once with options(num_threads=...)"
    )
    return _Suspect(
        load,
        stage.name,
        f"its reads waited for storage {load:.0%} of the time",
        f"{more}, or use faster storage, or compress the files",
    )


def _reader(stage: StageReadings, readings: Readings) -> _Suspect:
    parallel = _parallel(stage, readings)
    computing = stage.busy - _stored(stage, readings)
    is_alone = parallel < readings.num_threads
    piece = getattr(stage.counted.stage, "piece", "file")
    pieces = f"the only {piece}" if parallel == 1 else f"{parallel} {piece}s"
    load = _share(computing, _scheduled(readings) * parallel) if is_alone else 0.0
    return _Suspect(
        load,
        stage.name,
        f"each {piece} is read by one thread, and the threads of "
        f"{pieces} were busy {load:.0%} of the time",
        f"divide the data into more {piece}s",
    )


def _parallel(stage: StageReadings, readings: Readings) -> int:
    most = stage.counted.num_parallel
    return readings.num_threads if most is None else max(min(most, readings.num_threads), 1)


def _stored(stage: StageReadings, readings: Readings) -> float:
    """Returns how long file reads waited for storage.

    A thread that is not running waits for storage or for a processor. The wait for a processor is
    estimated from tasks that read nothing.
    """
    if not stage.counted.reads_files:
        return 0.0
    return max(stage.busy - stage.computing * _crowding(readings), 0.0)


def _crowding(readings: Readings) -> float:
    """Returns the run time of tasks without reads, divided by their processor time."""
    computing = readings.tasks_computing
    return max(readings.tasks_busy / computing, 1.0) if computing > 0 else 1.0


def _scheduled(readings: Readings) -> float:
    """Returns the time per worker that was spent on tasks or on waiting for tasks.

    On a crowded machine, this is less than the elapsed time.
    """
    read = sum(stage.busy for stage in readings.stages if stage.counted.reads_files)
    total = readings.tasks_busy + read + readings.idle
    return min(max(total / readings.num_threads, 1e-9), readings.seconds)
