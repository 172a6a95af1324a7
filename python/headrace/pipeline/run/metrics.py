"""Counters and gauges of iterations, with stable names."""

import os
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.core import engine

__all__ = ["METRICS", "Meter", "Metric", "Metrics", "process_metrics"]

# The values of metrics by name. A metric with a label has a dict of values by label.
Metrics: TypeAlias = dict[str, float | Mapping[str, float]]


class Metric(NamedTuple):
    """The description of a metric.

    Attributes:
        description: One sentence that describes the metric.
        label: The name of the label, or None if there is none.
        is_counter: Whether the metric is a counter, which only grows, rather than a gauge.
    """

    description: str
    label: str | None = None
    is_counter: bool = True


METRICS: Final[Mapping[str, Metric]] = {
    "headrace_batches_total": Metric("Batches received, or examples if there is no batch stage."),
    "headrace_wait_seconds_total": Metric("Time that loops waited for batches, in seconds."),
    "headrace_skipped_total": Metric("Examples skipped by skip_errors."),
    "headrace_stage_busy_seconds_total": Metric(
        "Run time of a stage's tasks, summed over threads, in seconds.", "stage"
    ),
    "headrace_stage_examples_total": Metric("Examples that a stage has returned.", "stage"),
    "headrace_stage_bytes_total": Metric("Bytes that a stage has produced.", "stage"),
    "headrace_part_examples_total": Metric("Examples received from a part of mix.", "part"),
    "headrace_memory_bytes": Metric(
        "Memory that counts towards memory_bytes, in bytes.", is_counter=False
    ),
    "headrace_iterations": Metric("Iterations that are open.", is_counter=False),
}

# If more iterations than this are stored, ended ones are merged into the sums.
_MOST_METERS: Final = 64


class Meter:
    """One iteration's measurements. They remain readable after the iteration is gone.

    Attributes:
        batches: The number of batches that the loop has received.
        skipped: The number of skipped examples, excluding examples skipped before a resume.
        waiting: The examples taken from the engine that the loop has not received.
        num_dropped: The number of examples that `close` dropped.
        is_open: Whether the iteration is open.
    """

    def __init__(self, is_counted: bool) -> None:
        """`is_counted` is True if the iteration counts towards the sums of the process."""
        self.batches = 0
        self.skipped = 0
        self.waiting: deque[dict[str, Any]] = deque()
        self.num_dropped = 0
        self.is_open = True
        self._stages: list[str] = []
        self._parts: tuple[str, ...] = ()
        # The number of examples in omitted batches, by part of a mix.
        self._left_out: list[int] = []
        self._execution: engine.Execution | None = None
        self._final: Metrics | None = None
        self._owner: Final = os.getpid()
        if is_counted:
            _process.add(self)

    def begin(
        self, execution: engine.Execution, stages: Sequence[str], parts: Sequence[str]
    ) -> None:
        """Sets the execution, the stage names and the names of the parts of a mix."""
        self._execution, self._stages, self._parts = execution, _distinct(stages), tuple(parts)

    @property
    def num_left(self) -> int:
        """The number of examples taken from the engine that the loop has not received."""
        return len(self.waiting) + self.num_dropped

    def part_counts(self) -> list[int]:
        """Returns the number of examples from each part of a mix that the loop has received."""
        if self._execution is None:
            return []
        counts = self._execution.part_counts(self.num_left)
        left_out = self._left_out or [0] * len(counts)
        return [count - fewer for count, fewer in zip(counts, left_out, strict=True)]

    def leave_out_last(self) -> None:
        """Records that the engine's last batch is omitted."""
        if self._execution is not None:
            counts, before = self._execution.part_counts(0), self._execution.part_counts(1)
            added = [count - earlier for count, earlier in zip(counts, before, strict=True)]
            left_out = self._left_out or [0] * len(counts)
            self._left_out = [sum(pair) for pair in zip(left_out, added, strict=True)]

    @property
    def is_final(self) -> bool:
        """Whether the measurements can no longer change."""
        return self._final is not None

    def read(self) -> Metrics:
        """Returns the current values of all metrics."""
        # The execution is read first, because `finish` sets the final values before it drops it.
        execution = self._execution
        if self._final is not None:
            return self._final
        values: Metrics = dict.fromkeys(METRICS, 0)
        values |= {name: {} for name, metric in METRICS.items() if metric.label is not None}
        values["headrace_batches_total"] = self.batches
        values["headrace_skipped_total"] = self.skipped
        values["headrace_iterations"] = int(self.is_open)
        if execution is None:
            return values
        readings = execution.readings()
        values["headrace_wait_seconds_total"] = readings.consumer_waiting
        if self.is_open:
            values["headrace_memory_bytes"] = execution.used_bytes
        named = list(zip(self._stages, readings.stages, strict=True))
        values["headrace_stage_busy_seconds_total"] = {name: one.busy for name, one in named}
        values["headrace_stage_examples_total"] = {name: one.examples for name, one in named}
        values["headrace_stage_bytes_total"] = {name: one.num_bytes for name, one in named}
        if self._parts:
            parts = dict(zip(self._parts, self.part_counts(), strict=True))
            values["headrace_part_examples_total"] = parts
        return values

    def finish(self) -> None:
        """Stores the current values and drops the execution. Does nothing in a forked process."""
        if self._owner != os.getpid():
            return  # A thread of the parent process may have held the execution's lock.
        self.is_open = False
        self._final = self.read()
        self._execution = None


class _Process:
    """The sums over all iterations of this process."""

    def __init__(self) -> None:
        # The lock is re-entrant, because the garbage collector may end an iteration in a thread
        # that holds it.
        self._lock = threading.RLock()
        self._meters: list[Meter] = []
        self._finished: Counter[tuple[str, str]] = Counter()

    def forget(self) -> None:
        """Resets all sums in a forked process, where no thread can release the lock."""
        self.__init__()  # type: ignore[misc]

    def add(self, meter: Meter) -> None:
        with self._lock:
            self._meters.append(meter)
            if len(self._meters) > _MOST_METERS:
                self._fold()

    def read(self) -> Metrics:
        with self._lock:
            self._fold()
            sums = Counter(self._finished)
            for meter in self._meters:
                sums.update(_flat(meter.read()))
        values: Metrics = {}
        for name, metric in METRICS.items():
            of_name = {label: value for (key, label), value in sums.items() if key == name}
            if metric.label is None:
                values[name] = of_name.get("", 0)
            else:
                values[name] = of_name
        return values

    def _fold(self) -> None:
        """Adds iterations that are gone to the sums."""
        finished = [meter for meter in self._meters if meter.is_final]
        for meter in finished:
            self._finished.update(_flat(meter.read()))
        self._meters = [meter for meter in self._meters if meter not in finished]


_process: Final = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forget)


def process_metrics() -> Metrics:
    """Returns the sums over all iterations of this process, including ended ones."""
    return _process.read()


def _flat(values: Metrics) -> Counter[tuple[str, str]]:
    flat: Counter[tuple[str, str]] = Counter()
    for name, value in values.items():
        for label, number in value.items() if isinstance(value, Mapping) else (("", value),):
            flat[name, label] = number  # type: ignore[assignment]
    return flat


def _distinct(names: Sequence[str]) -> list[str]:
    """Numbers repeated names: "map(f)", "map(f) 2"."""
    counts: Counter[str] = Counter()
    distinct = []
    for name in names:
        counts[name] += 1
        distinct.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return distinct
