"""Records the threads of an iteration as a trace, which Perfetto and Chrome can show."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.core import engine
from headrace.core.html import fragment, tag
from headrace.io.atomic_file import replacing
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.statistics import Statistics

__all__ = ["Profile", "profile_of"]

# How often the threads are sampled, in seconds.
_INTERVAL_S: Final = 0.001
# The number of samples between two values of a counter.
_COUNTER_SAMPLES: Final = 10
_MICROSECONDS: Final = 1e6
_LOOP: Final = "loop"


@dataclass(frozen=True)
class Profile:
    """The result of `Pipeline.profile`.

    Attributes:
        path: The path of the trace, in Chrome's JSON format.
        count: The number of batches that were read, or of examples if there is no `batch`.
        unit: "batches" or "examples".
        seconds: How long the run took.
        bottleneck: See `Batches.bottleneck`.
        statistics: See `Batches.statistics`.
    """

    path: str
    count: int
    unit: str
    seconds: float
    bottleneck: str
    statistics: Statistics

    def __str__(self) -> str:
        rate = self.count / max(self.seconds, 1e-9)
        bottleneck = f"{self.bottleneck[:1].upper()}{self.bottleneck[1:]}"
        return (
            f"{self.count:,} {self.unit} in {self.seconds:.1f} s ({rate:,.4g}/s). {bottleneck} To "
            f"see the threads, open {self.path} in https://ui.perfetto.dev or chrome://tracing."
        )

    def _repr_html_(self) -> str:
        return fragment(tag("p", str(self)))


class _Track:
    """The activities of one thread, from samples.

    The start of an activity is exact, because the engine records it. Its end is the last sample
    that saw it, so it may be up to one interval too early. Shorter activities may be missed.
    """

    def __init__(self) -> None:
        self.activities: list[tuple[str, float, float]] = []
        self._name: str | None = None
        self._begin = self._seen = 0.0

    def see(self, name: str | None, begin: float, now: float) -> None:
        """Adds a sample. `name` is None while the thread is idle."""
        is_same = name == self._name and begin <= self._seen
        if not is_same:
            self.finish()
            # Another stage of the same task begins after the last sample.
            self._name, self._begin = name, max(begin, self._seen)
        self._seen = now

    def finish(self) -> None:
        """Ends the current activity."""
        if self._name is not None:
            self.activities.append((self._name, self._begin, self._seen))
        self._name = None


class _Recorder:
    """Samples the threads of an iteration until it is stopped."""

    def __init__(
        self,
        execution: engine.Execution,
        python_workers: Sequence[PythonWorker],
        names: Sequence[str],
    ) -> None:
        self._execution, self._python_workers, self._names = execution, python_workers, names
        self.tracks: dict[str, _Track] = {}
        self.counters: list[tuple[float, int, int]] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace profile", daemon=True)

    def __enter__(self) -> "_Recorder":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        for track in self.tracks.values():
            track.finish()

    def _run(self) -> None:
        number = 0
        while not self._is_over.wait(_INTERVAL_S):
            now = time.monotonic()
            state = self._execution.state()
            for index, worker in enumerate(state.workers):
                name = self._activity(worker)
                self._track(f"worker {index}").see(name, now - worker.seconds, now)
            self._see_calls(now)
            if number % _COUNTER_SAMPLES == 0:
                self.counters.append((now, self._execution.used_bytes, state.num_ready))
            number += 1

    def _activity(self, worker: engine.WorkerState) -> str | None:
        if worker.activity == "task":
            return "task" if worker.stage is None else self._names[worker.stage]
        return "schedule" if worker.activity == "asking" else None

    def _see_calls(self, now: float) -> None:
        for number, python_worker in enumerate(self._python_workers):
            running = dict(python_worker.running)
            for thread, calls in running.items():
                self._track(f"function {number}, thread {thread}").see(
                    calls.where, calls.since, now
                )

    def _track(self, name: str) -> _Track:
        return self.tracks.setdefault(name, _Track())


def profile_of(batches: Batches, seconds: float, path: str, unit: str) -> Profile:
    """Runs an iteration, writes a trace of it, and closes it.

    Args:
        batches: The iteration.
        seconds: When to stop, unless the data ends earlier.
        path: The path of the trace.
        unit: "batches" or "examples".
    """
    with batches:
        execution, python_workers, names = batches._parts_to_record()
        begin = now = time.monotonic()
        waits, count = _Track(), 0
        with _Recorder(execution, python_workers, names) as recorder:
            while now - begin < seconds and next(batches, None) is not None:
                count += 1
                end = time.monotonic()
                waits.activities.append(("wait for a batch", now, end))
                now = end
        tracks = {_LOOP: waits, **recorder.tracks}
        bottleneck, statistics = batches.bottleneck(), batches.statistics()
    events = [*_events(tracks, begin), *_counters(recorder.counters, begin)]
    with replacing(path) as file:
        file.write(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode())
    return Profile(path, count, unit, now - begin, bottleneck, statistics)


def _events(tracks: Mapping[str, _Track], start: float) -> Iterator[dict[str, Any]]:
    """Yields the activities as complete events, after the names of their threads."""
    process = os.getpid()
    for number, (name, track) in enumerate(tracks.items()):
        thread = {"pid": process, "tid": number}
        yield {"name": "thread_name", "ph": "M", **thread, "args": {"name": name}}
        yield {"name": "thread_sort_index", "ph": "M", **thread, "args": {"sort_index": number}}
        for activity, begin, end in track.activities:
            at = max(begin - start, 0.0)
            duration = max(end - start - at, 0.0)
            times = {"ts": at * _MICROSECONDS, "dur": duration * _MICROSECONDS}
            yield {"name": activity, "cat": "headrace", "ph": "X", **thread, **times}


def _counters(counters: Sequence[tuple[float, int, int]], start: float) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    for now, used_bytes, num_ready in counters:
        event = {"ph": "C", "pid": process, "ts": max(now - start, 0.0) * _MICROSECONDS}
        yield {**event, "name": "memory", "args": {"bytes": used_bytes}}
        yield {**event, "name": "ready", "args": {"blocks": num_ready}}
