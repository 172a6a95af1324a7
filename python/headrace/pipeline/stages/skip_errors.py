"""`skip_errors`: skips examples for which an earlier stage fails."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import check_bool, checked_budget
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.random_access import check_skippable
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["SkipErrors", "SkipErrorsMethod"]


@dataclass(frozen=True)
class SkipErrors(KeepsComponents):
    """Skips examples that an earlier stage fails on.

    Attributes:
        budget: The number or fraction of examples that may be skipped.
        raises_at_end: Whether to raise an error at the end of the data if any example was skipped.
    """

    budget: int | float
    raises_at_end: bool = False

    effect: ClassVar = Effect.SKIPS_ERRORS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> None:
        """Returns None, because it is unknown how many examples will fail."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.finish_waiting()
        planning.plan = planning.plan.skip_errors(planning.number)


class SkipErrorsMethod(Chain):
    """The method `skip_errors`."""

    __slots__ = ()

    def skip_errors(self, budget: int | float, raises_at_end: bool = False) -> Self:
        """Skips damaged records, and examples for which a function raises an exception.

        It covers the stages before it. `Batches.skipped` lists the skipped examples in order, with
        the file, record number, offset, stage and reason of each. The list is part of the state.

        After a damaged TFRecord record, reading continues with the next record. After a stray quote
        in a CSV file, it continues with the next valid line. If the start of the next record can't
        be found, the rest of the file is skipped. Lost records count towards the budget. Lost CSV
        lines are counted exactly. For other formats, the number is estimated from the average
        length of earlier records, and if there are none, the failure is raised.

        Failures that are not caused by a single example are always raised: a file that cannot be
        opened or read, a failing iterator, a damaged Parquet footer, or an interrupt.

        If `take`, `skip`, `shard` or `batch` comes before this stage, skipped examples don't count
        towards it. If a whole batch fails, because its examples don't fit together or a function
        raises an exception for it, the whole batch is skipped.

        When the budget is exceeded, the iteration raises the failure that exceeded it, along with
        the number of earlier failures. If a fraction is exceeded only at the end of the data,
        `errors.SkippedExamples` is raised.

        Args:
            budget: The limit for skipped examples. An int is the number for the whole iteration, at
                least 0. A float between 0.0 and 1.0 is a fraction of the examples read so far. It
                is checked whenever an example is skipped, once 1,000 examples have been read, and
                at the end. Use `1 << 62` to skip everything, including losses that cannot be
                counted.
            raises_at_end: If True, `errors.SkippedExamples` is raised after the last batch if any
                example was skipped.

        Raises:
            TypeError: If `budget` is not a number, or `raises_at_end` is not a bool.
            ValueError: If `budget` is out of range, or if the stage follows `shard(even=...)` or a
                full shuffle of `concat` or `zip`.

        Examples:
            >>> def invert(example):
            ...     if example["x"] == 0:
            ...         raise ValueError("division by zero")
            ...     return {"y": 6 // example["x"]}
            >>> batches = iter(hr.arrays({"x": [1, 0, 2]}).map(invert).skip_errors(10).batch(3))
            >>> next(batches)
            {'y': array([6, 3])}
            >>> batches.skipped[0].reason
            'ValueError: division by zero'
        """
        checked = checked_budget(budget)
        check_bool("skip_errors", "raises_at_end", raises_at_end)
        check_skippable(self._stages)
        return self._then(SkipErrors(checked, raises_at_end))
