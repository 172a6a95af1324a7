"""Accounts for the examples of a job, outside the programs that are killed."""

from collections import Counter
from collections.abc import Iterator

from stress.files.soak_jobs import Job

__all__ = ["Ledger"]


class Ledger:
    """The results of one cycle of a job.

    Attributes:
        num_repeated: The number of repeated batches, because a program resumed before them.
    """

    def __init__(self, job: Job, sums: dict[int, int]) -> None:
        """Creates an empty ledger.

        Args:
            job: The source of the examples.
            sums: The checksums of the examples seen so far. New ones are added.
        """
        self.num_repeated = 0
        self._job = job
        self._sums = sums
        self._batches: list[tuple[list[int], list[int]]] = []
        self._at = 0

    def __len__(self) -> int:
        return len(self._batches)

    def begin(self, number: int) -> Iterator[str]:
        """Records that a program starts after some batches, and yields defects."""
        if number > len(self._batches):
            yield f"it continues after {number} batches, expected at most {len(self._batches)}"
        if self._job.make is None:
            # Batches after the checkpoint may differ, since the order of threads is not fixed.
            del self._batches[number:]
        self._at = number

    def take(self, number: int, numbers: list[int], sums: list[int]) -> Iterator[str]:
        """Records a batch, and yields its defects."""
        self._at += 1
        if number != self._at:
            yield f"batch {number} came, expected {self._at}"
            self._at = number
        for example, value in zip(numbers, sums, strict=True):
            if self._known(example, value) != value:
                yield f"batch {number} has other data in example {example}"
        if number <= len(self._batches):
            self.num_repeated += 1
            if self._batches[number - 1] != (numbers, sums):
                yield f"batch {number} is another one when it comes again"
        else:
            self._batches.append((numbers, sums))

    def finish(self) -> Iterator[str]:
        """Yields the examples that are missing, repeated or wrong."""
        counts = Counter(number for numbers, _ in self._batches for number in numbers)
        expected = Counter(dict.fromkeys(self._job.numbers, self._job.num_epochs))
        for words, actual in (("lost", expected - counts), ("too many", counts - expected)):
            if actual:
                yield f"{actual.total()} examples {words}: of number {min(actual)} and others"

    def num_examples(self) -> int:
        """Returns the number of recorded examples."""
        return sum(len(numbers) for numbers, _ in self._batches)

    def _known(self, example: int, value: int) -> int:
        if self._job.sum_of is None:
            return self._sums.setdefault(example, value)
        if example not in self._sums:
            self._sums[example] = self._job.sum_of(example)
        return self._sums[example]
