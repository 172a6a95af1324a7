"""The comparisons: a program with its model, with itself under other options, and resumed."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from tests.pipeline.conftest import same
from tests.pipeline.generated.model import Run
from tests.pipeline.generated.program import At, Program, Ranks
from tests.pipeline.generated.sources import MANY, ONCE
from tests.pipeline.generated.steps import BUDGET

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
    random = Random(-number)
    ranks = Ranks()
    if "shard of ranks" in program.kinds:
        world = random.choice([1, 2, 3, 4])
        ranks = Ranks(random.randrange(world), world)
    expected = program.expected(ranks)
    made = program.pipeline(directory, ranks)
    may_fail = BUDGET in program.kinds
    whole, states, skipped = run(made, WAYS[number % 3], None, may_fail)
    if skipped.failure is not None:
        # What is given before it is what there would be without a budget.
        expected = expected[: len(whole)]
    assert list(map(plain, whole)) == expected, _difference(list(map(plain, whole)), expected)
    assert all(np.asarray(item["n"]).dtype == np.int64 for item in whole)
    # What it keeps in a cache is there when it runs again.
    once = ONCE in program.kinds
    for pipeline, way in (
        (program.pipeline(directory, ranks) if once else made, WAYS[(number + 1) % 3]),
        (program.pipeline(directory, ranks), WAYS[(number + 2) % 3]),
    ):
        again, _, omitted = run(pipeline, way, None, may_fail)
        assert same(again, whole), f"with {way}: {_difference(again, whole)}"
        assert omitted == skipped, f"with {way}: {omitted}, expected {skipped}"
    if not may_fail:
        check_in_step(program, directory, ranks, WAYS[number % 3])
    check_resumes(program, directory, ranks, (whole, states, skipped), random)
    if "shard of ranks" in program.kinds and not may_fail:
        check_ranks(program, directory, ranks.world, random)


class Omitted(NamedTuple):
    """The examples that an iteration skipped, and the error that ended it."""

    skipped: list[hr.Skipped]
    failure: tuple[str, str] | None

    def sorted(self) -> "Omitted":
        """Returns the same without an order of the examples."""
        return Omitted(sorted(self.skipped, key=repr), self.failure)


def run(
    pipeline: hr.Pipeline, way: Mapping[str, int], state: Any = None, may_fail: bool = False
) -> tuple[list[dict[str, Any]], list[Any], Omitted]:
    """All items of an iteration, the state before each and behind the last, what was omitted."""
    items: list[dict[str, Any]] = []
    states: list[Any] = []
    batches: hr.Batches | None = None
    failure = None
    try:
        # An error of what is learned before the first batch comes here, too.
        with pipeline.options(**way).resume(state) as batches:
            states.append(copied(batches.state()))
            for item in batches:
                items.append(item)
                states.append(copied(batches.state()))
    except (LookupError, errors.OpError, errors.SkippedExamples) as error:
        if not may_fail:
            raise
        failure = type(error).__name__, str(error)
    skipped = [] if batches is None else batches.skipped
    return items, states or [state], Omitted(skipped, failure)


def check_in_step(program: Program, directory: Path, ranks: Ranks, way: Mapping[str, int]) -> None:
    """Gives an iterator's examples only once an item needs them, as a plain loop would."""
    pace, text = program.beginning.pace, repr(program)
    # Types of lists are learned from lists that are not empty. What fills a cache has a run of its
    # own in the model, which is not looked at.
    if pace is None or "with_list" in text or "cache" in program.kinds:
        return
    asked = Run()
    try:
        pace.allow(0)
        with program.pipeline(directory, ranks).options(**way).resume(None) as batches:
            for item in program.model(At(asked, 0, ranks)):
                pace.allow(asked.kept.get(pace, 0))
                assert plain(next(batches)) == item
            pace.allow(MANY)
            assert next(batches, None) is None
    finally:
        pace.allow(MANY)


def check_resumes(
    program: Program, directory: Path, ranks: Ranks, given: Any, random: Random
) -> None:
    """Resumes at each place, or some of many, and from what follows once more."""
    whole, states, skipped = given
    may_fail = BUDGET in program.kinds
    places = {0, len(whole), *random.sample(range(len(whole) + 1), min(_PLACES, len(whole) + 1))}
    for place in sorted(places):
        way = random.choice(WAYS)
        pipeline = program.pipeline(directory, ranks)
        again, later, omitted = run(pipeline, way, states[place], may_fail)
        where = f"resumed behind {place} items, with {way}"
        assert same(again, whole[place:]), f"{where}: {_difference(again, whole[place:])}"
        if "zip" in program.kinds:
            # Each part resumes from a place of its own, so what they skip is in another order.
            omitted, wanted = omitted.sorted(), skipped.sorted()
        else:
            wanted = skipped
        assert omitted == wanted, f"{where}: {omitted}, expected {wanted}"
        middle = random.randint(0, len(again))
        way = random.choice(WAYS)
        twice, _, _ = run(program.pipeline(directory, ranks), way, later[middle], may_fail)
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
