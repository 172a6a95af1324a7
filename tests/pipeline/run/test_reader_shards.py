"""Readers that divide the batches of a pipeline yield the same batches as one machine."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.pipeline.conftest import same
from tests.pipeline.generated.programs import program_of
from tests.pipeline.generated.source import ONCE
from tests.pipeline.generated.steps import BUDGET

import headrace as hr
from headrace.core import errors
from headrace.pipeline.run.reader_shards import (
    BEGINNING,
    Cursor,
    ShareBatches,
    check_shares,
    work_of_all,
)


def together(pipe, count, cursor=BEGINNING, epoch=0):
    """All batches, of `count` shares in turn, and the state before each."""
    shares = [ShareBatches(pipe, index, count, epoch, cursor) for index in range(count)]
    batches, cursors = [], []
    try:
        while True:
            share = shares[len(batches) % count]
            cursors.append(share.cursor())
            assert share.next_number == cursor.first + len(batches)
            batches.append(next(share))
    except StopIteration:
        return batches, cursors
    finally:
        for share in shares:
            share.close()


def copied(cursor):
    return Cursor(*json.loads(json.dumps(cursor)))


def doubled(example):
    return {"number": example["number"] * 2}


def drawn(example, rng):
    return {"number": example["number"] * 10 + rng.integers(10)}


def spread(batch, rng):
    return {"number": batch["number"], "draw": rng.random(len(batch["number"]))}


def odd(example):
    return example["number"] % 2


PIPELINES = {
    "in order": lambda numbers: numbers.batch(7),
    "shuffled": lambda numbers: numbers.shuffle(seed=1).epochs(3).batch(7, remainder="pad"),
    "drawn": lambda numbers: numbers.shuffle(30, seed=1).map(drawn, seed=2).batch(7).map(doubled),
    "drawn in batches": lambda numbers: numbers.epochs(2).batch(7).map(spread, seed=2),
    "functions twice": lambda numbers: (
        numbers.filter(odd).map(drawn, seed=2).map(doubled).batch(5, remainder="drop")
    ),
    "epochs last": lambda numbers: numbers.map(drawn, seed=2).batch(7).epochs(3),
    "batches taken": lambda numbers: numbers.batch(7).skip(2).take(40).map(doubled),
    "unbatched": lambda numbers: numbers.batch(6).map(doubled).unbatch().batch(4),
}


@pytest.fixture
def numbers(records):
    return hr.tfrecords(records).parse({"number": int})


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_shares_together_yield_all_batches(numbers, name, count):
    pipe = PIPELINES[name](numbers)
    uninterrupted = list(pipe)
    batches, cursors = together(pipe, count)
    assert same(batches, uninterrupted)
    assert all(cursor.first == number // count * count for number, cursor in enumerate(cursors))


@pytest.mark.parametrize("name", PIPELINES)
def test_state_of_one_share_resumes_any_number_of_shares(numbers, name):
    pipe = PIPELINES[name](numbers)
    uninterrupted = list(pipe)
    _, cursors = together(pipe, 3)
    for number in sorted({0, 1, 8, len(uninterrupted) // 2, len(uninterrupted) - 1}):
        cursor = copied(cursors[number])
        for count in (1, 2, 4):
            rest, later = together(pipe, count, cursor)
            assert same(rest, uninterrupted[cursor.first :]), (number, count)
        again = copied(later[len(rest) // 2])
        assert same(together(pipe, 3, again)[0], uninterrupted[again.first :])


def test_numbered_epoch_can_be_shared(numbers):
    pipe = numbers.shuffle(seed=4).batch(9)
    assert same(together(pipe, 2, epoch=5)[0], list(pipe.epoch(5)))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("group", range(4))
def test_any_pipeline_can_be_shared(generated_files, group):
    for number in range(10 * group, 10 * group + 10):
        program = program_of(number)
        # Readers reject it, because each sees only its own steps.
        steps = [step for step in program.steps if step.kind != "without_steps"]
        program = replace(program, steps=tuple(steps))
        # A pipeline is read several times here, to its end.
        if program.kinds & {ONCE, BUDGET}:
            continue
        output = program.pipeline(generated_files)
        try:
            check_shares("test", output)
        except ValueError:
            output = output.select("n").batch(5)
        output = output.options(memory_bytes=100_000_000)
        uninterrupted = list(output)
        count = number % 4 + 1
        batches, cursors = together(output, count)
        assert same(batches, uninterrupted), number
        some = copied(cursors[number * 7 % len(cursors)])
        assert same(together(output, count % 3 + 1, some)[0], uninterrupted[some.first :]), number


def counting(calls):
    def count(example):
        calls.append(int(example["number"]))
        return example

    return count


def test_share_calls_functions_only_for_its_own_batches(numbers):
    calls = []
    pipe = numbers.map(counting(calls)).batch(10)
    assert list(pipe.spec) == ["number"]
    calls.clear()  # One was for the components.
    share = ShareBatches(pipe, 1, 4)
    mine = [int(n) for batch in iter(lambda: next(share, None), None) for n in batch["number"]]
    assert sorted(calls) == mine == [n for n in range(1000) if n // 10 % 4 == 1]


def test_state_of_a_shared_mix_requests_no_further_batches():
    calls = []

    def called(batch):
        calls.append(len(batch["n"]))
        return batch

    parts = [hr.arrays({"n": np.arange(2000) + first}) for first in (0, 5000)]
    share = ShareBatches(hr.mix(parts, seed=1).batch(10).map(called).prefetch(2), 0, 2)
    try:
        for _ in range(20):
            share.cursor()
            next(share)
    finally:
        share.close()
    # It ran ahead by seven batches at each state.
    assert len(calls) < 60


@pytest.mark.parametrize(("index", "share"), [(0, 0.5), (1, 0.5)])
def test_each_of_two_readers_reads_and_decodes_half_after_a_full_shuffle(records, index, share):
    pipe = hr.tfrecords(records).parse({"number": int}).shuffle(seed=1).batch(10)
    stages = {}
    for label, batches in (
        ("all", iter(pipe)),
        ("mine", ShareBatches(pipe, index, 2).batches),
    ):
        list(batches)
        stages[label] = {stage.name: stage for stage in batches.statistics().stages}
    assert stages["mine"]["parse"].examples == share * stages["all"]["parse"].examples
    read = stages["mine"]["tfrecords"].bytes / stages["all"]["tfrecords"].bytes
    assert read == pytest.approx(share, rel=0.05)


class Numbered:
    """A function with a state, which has to see all examples."""

    def __init__(self):
        self.count = 0

    def __call__(self, example):
        self.count += 1
        return {"number": example["number"] + self.count}

    def state(self):
        return self.count

    def restore(self, state):
        self.count = state


def test_stateful_function_sees_all_examples_in_every_share(numbers):
    def pipe():
        return numbers.map(Numbered()).batch(10)

    uninterrupted = list(pipe())
    shares = [ShareBatches(pipe(), index, 2) for index in range(2)]
    assert same([next(shares[number % 2]) for number in range(100)], uninterrupted)
    for share in shares:
        share.close()
    assert len(work_of_all(pipe())) == 3


def test_each_share_reports_skipped_examples(tables):
    pipe = hr.tfrecords(tables / "damaged").parse({"number": int}).skip_errors(1000).batch(9)
    full = iter(pipe)
    batches = list(full)
    for index in range(2):
        share = ShareBatches(pipe, index, 2)
        assert same(list(iter(lambda: next(share, None), None)), batches[index::2])  # noqa: B023
        assert share.batches.skipped == full.skipped


def test_error_is_raised_at_its_batch():
    def fail(example):
        if example["number"] == 55:
            raise ValueError("at 55")
        return example

    pipe = hr.arrays({"number": np.arange(100)}).map(fail).batch(10)
    good, bad = ShareBatches(pipe, 0, 2), ShareBatches(pipe, 1, 2)
    assert len(list(iter(lambda: next(good, None), None))) == 5
    next(bad), next(bad)
    with pytest.raises(ValueError, match="at 55"):
        next(bad)


def test_pipeline_that_cannot_be_shared_is_rejected(numbers):
    with pytest.raises(ValueError, match="yields examples, expected batches"):
        check_shares("serve", numbers)
    with pytest.raises(
        ValueError, match=r"has options\(deterministic=False\), but its order must be fixed"
    ):
        check_shares("serve", numbers.batch(2).options(deterministic=False))


def test_state_of_a_different_pipeline_is_rejected(numbers):
    share = ShareBatches(numbers.batch(10), 0, 2)
    next(share)
    next(share)
    with pytest.raises(ValueError, match="when the state was saved"):
        ShareBatches(numbers.shuffle(seed=1).batch(10), 0, 2, cursor=share.cursor())
    share.close()


def test_share_raises_an_error_for_a_missing_file(tmp_path):
    with pytest.raises(errors.NotFoundError):
        ShareBatches(hr.text_lines(tmp_path / "none.txt").batch(2), 0, 2)
