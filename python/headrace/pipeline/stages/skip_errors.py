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

    effect: ClassVar = Effect.SIFTS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    def judges_errors(self) -> bool:
        """True: it skips examples at which an earlier step fails."""
        return True

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
        """Skips damaged records, and examples at which a function raises.

        This applies to the stages before. Skipped examples are listed in `Batches.skipped`, in
        order: the file, the number and the position of the record, the stage and the failure. The
        list is part of the state. After a record of a TFRecord file whose data are damaged, the
        next one is read, and after a stray quote in a CSV file, the next valid line. Damage that
        hides the beginning of the next record ends the file. Lost records count: lines, or an
        estimate of the records in the rest of the file from the length of the records before; if
        none is possible, it is an error. Failures that are not an example's fault remain errors: a
        file that cannot be opened or read, an iterator that fails, the footer of a Parquet file, an
        interrupt.

        `take`, `skip`, `shard` and `batch` before this count only examples that were not skipped. A
        batch whose examples do not fit together, or at which a function fails, is skipped as a
        whole.

        Args:
            budget: The largest number of examples that may be skipped in the whole iteration, at
                least 0; or the largest share of those read so far, above 0.0 and below 1.0, checked
                whenever one is skipped, from 1,000 examples on, and at the end. 1 << 62 skips all
                failures, including losses that cannot be counted.
            raises_at_end: Whether `errors.SkippedExamples` follows the last batch if any examples
                were skipped. Its text counts them.

        Raises:
            TypeError: If `budget` is not a number, or `raises_at_end` not a bool.
            ValueError: If `budget` is out of range, or after `shard(even=...)`, or after a full
                shuffle of `concat` or `zip`.

        If the budget is exceeded, the failure that exceeded it is raised while the pipeline is
        iterated, with the number of earlier ones; a share that is too large at the end of the data
        raises `errors.SkippedExamples`.
        """
        check_budget(budget)
        check_bool("skip_errors", "raises_at_end", raises_at_end)
        check_skippable(self._stages)
        return self._then(SkipErrors(budget, raises_at_end))
