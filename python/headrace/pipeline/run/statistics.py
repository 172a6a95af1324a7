"""The statistics of a running pipeline and its stages."""

from dataclasses import dataclass

from headrace.core import engine
from headrace.pipeline.plan.pipeline_plan import MeteredStage

__all__ = ["IndexStatistics", "Readings", "StageReadings", "StageStatistics", "Statistics"]


@dataclass(frozen=True)
class StageStatistics:
    """Statistics of one stage.

    Attributes:
        name: The stage, with the name of its function if it has one.
        examples: The number of examples (or batches, after `batch`) that the stage has returned.
        bytes: The number of bytes that the stage has produced. 0 for a stage that only moves
            examples.
        busy_seconds: The total run time of the stage's tasks on all threads.
        waiting_seconds: How long the stage had nothing to do because earlier stages were slower.
            For files, the time that reads spent waiting for storage or a processor.
        fill: The average share of the stage's task slots that were in use, from 0.0 to 1.0. If it
            is near 1, this stage or a later one is the bottleneck. If it is near 0, an earlier
            stage is. None for a stage without its own tasks.
        padding: The share of padding in the rows that `pack` has returned, from 0.0 to 1.0. None
            for other stages.
        left_out: The number of tokens that don't fill a window of `tokens`, in one pass over the
            files. For `journal`, the number of rows in incomplete groups at the end. For
            `bucket_by_shape`, the number of images that fill no batch. 0 for other stages.
        too_old: The number of rows that `journal` has dropped because of `max_age`.
    """

    name: str
    examples: int
    bytes: int
    busy_seconds: float
    waiting_seconds: float
    fill: float | None
    padding: float | None
    left_out: int = 0
    too_old: int = 0


@dataclass(frozen=True)
class IndexStatistics:
    """The statistics of the index files that a full shuffle or `clips` uses.

    Attributes:
        opened: The number of files with an existing index. They were not scanned.
        scanned: The number of files that were scanned. For videos, only their tables are read.
        scanned_bytes: The total size of the scanned files, without videos.
        written: The number of indexes written after a scan.
        kept: The number of files whose positions were known from an earlier iteration.
        directories: The directories of the indexes that were opened or written.
        failure: The reason why an index could not be written, or None if there was no failure.
    """

    opened: int = 0
    scanned: int = 0
    scanned_bytes: int = 0
    written: int = 0
    kept: int = 0
    directories: tuple[str, ...] = ()
    failure: str | None = None

    @classmethod
    def of(cls, files: engine.IndexFiles) -> "IndexStatistics":
        """Returns the statistics of the index files of an iteration."""
        report = files.report()
        return cls(
            opened=report.num_opened,
            scanned=report.num_scanned,
            scanned_bytes=report.scanned_bytes,
            written=report.num_written,
            kept=report.num_kept,
            directories=tuple(map(str, report.directories)),
            failure=report.failure,
        )


@dataclass(frozen=True)
class Statistics:
    """The statistics of an iteration over a pipeline.

    Attributes:
        seconds: The time since the iteration started, or its duration if it has ended.
        stages: The statistics of each stage, in order. A source that parses fields, such as `csv`,
            has two entries: one for reading and one for parsing.
        index: The statistics of the index files that a full shuffle or `clips` uses.
    """

    seconds: float
    stages: tuple[StageStatistics, ...]
    index: IndexStatistics = IndexStatistics()


@dataclass(frozen=True)
class StageReadings:
    """The engine's counters for a stage.

    Attributes:
        holds_gil: For a Python function, the share of run time during which the function holds the
            GIL, from 0.0 to 1.0. None if it is unknown.
        left_out: See `StageStatistics`.
        too_old: See `StageStatistics`.
    """

    counted: MeteredStage
    examples: int
    num_bytes: int
    busy: float
    computing: float
    starving: float
    fill: float | None
    padding: float | None
    holds_gil: float | None = None
    left_out: int = 0
    too_old: int = 0

    @property
    def name(self) -> str:
        """The stage and its function, such as "map(augment)"."""
        return self.counted.name

    @property
    def waiting(self) -> float:
        """See `StageStatistics.waiting_seconds`."""
        is_measured = self.computing > 0 and not self.counted.is_python
        return max(self.busy - self.computing, 0.0) if is_measured else self.starving


@dataclass(frozen=True)
class Readings:
    """The engine's counters for an iteration, in seconds.

    Attributes:
        seconds: The time since the iteration started.
        num_threads: The number of worker threads.
        stages: Each stage's counters.
        tasks_busy: The run time of the workers' compute tasks.
        tasks_computing: The processor time of these tasks.
        idle: How long workers had nothing to do, summed over all workers.
        consumer_waiting: How long the user's loop waited for batches.
        budget_waiting: How long workers were idle because the memory limit was reached.
    """

    seconds: float
    num_threads: int
    stages: list[StageReadings]
    tasks_busy: float
    tasks_computing: float
    idle: float
    consumer_waiting: float
    budget_waiting: float

    def statistics(self) -> Statistics:
        """Returns the statistics as users see them."""
        stages = tuple(
            StageStatistics(
                stage.name,
                stage.examples,
                stage.num_bytes,
                stage.busy,
                stage.waiting,
                stage.fill,
                stage.padding,
                stage.left_out,
                stage.too_old,
            )
            for stage in self.stages
        )
        return Statistics(self.seconds, stages)
