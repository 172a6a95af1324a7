"""Resumes the loader at every batch, with every kind of dataset and sampler."""

import json
import random

import numpy as np
import pytest
import torch
from tests.torch import datasets
from tests.torch.datasets import as_plain
from torch.utils.data import BatchSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler

from headrace.torch import DataLoader

WORKERS = [
    pytest.param({}, id="0"),
    pytest.param({"num_workers": 2}, id="processes"),
    pytest.param({"num_workers": 2, "workers": "threads"}, id="threads"),
]
SAMPLERS = {
    "in order": lambda length: {},
    "shuffle": lambda length: {"shuffle": True},
    "shuffle with a generator": lambda length: {
        "shuffle": True,
        "generator": torch.Generator().manual_seed(random.randrange(99)),
    },
    "with a generator": lambda length: {
        "sampler": RandomSampler(range(length), generator=torch.Generator())
    },
    "with replacement": lambda length: {
        "sampler": RandomSampler(
            range(length), replacement=True, num_samples=50, generator=torch.Generator()
        )
    },
    "subset": lambda length: {"sampler": SubsetRandomSampler(range(length))},
    "weights": lambda length: {"sampler": WeightedRandomSampler([1.0] * length, length)},
    "batch sampler": lambda length: {
        "batch_sampler": BatchSampler(SubsetRandomSampler(range(length)), 4, True)
    },
    "state": lambda length: {"sampler": datasets.KeepingSampler(length)},
    "state in batches": lambda length: {
        "batch_sampler": BatchSampler(datasets.KeepingSampler(length), 4, False)
    },
    "eager": lambda length: {"sampler": datasets.GlobalSampler(length)},
    "list": lambda length: {"sampler": [3, 1, 4, 1, 5, 9, 2, 6]},
}


def seed(number):
    """Seeds the global generators."""
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def generators():
    return random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()


def resumed_everywhere(make, epochs=2, is_exact_after=True):
    """Resumes at each batch of an epoch in a new loader, and compares the remaining batches.

    Args:
        make: Creates a loader.
        epochs: The number of epochs to compare.
        is_exact_after: Whether the global generators are unused after the first epoch.
    """
    seed(1)
    loader = make()
    expected, states = [], []
    for _ in range(epochs):
        states.append(loader.state_dict())
        expected.append([])
        for batch in loader:
            expected[-1].append(as_plain(batch))
            if len(expected) == 1:
                states.append(loader.state_dict())
    num_batches = len(expected[0])
    assert num_batches > 1
    for number, state in enumerate(states[: num_batches + 2]):
        if make().num_workers and number not in (0, 1, 2, 5, num_batches, num_batches + 1):
            continue  # Starting processes is slow.
        seed(100 + number)
        again = make()
        again.load_state_dict(json.loads(json.dumps(state)))
        begun = [as_plain(batch) for batch in again]
        if number > num_batches:
            assert begun == expected[1], "a state before the second epoch"
        elif number == num_batches:
            # After the last batch, but before the loop noticed the end.
            assert begun == []
        else:
            assert begun == expected[0][number:], f"resumed after {number} batches"
            if is_exact_after and epochs > 1:
                assert [as_plain(batch) for batch in again] == expected[1]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("way", SAMPLERS)
def test_a_state_resumes_the_order_of_any_sampler(way, workers):
    is_own = way in ("in order", "state", "state in batches", "list")
    own = is_own or "generator" in way or way == "with replacement"

    def make():
        length = 23
        arguments = SAMPLERS[way](length)
        if "batch_sampler" not in arguments:
            arguments["batch_size"] = 3
        return DataLoader(datasets.Numbers(length), **arguments, **workers)

    resumed_everywhere(make, is_exact_after=own)


@pytest.mark.parametrize("order", ["in order", "shuffle", "shuffle with a generator"])
def test_random_draws_of_workers_resume(order):
    def make():
        return DataLoader(datasets.Draws(), batch_size=3, num_workers=2, **SAMPLERS[order](23))

    resumed_everywhere(make, epochs=1 if order == "shuffle" else 2, is_exact_after=False)


ITERABLES = {
    "no state": datasets.Counting,
    "uneven": datasets.Uneven,
    "random": datasets.RandomStream,
    "state": datasets.KeepsPosition,
    "iterator with a state": datasets.IteratorKeepsPosition,
    "dataset and iterator in one": lambda: datasets.KeepingIterableInOne(17),
    "state of a map-style dataset": datasets.CountsCalls,
}


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("batch_size", [2, None])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("kind", ITERABLES)
def test_a_state_resumes_any_dataset(kind, workers, batch_size, every):
    if kind == "random" and not (workers.get("num_workers") and "workers" not in workers):
        pytest.skip("the draws are those of the program's own generators")

    def make():
        return DataLoader(ITERABLES[kind](), batch_size, snapshot_every_n_steps=every, **workers)

    is_own_random = kind == "random"
    resumed_everywhere(make, epochs=1 if is_own_random else 2)


@pytest.mark.parametrize("kind", ["state", "iterator with a state", "dataset and iterator in one"])
def test_persistent_workers_resume_datasets_with_a_state(kind):
    resumed_everywhere(
        lambda: DataLoader(ITERABLES[kind](), 3, num_workers=2, persistent_workers=True)
    )


def test_an_iterable_dataset_with_a_state_is_not_read_again():
    for workers in ({}, {"num_workers": 1}):
        loader = DataLoader(datasets.CountsReads(), 2, **workers)
        batches = iter(loader)
        for _ in range(5):
            next(batches)
        again = DataLoader(datasets.CountsReads(), 2, **workers)
        again.load_state_dict(loader.state_dict())
        numbers, num_read = next(iter(again))
        assert numbers.tolist() == [10, 11]
        assert num_read.tolist() == [1, 2]


@pytest.mark.parametrize("workers", WORKERS)
def test_samples_before_a_state_are_not_loaded_again(workers, tmp_path):
    def make(name):
        return DataLoader(datasets.Noted(tmp_path / name), 4, shuffle=True, **workers)

    loader = make("first")
    batches = iter(loader)
    first = [next(batches).tolist() for _ in range(100)]
    state = loader.state_dict()
    rest = [batch.tolist() for batch in batches]
    again = make("second")
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == rest
    loaded = sorted(map(int, (tmp_path / "second").read_text().split()))
    assert loaded == sorted(index for batch in rest for index in batch)
    assert not set(loaded) & {index for batch in first for index in batch}


@pytest.mark.parametrize("workers", WORKERS)
def test_resuming_draws_nothing_from_the_global_generators(workers):
    def make():
        return DataLoader(datasets.Numbers(), 3, shuffle=True, **workers)

    loader = make()
    batches = iter(loader)
    next(batches)
    again = make()
    again.load_state_dict(loader.state_dict())
    seed(5)
    before = generators()
    next(iter(again))
    assert generators() == before


def test_a_state_at_the_end_of_an_epoch_resumes_with_the_next_one():
    seed(3)
    loader = DataLoader(datasets.Numbers(), 3, shuffle=True)
    list(loader)
    state, saved = loader.state_dict(), torch.get_rng_state()
    expected, after = [batch.tolist() for batch in loader], torch.rand(())
    torch.set_rng_state(saved)
    again = DataLoader(datasets.Numbers(), 3, shuffle=True)
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == expected
    assert torch.rand(()) == after


def test_persistent_workers_continue_after_loading_a_state():
    def make(generator=None):
        return DataLoader(
            datasets.Draws(),
            4,
            shuffle=True,
            num_workers=2,
            persistent_workers=True,
            generator=torch.Generator().manual_seed(2),
        )

    loader = make()
    epochs = [[as_plain(batch) for batch in loader] for _ in range(3)]
    loader = make()
    list(loader)
    state = loader.state_dict()
    again = make()
    again.load_state_dict(state)
    assert [as_plain(batch) for batch in again] == epochs[1]
    assert [as_plain(batch) for batch in again] == epochs[2]
    again = make()
    again.load_state_dict(state)
    batches = iter(again)
    for _ in range(3):
        next(batches)
    third = make()
    third.load_state_dict(again.state_dict())
    assert [as_plain(batch) for batch in third] == epochs[1][3:]
    assert [as_plain(batch) for batch in third] == epochs[2]


def test_a_state_without_order_loses_and_repeats_no_sample():
    def make():
        return DataLoader(
            datasets.SlowAt(0, 40), 1, num_workers=2, in_order=False, prefetch_factor=3
        )

    loader = make()
    batches = iter(loader)
    first = [next(batches).item() for _ in range(9)]
    assert 0 not in first, "the slow batch comes later"
    state = json.loads(json.dumps(loader.state_dict()))
    del batches
    again = make()
    again.load_state_dict(state)
    rest = [batch.item() for batch in again]
    assert sorted(first + rest) == list(range(40))


def test_an_abandoned_loop_can_be_resumed_from_its_state():
    for workers in ({}, {"num_workers": 2}):
        loader = DataLoader(datasets.Numbers(), 2, **workers)
        for number, _ in enumerate(loader):
            if number == 2:
                break
        again = DataLoader(datasets.Numbers(), 2, **workers)
        again.load_state_dict(loader.state_dict())
        assert next(iter(again)).tolist() == [6, 7]
        # A new loop over the first loader starts another epoch.
        assert next(iter(loader)).tolist() == [0, 1]


def test_a_loaded_state_is_returned_until_the_loop_begins():
    loader = DataLoader(datasets.Numbers(), 2)
    next(iter(loader))
    state = loader.state_dict()
    again = DataLoader(datasets.Numbers(), 2)
    again.load_state_dict(state)
    assert again.state_dict() == state
    again.load_state_dict({})
    assert next(iter(again)).tolist() == [2, 3]


def test_a_state_has_torchdata_keys():
    loader = DataLoader(datasets.KeepsPosition(), 2)
    next(iter(loader))
    state = loader.state_dict()
    assert state["_num_yielded"] == 1
    assert state["dataset_state"] == {"position": 2}
    assert state["_iterator_finished"] is False
    loader = DataLoader(datasets.KeepsPosition(), 2, num_workers=2)
    next(iter(loader))
    state = loader.state_dict()["_snapshot"]
    assert state["_snapshot_step"] == 1
    assert state["_worker_snapshots"]["worker_0"]["dataset_state"] == {"position": 4}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"batch_size": 4}, "saved with batch_size=3, and this loader has batch_size=4"),
        ({"num_workers": 2}, "saved with num_workers=0, and this loader has num_workers=2"),
        ({"drop_last": True}, "saved with drop_last=False"),
        ({"shuffle": True}, "saved with sampler='SequentialSampler'"),
        ({"dataset": datasets.Numbers(50)}, "saved with batches=8, and this loader has batches=17"),
        ({"dataset": datasets.Counting()}, "saved with dataset='map'"),
    ],
)
def test_a_state_of_a_different_loader_is_rejected(changed, text):
    arguments = {"dataset": datasets.Numbers(), "batch_size": 3}
    loader = DataLoader(**arguments)
    next(iter(loader))
    other = DataLoader(**{**arguments, **changed})
    other.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match=text):
        iter(other)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"model": 1}, r"got the keys \['model'\], expected a result of state_dict"),
        (None, "got NoneType, expected a result of state_dict"),
    ],
)
def test_a_value_that_is_not_a_state_is_rejected(state, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(datasets.Numbers()).load_state_dict(state)
