"""Comparisons of a program with its model, with other options, and after resuming."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from tests.pipeline.conftest import same
from tests.pipeline.generated.groups import BUCKET_OF_RANKS
from tests.pipeline.generated.model import Run
from tests.pipeline.generated.program import At, Program, Ranks
from tests.pipeline.generated.source import LARGE_VALUES, MANY, ONCE
from tests.pipeline.generated.steps import BUDGET, EVEN, OF_RANKS
from tests.pipeline.run.node.in_process import end_owner, shared_ranks

import headrace as hr
from headrace.core import errors
from headrace.pipeline.run.node.local_ranks import check_node

# One of them scans files for a full shuffle. The others use existing indexes and write missing
# ones.
WAYS: Sequence[dict[str, Any]] = (
    {"num_threads": 1, "index": "memory"},
    {"num_threads": 3, "memory_bytes": 400_000},
    {"num_threads": 8, "memory_bytes": 4_000_000},
)
# The memory for a window of large values, a cache of other values, and a few sources.
_WINDOW_BYTES = 8_000_000
_SHUFFLE_BYTES = 200_000_000
# Rejected before the first batch: by `resume`, or by the first `next` after it.
REFUSED = (ValueError, errors.InvalidArgumentError)
# The errors of functions, of files, and of budgets.
FAILURES = (LookupError, errors.OpError, errors.SkippedExamples)
# The number of positions at which an iteration is resumed, and at which it is closed.
_PLACES = 5
_ENDS = 2
# The number of items from one digest to the next.
_DIGESTED = 7


def ways_of(program: Program) -> Sequence[dict[str, Any]]:
    """The options for a program.

    Programs with large values get the minimum memory that they need.
    """
    kinds = program.kinds
    # A clip that exceeds the limit is an error.
    if LARGE_VALUES not in kinds or "clips" in kinds:
        return WAYS
    has_window = any(kind.startswith(("window", "cache")) for kind in kinds)
    # The sources of some parts are also shuffled.
    is_shuffled = "sample" in kinds or "shuffle(seed=" in repr(program)
    least = _SHUFFLE_BYTES if is_shuffled else _WINDOW_BYTES if has_window else 1
    return [{**way, "memory_bytes": least * 2**number} for number, way in enumerate(WAYS)]


def check(program: Program, directory: Path, number: int) -> None:
    """Raises AssertionError unless a program yields the items of its model, with all options.

    Args:
        program: The program to check.
        directory: Where the files are.
        number: The number that determines the program and all other choices.
    """
    random = Random(-number)
    ranks = Ranks()
    if program.kinds & OF_RANKS:
        world = random.choice([1, 2, 3, 4])
        ranks = Ranks(random.randrange(world), world)
    expected = program.expected(ranks)
    output = program.pipeline(directory, ranks)
    may_fail = BUDGET in program.kinds
    digests: dict[int, str] = {}
    uninterrupted, states, skipped = run(
        output, ways_of(program)[number % 3], None, may_fail, (0, digests)
    )
    if skipped.failure is not None:
        # Items before the error are the same as without a budget.
        expected = expected[: len(uninterrupted)]
    assert list(map(plain, uninterrupted)) == expected, _difference(
        list(map(plain, uninterrupted)), expected
    )
    assert all(np.asarray(item["n"]).dtype == np.int64 for item in uninterrupted)
    # Its cache is filled when it runs again.
    once = ONCE in program.kinds
    for pipeline, way in (
        (
            program.pipeline(directory, ranks) if once else output,
            ways_of(program)[(number + 1) % 3],
        ),
        (program.pipeline(directory, ranks), ways_of(program)[(number + 2) % 3]),
    ):
        results: dict[int, str] = {}
        again, _, omitted = run(pipeline, way, None, may_fail, (0, results))
        assert same(again, uninterrupted), f"with {way}: {_difference(again, uninterrupted)}"
        assert results == digests, f"digests with {way}"
        assert omitted == skipped, f"with {way}: {omitted}, expected {skipped}"
    if not may_fail:
        check_in_step(program, directory, ranks, ways_of(program)[number % 3])
    check_resumes(program, directory, ranks, (uninterrupted, states, skipped, digests), random)
    check_ends(program, directory, ranks, (uninterrupted, skipped), random)
    if not may_fail:
        check_views(program, directory, ranks, (uninterrupted, states), random)
    if program.kinds & OF_RANKS and not may_fail:
        check_ranks(program, directory, ranks.world, random)
    check_shared_node(program, directory, random)


class Omitted(NamedTuple):
    """The examples that an iteration skipped, and the error that ended it."""

    skipped: list[hr.Skipped]
    failure: tuple[str, str] | None

    def sorted(self) -> "Omitted":
        """Returns the same with the examples sorted."""
        return Omitted(sorted(self.skipped, key=repr), self.failure)


def run(
    pipeline: hr.Pipeline,
    way: Mapping[str, Any],
    state: Any = None,
    may_fail: bool = False,
    digests: tuple[int, dict[int, str]] | None = None,
) -> tuple[list[dict[str, Any]], list[Any], Omitted]:
    """All items of an iteration, the state before each and after the end, and skipped examples.

    Args:
        pipeline: The pipeline to iterate.
        way: Its options.
        state: Where it begins.
        may_fail: Whether it may end with an error.
        digests: The number of items before, and a dict that receives digests by number of items.
    """
    items: list[dict[str, Any]] = []
    states: list[Any] = []
    batches: hr.Batches | None = None
    failure = None
    try:
        # This includes errors during the inference of components, before the first batch.
        with pipeline.options(**way).resume(state) as batches:
            states.append(copied(batches.state()))
            for item in batches:
                items.append(item)
                states.append(copied(batches.state()))
                if digests is not None:
                    note_digest(batches, digests[0] + len(items), digests[1])
            states[-1] = copied(batches.state())
    except FAILURES as error:
        if not may_fail or isinstance(error, errors.ResourceExhaustedError):
            raise
        failure = type(error).__name__, str(error)
        # Without the components, there is no state.
        if batches is not None and states:
            states[-1] = copied(batches.state())
    skipped = [] if batches is None else batches.skipped
    return items, states or [state], Omitted(skipped, failure)


def note_digest(batches: hr.Batches, index: int, digests: dict[int, str]) -> None:
    """Records the digest after a number of items, at some positions, if there is one."""
    if index % _DIGESTED:
        return
    try:
        digests[index] = batches.digest()
    except errors.FailedPreconditionError as error:
        # An error may occur before all ranks have their item.
        if not any(words in str(error) for words in ("no global order", "ended early with")):
            raise


def check_in_step(program: Program, directory: Path, ranks: Ranks, way: Mapping[str, Any]) -> None:
    """Checks an iterator that yields each example only when an item needs it."""
    pace, text = program.beginning.pace, repr(program)
    # List types are inferred from lists that are not empty. The model fills a cache in a separate
    # run, which is not compared.
    if pace is None or "with_list" in text or program.kinds & {"cache", "cache on disk"}:
        return
    model_run = Run()
    try:
        pace.allow(0)
        with program.pipeline(directory, ranks).options(**way).resume(None) as batches:
            for item in program.model(At(model_run, 0, ranks)):
                pace.allow(model_run.kept.get(pace, 0))
                assert plain(next(batches)) == item
            pace.allow(MANY)
            assert next(batches, None) is None
    finally:
        pace.allow(MANY)


def check_resumes(
    program: Program, directory: Path, ranks: Ranks, value: Any, random: Random
) -> None:
    """Resumes at each position, or at some if there are many, and then resumes again from there."""
    uninterrupted, states, skipped, digests = value
    may_fail = BUDGET in program.kinds
    # Each run starts the processes.
    num_places = 1 if "processes" in repr(program) else _PLACES
    indices = {
        0,
        len(uninterrupted),
        *random.sample(range(len(uninterrupted) + 1), min(num_places, len(uninterrupted) + 1)),
    }
    for index in sorted(indices):
        way = random.choice(ways_of(program))
        pipeline = program.pipeline(directory, ranks)
        results: dict[int, str] = {}
        again, later, omitted = run(pipeline, way, states[index], may_fail, (index, results))
        where = f"resumed after {index} items, with {way}"
        assert same(again, uninterrupted[index:]), (
            f"{where}: {_difference(again, uninterrupted[index:])}"
        )
        if "zip" in program.kinds:
            # Each part resumes at its own position, so skipped examples are reported in another
            # order.
            omitted, expected = omitted.sorted(), skipped.sorted()
        else:
            expected = skipped
        assert omitted == expected, f"{where}: {omitted}, expected {expected}"
        wanted_digests = {number: text for number, text in digests.items() if number > index}
        assert results == wanted_digests, f"digests {where}"
        middle = random.randint(0, len(again))
        way = random.choice(ways_of(program))
        twice, _, _ = run(program.pipeline(directory, ranks), way, later[middle], may_fail)
        where += f", and {middle} items later, with {way}"
        rest = uninterrupted[index + middle :]
        assert same(twice, rest), f"{where}: {_difference(twice, rest)}"


def check_ends(program: Program, directory: Path, ranks: Ranks, value: Any, random: Random) -> None:
    """Ends iterations at some positions, and resumes from the state after that."""
    uninterrupted, skipped = value
    may_fail = BUDGET in program.kinds
    for index in random.sample(range(len(uninterrupted) + 1), min(_ENDS, len(uninterrupted) + 1)):
        way = random.choice(ways_of(program))
        try:
            with program.pipeline(directory, ranks).options(**way).resume(None) as batches:
                taken = list(islice(batches, index))
            state = copied(batches.state())
        except FAILURES:
            if not may_fail:
                raise
            # The budget may be used up before the position, or before the first item.
            continue
        way = random.choice(ways_of(program))
        rest, _, omitted = run(program.pipeline(directory, ranks), way, state, may_fail)
        where = f"closed after {index} items, with {way}"
        assert same(taken, uninterrupted[:index]), (
            f"{where}: {_difference(taken, uninterrupted[:index])}"
        )
        assert same(rest, uninterrupted[index:]), (
            f"{where}: {_difference(rest, uninterrupted[index:])}"
        )
        if "zip" in program.kinds:
            # As in `check_resumes`.
            omitted, skipped = omitted.sorted(), skipped.sorted()
        assert omitted == skipped, f"{where}: {omitted}, expected {skipped}"


def check_views(
    program: Program, directory: Path, ranks: Ranks, value: Any, random: Random
) -> None:
    """Shows the first items, counts the values, and resumes with a progress bar."""
    uninterrupted, states = value
    shown = program.pipeline(directory, ranks).show(2)
    assert same(shown.examples, uninterrupted[:2])
    assert "<script" not in shown._repr_html_() + program.pipeline(directory, ranks)._repr_html_()
    assert len(repr(shown).splitlines()) >= len(shown)
    statistics = program.pipeline(directory, ranks).stats("n")
    numbers = [number for item in uninterrupted for number in np.ravel(item["n"]).tolist()]
    if numbers:
        assert statistics["n"].count == len(numbers)
        assert (statistics["n"].min, statistics["n"].max) == (min(numbers), max(numbers))
        assert np.isclose(statistics["n"].mean, np.mean(numbers))
    index = random.randrange(len(states))
    with program.pipeline(directory, ranks).progress(states[index]) as batches:
        assert same(list(batches), uninterrupted[index:])
    # Steps that are left out at the end do not reach the loop.
    if batches._total is not None and "without_steps" not in program.kinds:
        assert batches._number == batches._total, f"progress after {index}"


def check_shared_node(program: Program, directory: Path, random: Random) -> None:
    """Lets ranks share one engine, whose owner ends after some steps, if that is possible."""
    if "without_steps" in repr(program):
        return  # A rank that leaves out many batches waits for the other one, which has no thread.
    has_ranks = bool(program.kinds & OF_RANKS)
    ranks = [Ranks(rank, 2) if has_ranks else Ranks() for rank in range(2)]
    way, may_fail = random.choice(ways_of(program)), BUDGET in program.kinds
    pipelines = [program.pipeline(directory, rank).options(**way) for rank in ranks]
    try:
        check_node(pipelines[0]._stages, pipelines[0]._options)
    except ValueError:
        return
    wanted = [run(program.pipeline(directory, rank), way, None, may_fail) for rank in ranks]
    last = random.randrange(max(1, *(len(items) for items, _, _ in wanted)))
    results: list[list[Any]] = [[], []]
    failures: list[Any] = [None, None]
    try:
        with shared_ranks(pipelines) as iterations:
            running = [0, 1]
            for step in count():
                if step == last:
                    end_owner(iterations[0])
                for number in tuple(running):
                    try:
                        item = next(iterations[number], None)
                    except FAILURES as error:
                        item, failures[number] = None, (type(error).__name__, str(error))
                    if item is None:
                        running.remove(number)
                    else:
                        results[number].append(item)
                if not running:
                    break
            skipped = [batches.skipped for batches in iterations]
    except FAILURES as error:  # The budget was exceeded before the first item.
        failure = type(error).__name__, str(error)
        assert all(not items and omitted.failure == failure for items, _, omitted in wanted)
        return
    for number, (items, _, omitted) in enumerate(wanted):
        what = f"rank {number} of a shared node, whose owner ends at step {last}, with {way}"
        assert same(results[number], items), f"{what}: {_difference(results[number], items)}"
        assert Omitted(skipped[number], failures[number]) == omitted, what


def check_ranks(program: Program, directory: Path, old: int, random: Random) -> None:
    """Continues with another number of ranks.

    The new ranks yield all remaining items, each as often as expected, or every rank's state is
    rejected.
    """
    new = random.choice([1, 2, 3, 4, 8])
    if new == old:
        return
    digests: list[dict[int, str]] = [{} for _ in range(old)]
    ranks = [
        run(
            program.pipeline(directory, Ranks(rank, old)),
            random.choice(ways_of(program)),
            digests=(0, digests[rank]),
        )
        for rank in range(old)
    ]
    is_even = bool(program.kinds & {EVEN, BUCKET_OF_RANKS})
    lengths = [len(items) for items, _, _ in ranks]
    assert not is_even or len(set(lengths)) == 1, f"{old} ranks have {lengths} items"
    num_steps = min(lengths)
    if is_even or "epochs" not in program.kinds:
        for index, text in digests[0].items():
            others = {
                results[index] for results in digests if index in results and index <= num_steps
            }
            assert others <= {text}, f"digests of {old} ranks after {index} items: {others}"
    available = rows_before_buckets(program)
    last_left_out = max((step.last_left_out for step in program.steps), default=-1)
    for step in {0, *random.sample(range(num_steps + 1), min(2, num_steps + 1))}:
        if step <= last_left_out:
            continue  # The new ranks leave out steps of another size.
        follows = Counter(rows_of(item for items, _, _ in ranks for item in items[step:]))
        answers = set()
        for rank, (_, states, _) in enumerate(ranks):
            try:
                rests = [
                    run(
                        program.pipeline(directory, Ranks(other, new)),
                        random.choice(ways_of(program)),
                        states[step],
                    )[0]
                    for other in range(new)
                ]
            except REFUSED as error:
                answers.add("refused" if "shard" in str(error) else repr(error))
                continue
            answers.add("accepted")
            results = Counter(rows_of(item for rest in rests for item in rest))
            where = f"after {step} steps of {old} ranks, from the state of rank {rank}, {new} ranks"
            if is_even:
                # Which of the last items are dropped or repeated depends on the number of ranks.
                lengths = [len(rest) for rest in rests]
                assert len(set(lengths)) == 1, f"{where}: {lengths} items"
                if available is not None:
                    before = (item for items, _, _ in ranks for item in items[:step])
                    read = results + Counter(rows_of(before))
                    assert read <= available, f"{where}: {read - available} too often"
                continue
            assert results == follows, (
                f"{where}: {sum((results - follows).values())} more and "
                f"{sum((follows - results).values())} fewer than no rank was given"
            )
        where = f"{old} ranks become {new} after {step} steps"
        assert answers in ({"refused"}, {"accepted"}), f"{where}: {answers}"


def rows_before_buckets(program: Program) -> Counter[int] | None:
    """The numbers of the examples from which ranks form batches with the same bucket, if any."""
    for index, step in enumerate(program.steps):
        if step.kind == BUCKET_OF_RANKS:
            return Counter(rows_of(replace(program, steps=program.steps[:index]).expected()))
    return None


def rows_of(items: Iterable[Mapping[str, Any]]) -> Iterable[int]:
    """The numbers of all examples, also of batches, without padding."""
    for item in items:
        numbers = np.ravel(item["n"])
        mask = np.ravel(item.get("mask", True))
        yield from map(int, numbers[mask] if mask.size == numbers.size else numbers)


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an item in the form of the model."""
    return {name: _plain_value(value) for name, value in item.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_plain_value, value))
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def copied(state: Any) -> Any:
    """Returns a state as another process receives it."""
    return json.loads(json.dumps(state))


def _difference(actual: Sequence[Any], expected: Sequence[Any]) -> str:
    for number, (one, other) in enumerate(zip(actual, expected, strict=False)):
        if not same([plain(one)], [plain(other)]):
            return f"item {number} is {one}, expected {other}"
    return f"there are {len(actual)} items, expected {len(expected)}"


def shrunk(program: Program, directory: Path, number: int) -> Program:
    """Returns a program with fewer stages that also fails."""
    for index in range(len(program.steps)):
        steps = program.steps[:index] + program.steps[index + 1 :]
        shorter = Program(program.beginning, steps)
        try:
            shorter.pipeline(directory)
            check(shorter, directory, number)
        except AssertionError:
            return shrunk(shorter, directory, number)
        except Exception:  # Not a valid program any more.
            continue
    return program
