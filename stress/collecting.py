"""Collects the examples of an iteration in order, and the error that ended it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from headrace.core import errors

__all__ = ["DATA_ERRORS", "TakenExamples", "take", "words_of"]

_Example = TypeVar("_Example")
# Errors that users may see for damaged data. Any other error is a bug in headrace.
DATA_ERRORS = (
    errors.AbortedError,
    errors.DataLossError,
    errors.FailedPreconditionError,
    errors.InvalidArgumentError,
    errors.NotFoundError,
    errors.OutOfRangeError,
    errors.ResourceExhaustedError,
    errors.UnavailableError,
)


@dataclass
class TakenExamples:
    """The collected examples.

    Attributes:
        numbers: The numbers of the examples, in order; None for an example that is not in the
            files.
        error: The error that ended the iteration, or None.
    """

    numbers: list[int | None]
    error: BaseException | None = None

    def is_prefix_of(self, uninterrupted: Sequence[int]) -> bool:
        """Returns whether these are the first examples of `uninterrupted`, in the same order."""
        return self.numbers == list(uninterrupted[: len(self.numbers)])


def take(
    examples: Iterable[_Example], number_of: Callable[[_Example], int | None]
) -> TakenExamples:
    """Iterates to the end or to the first error."""
    taken = TakenExamples([])
    try:
        for example in examples:
            taken.numbers.append(number_of(example))
    except BaseException as error:
        taken.error = error
    return taken


def words_of(error: BaseException | None) -> str:
    """Returns the text of an error on one line, with notes and causes."""
    if error is None:
        return "no error"
    notes = getattr(error, "__notes__", [])
    text = "; ".join([f"{type(error).__name__}: {error}", *map(str, notes)])
    return " ".join(text.split())
