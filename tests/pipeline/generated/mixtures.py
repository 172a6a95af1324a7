"""Mixtures that change while they are read: no example is lost or repeated."""

import json
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

import headrace as hr

__all__ = ["check_changes"]

_NAMES = ("web", "books", "code", "talks", "maths", "news")
_MOST = 60


class _Part:
    """A part of a mixture, with numbers that no other part has."""

    def __init__(self, random: Random, number: int, shard: tuple[int, int] | None) -> None:
        count = random.choice([1, 7, 25, _MOST])
        numbers = np.arange(count) + 1000 * number
        if random.random() < 0.5:
            lists = [{"n": int(n), "list": np.arange(n % 5)} for n in numbers]
            self.pipe = hr.iterable(lists).map(_as_given)
        else:
            self.pipe = hr.arrays({"n": numbers}).map(_with_list)
        if random.random() < 0.3:
            self.pipe = self.pipe.shuffle(window=5, seed=number)
        if shard is not None:
            self.pipe = self.pipe.shard(*shard)
        self.numbers = [int(example["n"]) for example in self.pipe]
        self.found: list[int] = []


def _as_given(example: Mapping[str, Any]) -> dict[str, Any]:
    return {"n": np.int64(example["n"]), "list": np.asarray(example["list"], np.int64)}


def _with_list(example: Mapping[str, Any]) -> dict[str, Any]:
    return {"n": np.int64(example["n"]), "list": np.arange(int(example["n"]) % 5)}


def _only_number(example: Mapping[str, Any]) -> dict[str, Any]:
    return {"n": example["n"]}


def check_changes(number: int) -> int:
    """Reads the random mixture of this number, and changes it a few times.

    Returns the number of changes.
    """
    random = Random(number)
    # Parts with their own shard have no common order, so no ranks follow.
    shard = random.choice([None, None, None, (0, 1), (0, 2), (1, 2), (2, 3)])
    parts = {name: _Part(random, index, shard) for index, name in enumerate(_NAMES)}
    unit: Any = random.choice(["examples", "examples", ("tokens", "list")])
    seed, size = random.randrange(2**20), random.choice([1, 3, 8])
    names = random.sample(_NAMES, random.randint(1, 4))
    unused = [name for name in _NAMES if name not in names]
    counts: dict[str, int] = {}
    state, num_changes = None, 0
    for is_last in [False] * random.randint(1, 3) + [True]:
        pipe, undrawn = _mixed(random, {name: parts[name].pipe for name in names}, seed, unit)
        # The number of consumed examples is a multiple of the number of ranks.
        num_given = sum(len(part.found) for part in parts.values())
        world = random.choice([1, 1, 2 - num_given % 2])
        pipe = pipe.map(_only_number)
        ranks = [pipe.shard(rank, world) for rank in range(world)] if shard is None else [pipe]
        batches = [
            rank.batch(size).resume(state, allow={"weights", "parts"})
            if state is not None
            else iter(rank.batch(size))
            for rank in ranks
        ]
        state = _read(random, batches, size, parts, None if is_last else random.randint(0, 12))
        for batch in batches:
            batch.close()
        if state is None:
            break
        num_changes += 1
        if random.random() < 0.4 and len(names) > 1:
            names.remove(random.choice(names))
        if random.random() < 0.4 and unused:
            names.insert(random.randint(0, len(names)), unused.pop())
        if random.random() < 0.2:
            random.shuffle(names)
    for name in names:
        if name not in undrawn:
            assert parts[name].found == parts[name].numbers, name
    counts = {name: len(part.found) for name, part in parts.items() if part.found}
    assert all(part.found == part.numbers[: len(part.found)] for part in parts.values()), counts
    return num_changes


def _mixed(
    random: Random, pipes: dict[str, hr.Pipeline], seed: int, unit: Any
) -> tuple[hr.Pipeline, set[str]]:
    """Returns a random mixture, and the names of the parts that it may leave examples of."""

    def weights(least: int) -> dict[str, int]:
        drawn = {name: random.randint(least, 5) for name in pipes}
        drawn[next(iter(pipes))] = 1
        return drawn

    if random.random() < 0.5:
        drawn = weights(random.choice([0, 1]))
        mixed = hr.mix(pipes, drawn, seed=seed, stop="all", unit=unit)
        return mixed, {name for name, weight in drawn.items() if not weight}
    schedule = {0: weights(0), random.randint(1, 40): weights(0), 100: weights(1)}
    return hr.mix(pipes, seed=seed, stop="all", schedule=schedule, unit=unit), set()


def _read(
    random: Random,
    ranks: list[hr.Batches],
    size: int,
    parts: Mapping[str, _Part],
    most: int | None,
) -> dict[str, Any] | None:
    """Takes some or all batches of each rank, and returns the next state, or None at the end."""
    num_taken = 0
    while most is None or num_taken < most:
        example = [batch for rank in ranks if (batch := next(rank, None)) is not None]
        if len(example) < len(ranks) or any(len(batch["n"]) < size for batch in example):
            # At the end, ranks with fewer examples than others have no common position.
            most = None
        if not example:
            return None
        num_taken += 1
        columns = [batch["n"].tolist() for batch in example]
        for position in range(max(map(len, columns))):
            for column in columns:
                if position < len(column):
                    part = parts[_NAMES[column[position] // 1000]]
                    part.found.append(column[position])
    counts = ranks[0].counts
    if len(ranks) == 1:
        for name, part in parts.items():
            assert counts.get(name, 0) <= len(part.found)
    return json.loads(json.dumps(ranks[random.randrange(len(ranks))].state()))
