"""Work that some libraries leave to the user: shuffling, and reading by hand."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

Element = TypeVar("Element")
Rows = tuple[np.ndarray, ...]
"""Arrays with the same number of rows."""

POOL = 10_000


def epochs_of(files: Sequence[str], num_epochs: int) -> list[str]:
    """Returns the files of all epochs, in a different order for each epoch."""
    return [
        name
        for epoch in range(num_epochs)
        for name in random.Random(epoch).sample(files, len(files))
    ]


def lines_of(files: Iterable[str]) -> Iterator[bytes]:
    """Yields the lines of text files."""
    for name in files:
        yield from Path(name).read_bytes().splitlines()


def cut(elements: Sequence[Element], size: int) -> Iterator[Sequence[Element]]:
    """Yields the elements in pieces of equal size. The last piece may be smaller."""
    return (elements[begin : begin + size] for begin in range(0, len(elements), size))


def shuffled(
    elements: Iterable[Element], batch_size: int, pool_size: int = POOL, seed: int = 0
) -> Iterator[Sequence[Element]]:
    """Yields batches from a pool in which each new element replaces a random element."""
    generator = np.random.default_rng(seed)
    source = iter(elements)
    pool = list(islice(source, pool_size))
    batch: list[Element] = []
    positions: list[int] = []
    for element in source:
        if not positions:
            positions = generator.integers(0, len(pool), 8_192).tolist()
        position = positions.pop()
        batch.append(pool[position])
        pool[position] = element
        if len(batch) == batch_size:
            yield batch
            batch = []
    random.Random(seed).shuffle(pool)
    yield from cut(batch + pool, batch_size)


def shuffled_rows(
    blocks: Iterable[Rows], batch_size: int, pool_size: int = POOL, seed: int = 0
) -> Iterator[Rows]:
    """Yields batches of rows from blocks. Whole blocks are permuted together with leftover rows."""
    generator = np.random.default_rng(seed)
    waiting: list[Rows] = []
    count = 0
    for block in blocks:
        waiting.append(block)
        count += len(block[0])
        if count >= 2 * pool_size:
            rows = _permuted(waiting, generator)
            ready = (count - pool_size) // batch_size * batch_size
            for begin in range(0, ready, batch_size):
                yield tuple(column[begin : begin + batch_size] for column in rows)
            waiting = [tuple(column[ready:] for column in rows)]
            count -= ready
    rows = _permuted(waiting, generator)
    for begin in range(0, count, batch_size):
        yield tuple(column[begin : begin + batch_size] for column in rows)


def _permuted(blocks: Sequence[Rows], generator: np.random.Generator) -> Rows:
    order = generator.permutation(sum(len(block[0]) for block in blocks))
    return tuple(np.concatenate(columns)[order] for columns in zip(*blocks, strict=True))
