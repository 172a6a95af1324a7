"""Statistics of the stages of a running pipeline."""

from dataclasses import dataclass

from headrace.pipeline.describe import stages
from headrace.pipeline.plan.planner import Counted
from headrace.pipeline.plan.python_functions import name_of

__all__ = ["Readings", "StageReadings", "StageStatistics", "Statistics"]


@dataclass(frozen=True)
class StageStatistics:
    """Statistics of one stage.

    Attributes:
        name: The stage, and its function if it has one.
        examples: How many examples it has given; batches after `batch`.
        bytes: How many bytes it has made; 0 for a stage that only moves examples.
        busy_seconds: How long its tasks took, on all threads together.
        waiting_seconds: How long it had nothing to do, since the stages before it were too slow;
            for files, how long its reads waited for storage or for a processor.
        fill: How full the places for its tasks were on average, from 0.0 to 1.0: near 1 where this
            stage or one behind it limits, near 0 where one before it does. None for a stage
            without tasks of its own.
        padding: Of all elements that `pack` has given, the share that fills up, from 0.0 to 1.0.
            None for other stages.
    """

    name: str
    examples: int
    bytes: int
    busy_seconds: float
    waiting_seconds: float
    fill: float | None
    padding: float | None


@dataclass(frozen=True)
class Statistics:
    """Statistics of an iteration over a pipeline.

    Attributes:
        seconds: Since it began, until now or its end.
        stages: What each stage has done, in order. A source that parses fields, such as `csv`, has
            two: for reading records, and for their fields.
    """

    seconds: float
    stages: tuple[StageStatistics, ...]


@dataclass(frozen=True)
class StageReadings:
    """The engine's counters of a stage."""

    counted: Counted
    examples: int
    num_bytes: int
    busy: float
    computing: float
    starving: float
    fill: float | None
    padding: float | None

    @property
    def name(self) -> str:
        """The stage and its function, such as "map(augment)"."""
        return self.name_of(self.counted)

    @staticmethod
    def name_of(counted: Counted) -> str:
        """Returns the stage and its function, such as "map(augment)"."""
        name = counted.stage.name
        match counted.stage:
            case stages.Map(function=function) | stages.Filter(function=function):
                return f"{name}({name_of(function)})"
            case stages.FlatMap(function=function) | stages.Iterable_(factory=function):
                return f"{name}({name_of(function)})"
        return f"{name}, {counted.part}" if counted.part else name

    @property
    def waiting(self) -> float:
        """See `StageStatistics.waiting_seconds`."""
        is_measured = self.computing > 0
        return max(self.busy - self.computing, 0.0) if is_measured else self.starving


@dataclass(frozen=True)
class Readings:
    """The engine's counters of an iteration, in seconds.

    Attributes:
        seconds: Since it began.
        num_threads: Workers.
        stages: Of each stage.
        tasks_busy: What the tasks of workers that compute took.
        tasks_computing: How long those had a processor.
        idle: How long workers had nothing to do, all together.
        consumer_waiting: How long the program waited for batches.
        budget_waiting: How long workers were idle since memory was used up.
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
        """Returns them as users see them."""
        stages = tuple(
            StageStatistics(
                stage.name,
                stage.examples,
                stage.num_bytes,
                stage.busy,
                stage.waiting,
                stage.fill,
                stage.padding,
            )
            for stage in self.stages
        )
        return Statistics(self.seconds, stages)
