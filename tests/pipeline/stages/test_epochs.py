"""`epochs(n)` runs all epochs, even if some of them are empty."""

import numpy as np
import pytest

import headrace as hr

ONE = hr.arrays({"n": [7]})


def some(example, rng):
    return [example] if rng.random() < 0.4 else []


def with_more(example):
    return {**example, "more": np.float32(example["n"])}


def numbers_of(items):
    return [int(n) for item in items for n in np.ravel(item["n"])]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("has_map", [False, True])
def test_empty_epochs_are_skipped(seed, has_map):
    pipe = ONE.flat_map(some, seed=seed)
    if has_map:
        pipe = pipe.map(with_more)
    sizes = [len(numbers_of(pipe.epoch(epoch))) for epoch in range(12)]
    assert 0 in sizes
    uninterrupted = list(pipe.epochs(12))
    assert len(uninterrupted) == sum(sizes) == pipe.epochs(12).count()
    for num_taken in range(len(uninterrupted) + 1):
        with iter(pipe.epochs(12)) as batches:
            for _ in range(num_taken):
                next(batches)
        assert len(list(pipe.epochs(12).resume(batches.state()))) == len(uninterrupted) - num_taken
    assert len(list(pipe.epochs().take(20))) == 20


def test_rank_without_a_batch_in_an_epoch_reads_later_epochs():
    pipe = hr.arrays({"n": np.arange(5)}).flat_map(some, seed=3)
    for rank in range(3):
        mine = pipe.shard(rank, 3)
        sizes = [len(list(mine.epoch(epoch))) for epoch in range(6)]
        assert len(list(mine.epochs(6))) == sum(sizes)


def test_components_are_inferred_from_the_current_epoch():
    pipe = hr.arrays({"n": np.arange(10)}).shuffle(seed=1).take(1).filter(lambda e: e["n"] == 4)
    pipe = pipe.map(with_more)
    results = [numbers_of(pipe.epoch(epoch)) for epoch in range(30)]
    assert results[0] == []
    assert [4] in results
    assert numbers_of(pipe.epochs(30)) == [n for numbers in results for n in numbers]


def test_components_of_a_part_are_inferred_from_later_epochs():
    parts = [ONE.flat_map(some, seed=seed).map(with_more) for seed in (1, 4)]
    pipe = hr.concat(parts)
    sizes = [len(list(pipe.epoch(epoch))) for epoch in range(10)]
    assert len(list(pipe.epochs(10))) == sum(sizes) > 0


@pytest.mark.parametrize("has_map", [False, True])
def test_iterator_can_yield_nothing_in_the_first_epochs(has_map):
    coming = iter([[], [], [3], [], [5, 6]])
    pipe = hr.iterable(lambda: ({"n": n} for n in next(coming)))
    if has_map:
        pipe = pipe.map(with_more)
    assert numbers_of(pipe.epochs(5)) == [3, 5, 6]


def test_endless_epochs_of_an_empty_pipeline_end():
    nothing = hr.arrays({"n": np.arange(0)})
    assert list(nothing.epochs()) == list(nothing.map(with_more).epochs()) == []
    assert list(hr.iterable(list).epochs()) == []


def test_many_empty_epochs_can_be_closed():
    batches = iter(hr.arrays({"n": np.arange(0)}).epochs(10**15))
    batches.close()
    assert list(batches) == []


def test_failures_are_skipped_in_all_epochs():
    def broken(example):
        raise LookupError(example["n"])

    pipe = hr.arrays({"n": np.arange(300)}).map(broken).skip_errors(10_000).epochs(5)
    batches = iter(pipe)
    assert list(batches) == []
    assert len(batches.skipped) == 1500


def test_zero_epochs_keep_the_components():
    assert list(ONE.map(with_more).epochs(0).spec) == ["n", "more"]
    assert list(ONE.map(with_more).epochs(0)) == []
