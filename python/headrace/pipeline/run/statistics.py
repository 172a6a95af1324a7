"""Statistics of the stages of a running pipeline."""

from dataclasses import dataclass

from headrace.core import engine
from headrace.pipeline.functions.python_functions import name_of
from headrace.pipeline.plan.pipeline_plan import MeteredStage

__all__ = ["IndexStatistics", "Readings", "StageReadings", "StageStatistics", "Statistics"]


@dataclass(frozen=True)
class StageStatistics:
    """The statistics of one stage.

    Attributes:
        name: The stage, with the name of its function if it has one.
        examples: The number of examples that it has returned, or of batches after `batch`.
        bytes: The number of bytes that it has produced. 0 for a stage that only moves examples.
        busy_seconds: The run time of its tasks, summed over all threads.
        waiting_seconds: The time that it had nothing to do because the stages before it were
            slower. For files, the time that reads waited for storage or for a processor.
        fill: The average share of its task slots in use, from 0.0 to 1.0. Near 1, this stage or a
            later one is the bottleneck. Near 0, an earlier stage is. None for a stage without its
            own tasks.
        padding: The share of padding in the rows that `pack` has returned, from 0.0 to 1.0. None
            for other stages.
        left_out: The number of tokens per pass over the files that do not fill a window of
            `tokens`. 0 for other stages.
    """

    name: str
    examples: int
    bytes: int
    busy_seconds: float
    waiting_seconds: float
    fill: float | None
    padding: float | None
    left_out: int = 0


@dataclass(frozen=True)
class IndexStatistics:
    """The statistics of the index files that a full shuffle uses.

    Attributes:
        opened: The number of files with an existing index, which were not scanned.
        scanned: The number of files that were scanned.
        scanned_bytes: The total size of the scanned files.
        written: The number of indexes written after a scan.
        kept: The number of files whose positions were known from an earlier iteration.
        directories: The directories of the indexes that were opened or written.
        failure: The reason why an index could not be written. None if there was no failure.
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
        seconds: The time from the start of the iteration until now, or until its end.
        stages: The statistics of each stage, in order. A source that parses fields, such as `csv`,
            has two entries: one for reading and one for parsing.
        index: The statistics of the index files that a full shuffle uses.
    """

    seconds: float
    stages: tuple[StageStatistics, ...]
    index: IndexStatistics = IndexStatistics()


@dataclass(frozen=True)
class StageReadings:
    """The engine's counters of a stage.

    Attributes:
        holds_gil: For a Python function, the share of its time in which it holds the GIL, from 0.0
            to 1.0. None if that is not known.
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

    @property
    def name(self) -> str:
        """The stage and its function, such as "map(augment)"."""
        return self.name_of(self.counted)

    @staticmethod
    def name_of(counted: MeteredStage) -> str:
        """Returns the stage and its function, such as "map(augment)"."""
        name = counted.stage.name
        if (function := counted.stage.called_function) is not None:
            return f"{name}({name_of(function)})"
        return f"{name}, {counted.part}" if counted.part else name

    @property
    def waiting(self) -> float:
        """See `StageStatistics.waiting_seconds`."""
        is_measured = self.computing > 0 and not self.counted.is_python
        return max(self.busy - self.computing, 0.0) if is_measured else self.starving


@dataclass(frozen=True)
class Readings:
    """The engine's counters of an iteration, in seconds.

    Attributes:
        seconds: The time since it began.
        num_threads: The number of workers.
        stages: The readings of each stage.
        tasks_busy: The time of the workers' tasks that compute.
        tasks_computing: The processor time of those tasks.
        idle: The time that workers had nothing to do, summed over workers.
        consumer_waiting: The time that the program waited for batches.
        budget_waiting: The time that workers idled because memory was used up.
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
        """Returns the statistics that users see."""
        stages = tuple(
            StageStatistics(
                stage.name,
                stage.examples,
                stage.num_bytes,
                stage.busy,
                stage.waiting,
                stage.fill,
                stage.padding,
                stage.counted.left_out,
            )
            for stage in self.stages
        )
        return Statistics(self.seconds, stages)
