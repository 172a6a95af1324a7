"""`skip_errors`: skips examples at which an earlier stage fails."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import check_bool, check_budget
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.random_access import check_skippable
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["SkipErrors", "SkipErrorsMethod"]


@dataclass(frozen=True)
class SkipErrors(KeepsComponents):
    """Skips examples at which an earlier stage fails.

    Attributes:
        budget: The number, or the share, of examples that may be skipped.
        raises_at_end: Whether the end of the data is an error if any was skipped.
    """

    budget: int | float
    raises_at_end: bool = False

    effect: ClassVar = Effect.SKIPS_ERRORS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> None:
        """Returns None: it is not known how many examples fail."""

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        planning.finish_waiting()
        planning.plan = planning.plan.skip_errors(planning.number)


class SkipErrorsMethod(Chain):
    """The method `skip_errors`."""

    __slots__ = ()

    def skip_errors(self, budget: int | float, raises_at_end: bool = False) -> Self:
        """Skips damaged records and examples for which a function raises an exception.

        It applies to the stages before it. `Batches.skipped` lists the skipped examples in order,
        each with its file, record number, offset, stage and reason. The list is part of the state.

        After a damaged TFRecord record, reading continues with the next record. After a stray quote
        in a CSV file, it continues with the next valid line. If the start of the next record cannot
        be found, the rest of the file is skipped. Lost records count towards the budget: CSV lines
        exactly, and other records by an estimate from the average length of the earlier ones. If
        there is nothing to estimate from, the failure is raised.

        Failures that are not caused by one example are always raised: a file that cannot be opened
        or read, a failing iterator, a damaged Parquet footer, or an interrupt.

        Examples that were skipped do not count for `take`, `skip`, `shard` and `batch` before this
        stage. If a whole batch fails, because its examples do not fit together or a function raises
        for it, the batch is skipped.

        If the budget is exceeded, the iteration raises the failure that exceeded it, with the
        number of earlier failures. If a share is exceeded only at the end of the data, it raises
        `errors.SkippedExamples`.

        Args:
            budget: An int is the number of examples that may be skipped in the whole iteration, at
                least 0. A float between 0.0 and 1.0 is the share of the examples read so far. The
                share is checked at each skipped example once 1,000 examples were read, and at the
                end. Use `1 << 62` to skip everything, including losses that cannot be counted.
            raises_at_end: If True and any example was skipped, `errors.SkippedExamples` is raised
                after the last batch.

        Raises:
            TypeError: If `budget` is not a number, or `raises_at_end` is not a bool.
            ValueError: If `budget` is out of range, or if it follows `shard(even=...)` or a full
                shuffle of `concat` or `zip`.

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
        check_budget(budget)
        check_bool("skip_errors", "raises_at_end", raises_at_end)
        check_skippable(self._stages)
        return self._then(SkipErrors(budget, raises_at_end))
