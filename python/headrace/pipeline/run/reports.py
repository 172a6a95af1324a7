"""Reports about an iteration: its files, skipped examples, speed and activity."""

import os
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.plan.pipeline_plan import MeteredStage
from headrace.pipeline.run.activity_report import activity_lines
from headrace.pipeline.run.skipped import Report, Skipped
from headrace.pipeline.run.threads.gil_share import GilShares

if TYPE_CHECKING:
    from headrace.pipeline.run.node.local_ranks import LocalRanks
    from headrace.pipeline.run.node.member import MemberExecution
    from headrace.pipeline.run.statistics import Readings, Statistics

__all__ = ["Reports"]


class Reports:
    """The files, skipped examples, statistics and activity of an iteration."""

    _name: str
    _num_threads: int
    _begin: float
    _end_time: float | None
    _is_beginning: bool
    _index_files: engine.IndexFiles
    # The statistics since the start.
    _execution: engine.Execution
    # The ranks that share the engine; None if this iteration has its own.
    _local_ranks: "LocalRanks | None"
    _files: Sequence[Sequence[bytes]]
    _counted: Sequence[MeteredStage]
    _names: list[str]
    _python_workers: Sequence[PythonWorker]
    _gil_shares: GilShares
    _report: Report

    @property
    @abstractmethod
    def _has_begun(self) -> bool:
        """Whether the engine has started working on this iteration."""

    @abstractmethod
    def _begin_now(self) -> None:
        """Starts the iteration, unless it has been started already."""

    @property
    def skipped(self) -> list[Skipped]:
        """The examples that `skip_errors` has skipped so far, in order.

        You can also read it after `close`.
        """
        if not self._has_begun:
            return []
        return list(self._report.skipped)

    @property
    def files(self) -> list[str]:
        """The files of each source, in order. You can also read it after `close`."""
        self._begin_now()
        return [os.fsdecode(path) for paths in self._files for path in paths]

    @property
    def num_threads(self) -> int:
        """The number of engine threads that work for this iteration."""
        return self._num_threads

    @property
    def worker_threads(self) -> set[int]:
        """The operating system's IDs of the engine threads that work for this iteration."""
        if not self._has_begun:
            return set()
        return {worker.thread for worker in self._execution.state().workers}

    def activity_lines(self, waits: Mapping[int, str]) -> Iterator[str]:
        """Yields lines of text about the current activity; see `activity_report`."""
        yield f"pipeline '{self._name}', started {time.monotonic() - self._begin:.1f} s ago"
        if not self._has_begun:
            yield "it is reading its first example" if self._is_beginning else "it has not started"
            return
        if self._local_ranks is not None:
            yield from cast("MemberExecution", self._execution).activity_lines()
            return
        yield from activity_lines(self._execution, self._python_workers, self._names, waits)

    def statistics(self) -> "Statistics":
        """Returns the statistics of each stage so far. You can also call it after `close`."""
        from headrace.pipeline.run.statistics import IndexStatistics  # noqa: PLC0415

        readings = self._readings()
        return replace(readings.statistics(), index=IndexStatistics.of(self._index_files))

    def bottleneck(self) -> str:
        """Names the bottleneck and its share of the time, and suggests a fix.

        It covers the whole iteration so far. You can also call it after `close`.
        """
        from headrace.pipeline.run.bottleneck import bottleneck  # noqa: PLC0415

        return bottleneck(self._readings())

    def _readings(self) -> "Readings":
        from headrace.pipeline.run.statistics import Readings, StageReadings  # noqa: PLC0415

        self._begin_now()
        seconds = (self._end_time or time.monotonic()) - self._begin
        total = self._execution.readings()
        stages = [
            StageReadings(
                counted,
                stage.examples,
                stage.num_bytes,
                stage.busy,
                stage.computing,
                stage.starving,
                stage.fill,
                stage.padding,
                None
                if counted.python_worker is None
                else self._gil_shares.of(counted.python_worker),
                *self._rows_left_out(counted, stage.left_out),
            )
            for counted, stage in zip(self._counted, total.stages, strict=True)
        ]
        return Readings(
            seconds,
            self._num_threads,
            stages,
            tasks_busy=total.tasks_busy,
            tasks_computing=total.tasks_computing,
            idle=total.idle,
            consumer_waiting=total.consumer_waiting,
            budget_waiting=total.budget_waiting,
        )

    def _parts_to_record(self) -> tuple[engine.Execution, Sequence[PythonWorker], list[str]]:
        """Starts the iteration, and returns the parts that a profile samples."""
        self._begin_now()
        return self._execution, self._python_workers, self._names

    def _rows_left_out(self, counted: MeteredStage, measured: int) -> tuple[int, int]:
        """Returns how many rows a stage has left out, and how many were too old."""
        if counted.python_worker is None:
            return counted.left_out + measured, 0
        journal = self._python_workers[counted.python_worker]
        return getattr(journal, "left_out", counted.left_out), getattr(journal, "too_old", 0)
