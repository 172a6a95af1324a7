"""The comparisons: a program with its model, with itself under other options, and resumed."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.pipeline.conftest import same
from tests.pipeline.generated.exclusions import is_excluded_at_run
from tests.pipeline.generated.program import Program, Ranks

import headrace as hr
from headrace.core import errors

WAYS: Sequence[dict[str, int]] = (
    {"num_threads": 1},
    {"num_threads": 3, "memory_bytes": 400_000},
    {"num_threads": 8, "memory_bytes": 4_000_000},
)
# Refused before the first batch: by `resume`, or by the first `next` behind it.
REFUSED = (ValueError, errors.InvalidArgumentError)
# Places of an iteration that are resumed.
_PLACES = 6


def check(program: Program, directory: Path, number: int) -> None:
    """Raises AssertionError unless a program gives what it means, in all ways.

    Args:
        program: What is checked.
        directory: Where the files are.
        number: The number that it was drawn from; other choices are made from it, too.
    """
    try:
        _check(program, directory, number)
    except errors.OpError as error:
        if not is_excluded_at_run(error):
            raise


def _check(program: Program, directory: Path, number: int) -> None:
    random = Random(-number)
    ranks = Ranks()
    if "shard of ranks" in program.kinds:
        world = random.choice([1, 2, 3, 4])
        ranks = Ranks(random.randrange(world), world)
    expected = program.expected(ranks)
    made = program.pipeline(directory, ranks)
    whole, states, skipped = run(made, WAYS[number % 3])
    assert list(map(plain, whole)) == expected, _difference(list(map(plain, whole)), expected)
    assert all(np.asarray(item["n"]).dtype == np.int64 for item in whole)
    # What it keeps in a cache is there when it runs again.
    for pipeline, way in (
        (made, WAYS[(number + 1) % 3]),
        (program.pipeline(directory, ranks), WAYS[(number + 2) % 3]),
    ):
        again, _, left_out = run(pipeline, way)
        assert same(again, whole), f"with {way}: {_difference(again, whole)}"
        assert left_out == skipped, f"with {way}, other examples were skipped"
    check_resumes(program, directory, ranks, (whole, states, skipped), random)
    if "shard of ranks" in program.kinds:
        check_ranks(program, directory, ranks.world, random)


def run(pipeline: hr.Pipeline, way: Mapping[str, int], state: Any = None) -> Any:
    """All items of an iteration, the state before each and behind the last, what was skipped."""
    with pipeline.options(**way).resume(state) as batches:
        items, states = [], [copied(batches.state())]
        for item in batches:
            items.append(item)
            states.append(copied(batches.state()))
        return items, states, batches.skipped


def check_resumes(
    program: Program, directory: Path, ranks: Ranks, given: Any, random: Random
) -> None:
    """Resumes at each place, or some of many, and from what follows once more."""
    whole, states, skipped = given
    places = {0, len(whole), *random.sample(range(len(whole) + 1), min(_PLACES, len(whole) + 1))}
    for place in sorted(places):
        way = random.choice(WAYS)
        pipeline = program.pipeline(directory, ranks)
        again, later, left_out = run(pipeline, way, states[place])
        where = f"resumed behind {place} items, with {way}"
        assert same(again, whole[place:]), f"{where}: {_difference(again, whole[place:])}"
        assert left_out == skipped, f"{where}: other examples were skipped"
        middle = random.randint(0, len(again))
        way = random.choice(WAYS)
        twice, _, _ = run(program.pipeline(directory, ranks), way, later[middle])
        where += f", and {middle} items later, with {way}"
        rest = whole[place + middle :]
        assert same(twice, rest), f"{where}: {_difference(twice, rest)}"


def check_ranks(program: Program, directory: Path, old: int, random: Random) -> None:
    """Continues with another number of ranks.

    What follows is what no rank was given, each as often as it should come; or each rank's state is
    refused.
    """
    new = random.choice([1, 2, 3, 4, 8])
    if new == old:
        return
    ranks = [
        run(program.pipeline(directory, Ranks(rank, old)), random.choice(WAYS))
        for rank in range(old)
    ]
    num_steps = min(len(items) for items, _, _ in ranks)
    for step in {0, *random.sample(range(num_steps + 1), min(2, num_steps + 1))}:
        follows = Counter(rows_of(item for items, _, _ in ranks for item in items[step:]))
        answers = set()
        for rank, (_, states, _) in enumerate(ranks):
            try:
                rest = [
                    item
                    for other in range(new)
                    for item in run(
                        program.pipeline(directory, Ranks(other, new)),
                        random.choice(WAYS),
                        states[step],
                    )[0]
                ]
            except REFUSED as error:
                answers.add("refused" if "shard" in str(error) else repr(error))
                continue
            answers.add("accepted")
            found = Counter(rows_of(rest))
            where = (
                f"behind {step} steps of {old} ranks, from the state of rank {rank}, {new} ranks"
            )
            assert found == follows, (
                f"{where}: {sum((found - follows).values())} more and "
                f"{sum((follows - found).values())} fewer than no rank was given"
            )
        where = f"{old} ranks become {new} behind {step} steps"
        assert answers in ({"refused"}, {"accepted"}), f"{where}: {answers}"


def rows_of(items: Iterable[Mapping[str, Any]]) -> Iterable[int]:
    """The numbers of all examples, in batches or not; not those that fill up a batch."""
    for item in items:
        numbers = np.ravel(item["n"])
        mask = np.ravel(item.get("mask", True))
        yield from map(int, numbers[mask] if mask.size == numbers.size else numbers)


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as the model has it."""
    return {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in item.items()
    }


def copied(state: Any) -> Any:
    """A state as another process gets it."""
    return json.loads(json.dumps(state))


def _difference(found: Sequence[Any], wanted: Sequence[Any]) -> str:
    for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if not same([plain(one)], [plain(other)]):
            return f"item {number} is {one}, expected {other}"
    return f"there are {len(found)} items, expected {len(wanted)}"


def shrunk(program: Program, directory: Path, number: int) -> Program:
    """A program of fewer stages that fails, too."""
    for index in range(len(program.steps)):
        steps = program.steps[:index] + program.steps[index + 1 :]
        shorter = Program(program.beginning, steps)
        try:
            shorter.pipeline(directory)
            check(shorter, directory, number)
        except AssertionError:
            return shrunk(shorter, directory, number)
        except Exception:  # Not a program any more.
            continue
    return program
