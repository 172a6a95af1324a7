"""headrace: `map` with one thread, several threads or worker processes."""

import sys
from collections.abc import Callable, Iterator

import numpy as np

import headrace as hr
from benchmarks.functions import work


class Called:
    """A function of an example, which worker processes import."""

    def __init__(self, function: Callable[[int], np.ndarray]) -> None:
        self._function = function

    def __call__(self, example: dict[str, int]) -> dict[str, np.ndarray]:
        return {"image": self._function(int(example["number"]))}


def batches(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    """Yields batches; the command's further arguments are those of `map`."""
    given = {name: int(number) for name, number in (item.split("=") for item in sys.argv[3:])}
    numbers = hr.arrays({"number": np.arange(count)})
    for batch in numbers.map(Called(function), **given).batch(work.BATCH_SIZE):
        yield batch["image"]


if __name__ == "__main__":
    work.run(batches)
