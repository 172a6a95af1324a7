"""Random sources of arrays and of Python objects."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.pipeline.generated.model import Example
from tests.pipeline.generated.source import IN_PROCESSES, MANY, ONCE, Pace, Source
from tests.pipeline.generated.source_files import has_damage

import headrace as hr


def arrays(random: Random) -> Source:
    count = random.choice([0, 1, 7, 60, 100, 130])
    has_rows = random.random() < 0.3
    arrays: dict[str, Any] = {"n": np.arange(count)}
    if has_rows:
        arrays["row"] = np.arange(count * 3).reshape(count, 3)
    examples: list[Example] = [
        {"n": n, "row": [3 * n, 3 * n + 1, 3 * n + 2]} if has_rows else {"n": n}
        for n in range(count)
    ]
    text = f"arrays({count}{', rows of three' if has_rows else ''})"
    names, positions = frozenset(arrays), [(0, record) for record in range(count)]
    return Source(
        text, lambda directory: hr.arrays(arrays), examples, names, sizes=None, positions=positions
    )


class _Rows:
    """Rows by number: dicts, tuples or numbers, one by one or in blocks."""

    def __init__(self, count: int, makes: str, is_damaged: bool = False) -> None:
        self.count, self.makes, self.is_damaged = count, makes, is_damaged

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Any:
        if not 0 <= number < self.count:
            raise IndexError(number)
        if self.is_damaged and has_damage(number):
            raise ValueError(f"row {number} is damaged")
        return {"dict": {"n": number}, "tuple": (number,), "number": number}[self.makes]


class _Blocks(_Rows):
    def __getitems__(self, numbers: list[int]) -> list[Any]:
        return [self[number] for number in numbers]


def indexed(random: Random) -> Source:
    kind, makes = random.choice([_Rows, _Blocks]), random.choice(["dict", "tuple", "number"])
    count, num_threads = random.choice([0, 1, 30, 150]), random.choice([1, 1, 3])
    # Rarely in processes, which take time to start.
    num_processes = 2 if random.random() < 0.05 else 0
    is_damaged, seed = random.random() < 0.2, random.choice([None, None, random.randrange(2**20)])
    rows = kind(count, makes, is_damaged)
    names = None if makes == "dict" else ["n"]

    def begin(directory: Path) -> hr.Pipeline:
        callers = (1, num_processes) if num_processes else (num_threads, 0)
        result = hr.indexed(rows, *callers, names)
        if seed is not None:
            result = result.shuffle(seed=seed)
        return result.skip_errors(MANY) if is_damaged else result

    callers = f", num_processes={num_processes}" if num_processes else f", {num_threads}"
    shuffle = "" if seed is None else f".shuffle(seed={seed})"
    return Source(
        f"indexed({kind.__name__}({count}, {makes}){callers}){shuffle}"
        f"{'.skip_errors()' * is_damaged}",
        begin,
        [{"n": n} for n in range(count)],
        seed=seed,
        lost=frozenset(n for n in range(count) if is_damaged and has_damage(n)),
        sizes=None,
        positions=None if is_damaged or seed is not None else [(0, n) for n in range(count)],
    )


def _yielded(count: int) -> Iterator[Example]:
    return ({"n": n} for n in range(count))


class _Counter:
    """An iterator that can be resumed."""

    def __init__(self, count: int) -> None:
        self.count, self.next = count, 0

    def __iter__(self) -> "_Counter":
        return self

    def __next__(self) -> Example:
        if self.next == self.count:
            raise StopIteration
        self.next += 1
        return {"n": self.next - 1}

    def state(self) -> int:
        return self.next

    def restore(self, state: int) -> None:
        self.next = state


def _slow(count: int) -> Iterator[Example]:
    """A slow source, which ends blocks early."""
    for n in range(count):
        if n % 11 == 3:
            time.sleep(0.002)
        yield {"n": n}


class _Once:
    """A factory that always returns the same iterator, so lost examples are not repeated."""

    def __init__(self, count: int, pace: Pace) -> None:
        self._iterator = self._examples(count, pace)

    def __call__(self) -> Iterator[Example]:
        return self._iterator

    @staticmethod
    def _examples(count: int, pace: Pace) -> Iterator[Example]:
        for n in range(count):
            pace.wait(n)
            yield {"n": n}


class _Shifted:
    """An iterator that adds an offset to its numbers. It has a state if the inner one has."""

    def __init__(self, iterator: Any, more: int) -> None:
        self._iterator, self._more = iterator, more
        if hasattr(iterator, "state"):
            self.state, self.restore = iterator.state, iterator.restore

    def __iter__(self) -> "_Shifted":
        return self

    def __next__(self) -> Example:
        return {"n": next(self._iterator)["n"] + self._more}


def _part(worker: int, num_workers: int, makes: Any, counts: Sequence[int]) -> Iterator[Example]:
    """Numbers that only this worker yields."""
    assert num_workers == len(counts)
    return _Shifted(makes(counts[worker]), 1000 * worker)


def _parts(random: Random) -> Source:
    """Iterators in two worker processes, whose examples are taken in turn."""
    counts = random.choice([(1, 0), (0, 30), (30, 12), (7, 90)])
    makes = random.choice([_yielded, _Counter, _slow])
    parts = [[1000 * worker + n for n in range(count)] for worker, count in enumerate(counts)]
    numbers = [part[n] for n in range(max(counts)) for part in parts if n < len(part)]
    factory = partial(_part, makes=makes, counts=counts)
    return Source(
        f"iterable({makes.__name__}, {counts}, num_processes=2)",
        lambda directory: hr.iterable(factory, num_processes=2),
        [{"n": n} for n in numbers],
        sizes=None,
        kind=IN_PROCESSES,
        positions=[(0, record) for record in range(len(numbers))],
    )


def iterable(random: Random) -> Source:
    # Rarely in processes, which take time to start.
    share = random.random()
    if share < 0.06:
        return _parts(random)
    num_processes = int(share < 0.1)
    count = random.choice([1, 30, 150])
    makes = random.choice([_yielded, _Counter, _slow])
    return Source(
        f"iterable({makes.__name__}, {count}{', num_processes=1' * num_processes})",
        lambda directory: hr.iterable(partial(makes, count), num_processes),
        [{"n": n} for n in range(count)],
        sizes=None,
        kind=IN_PROCESSES if num_processes else "",
        positions=[(0, record) for record in range(count)],
    )


def journal(random: Random) -> Source:
    """Rows of a journal, whose order was recorded by the first iteration."""
    count, max_age = random.choice([0, 1, 30, 150]), random.choice([None, 3])

    def begin(directory: Path) -> hr.Pipeline:
        path = directory / f"journal-{count}-{max_age}"
        if directory.exists() and not path.exists():
            with hr.Journal(path) as rows:
                rows.append({"n": n} for n in range(count // 2))
                for n in range(count // 2, count):
                    rows.append([{"n": n}])
        return hr.journal(path, max_age=max_age)

    return Source(
        f"journal({count}, max_age={max_age})",
        begin,
        [{"n": n} for n in range(count)],
        sizes=None,
        positions=[(0, record) for record in range(count)],
    )


def once(random: Random) -> Source:
    count, pace = random.choice([0, 1, 30, 150]), Pace()
    return Source(
        f"iterable(once, {count})",
        lambda directory: hr.iterable(_Once(count, pace)),
        [{"n": n} for n in range(count)],
        sizes=None,
        kind=ONCE,
        pace=pace,
    )
