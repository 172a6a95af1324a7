"""The loader compared with PyTorch's own: after changing one import, a program behaves the same."""

import gc
import inspect
import multiprocessing
import random
import re
import warnings

import numpy as np
import pytest
import torch
import torch.utils.data
from tests.torch import datasets
from tests.torch.datasets import as_plain
from torch.utils.data import BatchSampler, RandomSampler, SubsetRandomSampler
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data.datapipes.iter import IterableWrapper

from headrace.torch import DataLoader

WORKERS = [0, 2]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Makes PyTorch wait less for workers that end."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.5)


def outcome(program, kind):
    """Runs a program with a loader, and returns its result or error, warnings and later draws."""
    random.seed(7)
    np.random.seed(7)
    torch.manual_seed(7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = as_plain(program(kind))
        except Exception as error:
            text = re.sub(r" \(at the sample.*?\)$", "", str(error))
            result = type(error), text.partition("\nOriginal")[0]
    gc.collect()  # A failed iteration is part of a reference cycle through its traceback.
    said = [(warning.category, str(warning.message)) for warning in caught]
    return result, said, random.random(), float(np.random.rand()), float(torch.rand(()))


def check_same(program):
    """Checks that both loaders behave the same, and returns the result."""
    expected = outcome(program, TorchLoader)
    assert outcome(program, DataLoader) == expected
    return expected


def epochs(make, number=2):
    """Returns a program that iterates over a loader."""

    def program(kind):
        loader = make(kind)
        return [list(loader) for _ in range(number)]

    return program


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    "arguments",
    [
        lambda: {},
        lambda: {"batch_size": 4},
        lambda: {"batch_size": None},
        lambda: {"batch_size": 4, "drop_last": True},
        lambda: {"batch_size": 4, "shuffle": True},
        lambda: {"shuffle": True, "generator": torch.Generator().manual_seed(3)},
        lambda: {"batch_size": None, "shuffle": True},
        lambda: {"sampler": RandomSampler(range(23), replacement=True, num_samples=40)},
        lambda: {"sampler": datasets.GlobalSampler(23), "batch_size": None},
        lambda: {"sampler": datasets.GlobalSampler(23), "batch_size": 5},
        lambda: {"batch_sampler": BatchSampler(SubsetRandomSampler(range(10)), 4, True)},
        lambda: {"batch_sampler": [[1, 2], [3], [4, 5, 6]]},
        lambda: {"sampler": [5, 4, 3]},
        lambda: {"batch_size": 4, "collate_fn": list},
    ],
)
def test_batches_seeds_and_draws_match(arguments, workers):
    check_same(epochs(lambda kind: kind(datasets.Draws(), num_workers=workers, **arguments())))


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_values_of_all_kinds_match(batch_size, workers):
    check_same(
        epochs(lambda kind: kind(datasets.Kinds(), batch_size, num_workers=workers), number=1)
    )


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("prefetch", [1, 5])
def test_batches_from_workers_match(persistent, prefetch, workers):
    check_same(
        epochs(
            lambda kind: kind(
                datasets.Draws(),
                2,
                True,
                num_workers=workers,
                persistent_workers=persistent,
                prefetch_factor=prefetch,
            ),
            number=3,
        )
    )


@pytest.mark.parametrize(
    ("context", "is_object"),
    [("fork", False), ("fork", True), ("spawn", True), ("forkserver", False)],
)
def test_multiprocessing_contexts_match(context, is_object):
    given = multiprocessing.get_context(context) if is_object else context
    check_same(
        epochs(
            lambda kind: kind(datasets.Draws(9), 2, num_workers=2, multiprocessing_context=given),
            number=1,
        )
    )


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("batch_size", [1, 2, None])
@pytest.mark.parametrize("kind", [datasets.Counting, datasets.RandomStream])
def test_iterable_datasets_match(kind, batch_size, persistent):
    dataset = kind()
    for workers in (0, 2):
        check_same(
            epochs(
                lambda loader, workers=workers: loader(
                    dataset,
                    batch_size,
                    num_workers=workers,
                    persistent_workers=persistent and workers > 0,
                )
            )
        )


def test_iterable_datasets_with_uneven_workers_match():
    def program(kind):
        return sorted(n for batch in kind(datasets.Uneven(), 2, num_workers=2) for n in batch)

    check_same(program)


def setting(worker):
    info = torch.utils.data.get_worker_info()
    info.dataset.length = 100 + info.id + info.num_workers + worker


class ReadsInfo(datasets.Numbers):
    """Returns the value that `worker_init_fn` has set."""

    def __getitem__(self, index):
        return self.length, torch.initial_seed(), torch.get_num_threads()


def test_worker_init_fn_and_worker_info_match():
    for workers in (0, 2):
        check_same(
            epochs(lambda kind, n=workers: kind(ReadsInfo(), num_workers=n, worker_init_fn=setting))
        )
    assert torch.utils.data.get_worker_info() is None


def failing(worker):
    raise RuntimeError(f"Error in worker_init_fn of {worker}")


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda kind, n: kind(datasets.FailsAt(6, ValueError("broken")), 4, num_workers=n),
        lambda kind, n: kind(datasets.FailsAt(6, ValueError("broken")), None, num_workers=n),
        lambda kind, n: kind(datasets.FailsAt(6, RuntimeError("broken")), 4, num_workers=n),
        lambda kind, n: kind(datasets.FailsAt(6, StopIteration()), 4, num_workers=n),
        lambda kind, n: kind(datasets.FailsAt(6, StopIteration()), None, num_workers=n),
        lambda kind, n: kind(datasets.Numbers(), num_workers=n, worker_init_fn=failing),
        lambda kind, n: kind([1, 2, object()], num_workers=n),
        lambda kind, n: kind(datasets.Numbers(), sampler=3, num_workers=n),
    ],
)
def test_errors_match(make, workers):
    check_same(epochs(lambda kind: make(kind, workers)))


@pytest.mark.parametrize("workers", WORKERS)
def test_loops_that_continue_after_an_error_match(workers):
    def program(kind):
        batches, seen = (
            iter(kind(datasets.FailsAt(6, ValueError("no")), 4, num_workers=workers)),
            [],
        )
        while True:
            try:
                seen.append(next(batches))
            except ValueError:
                seen.append("error")
            except StopIteration:
                return seen

    result, *_ = check_same(program)
    assert "error" in result


class OwnDataset:
    """A dataset without a length."""

    def __getitem__(self, index):
        return index


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"prefetch_factor": -2, "num_workers": 1},
        {"prefetch_factor": 0, "num_workers": 1},
        {"persistent_workers": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 3},
        {"batch_sampler": [[1]], "shuffle": True},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "none", "num_workers": 1},
        {"multiprocessing_context": object, "num_workers": 1},
        {"dataset": OwnDataset()},
        {"dataset": OwnDataset(), "shuffle": True},
        {"dataset": datasets.Counting(), "shuffle": True},
        {"dataset": datasets.Counting(), "sampler": [1]},
        {"dataset": datasets.Counting(), "batch_sampler": [[1]]},
        {"num_workers": 70},
        {"timeout": 1},
        {"pin_memory": True},
        {"pin_memory": True, "num_workers": 1},
        {"pin_memory": True, "pin_memory_device": "cuda"},
        {"unknown": 1},
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_wrong_and_unusual_arguments_match(arguments):
    arguments = {"dataset": datasets.Numbers(), **arguments}
    is_only_made = arguments.get("num_workers") == 70

    def program(kind):
        try:
            loader = kind(**arguments)
        except TypeError as error:
            text = str(error).rpartition("DataLoader.")[2]
            return text.partition(", so the DataLoader")[0]  # We add a remedy.
        return None if is_only_made else [len(loader), list(loader)]

    check_same(program)


class Announced(datasets.Counting):
    """An iterable dataset with a length, which is too small."""

    def __len__(self):
        return self.length - 9


@pytest.mark.parametrize("workers", WORKERS)
def test_length_of_an_iterable_dataset_matches(workers):
    dataset = Announced()

    def program(kind):
        lengths = [len(kind(dataset, 4)), len(kind(dataset, 4, drop_last=True))]
        loader = kind(dataset, num_workers=workers)
        return [*lengths, len(loader), list(loader)]

    _, said, *_ = check_same(program)
    assert any("samples have been fetched" in text for _, text in said)
    check_same(lambda kind: len(kind(datasets.Counting())))


ATTRIBUTES = [
    *("dataset", "batch_size", "num_workers", "pin_memory", "drop_last", "timeout", "sampler"),
    *("prefetch_factor", "pin_memory_device", "batch_sampler", "generator", "collate_fn"),
    *("persistent_workers", "worker_init_fn", "multiprocessing_context", "in_order"),
    *("_index_sampler", "_dataset_kind", "_auto_collation", "_iterator"),
]


def test_attributes_match():
    dataset = datasets.Numbers()

    def program(kind):
        loaders = (
            kind(dataset, 3),
            kind(dataset, None, num_workers=2),
            kind(dataset, batch_sampler=[[0]], generator=torch.Generator()),
            kind(datasets.Counting()),
        )
        return [
            [str(type(value)) if "object at" in str(value) else str(value) for value in values]
            for values in ([getattr(loader, name) for name in ATTRIBUTES] for loader in loaders)
        ]

    check_same(program)


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_errors_for_read_only_attributes_match(name):
    check_same(lambda kind: setattr(kind(datasets.Numbers()), name, 1))


def test_attributes_that_can_be_set_match():
    def program(kind):
        loader = kind(datasets.Numbers())
        loader.num_workers, loader.prefetch_factor, loader.collate_fn = 2, 2, list
        loader.multiprocessing_context = "spawn"
        return [list(loader), type(loader.multiprocessing_context).__name__]

    check_same(program)


def test_loader_is_a_pytorch_data_loader():
    loader = DataLoader(datasets.Numbers(), num_workers=1)
    assert isinstance(loader, TorchLoader)
    data_loader = torch.utils.data.dataloader
    assert isinstance(iter(loader), data_loader._MultiProcessingDataLoaderIter)
    assert isinstance(
        iter(DataLoader(datasets.Numbers())), data_loader._SingleProcessDataLoaderIter
    )
    ours = list(inspect.signature(DataLoader).parameters.values())
    its = list(inspect.signature(TorchLoader).parameters.values())
    assert [(p.name, p.kind, p.default) for p in ours[: len(its)]] == [
        (p.name, p.kind, p.default) for p in its
    ]


def test_out_of_order_batches_are_yielded_as_they_finish():
    loader = DataLoader(datasets.SlowAt(0, 10), 1, num_workers=2, in_order=False)
    received = [batch.item() for batch in loader]
    assert sorted(received) == list(range(10))
    assert received[0] == 1


def test_two_loops_over_one_loader_match():
    def program(kind):
        loader = kind(datasets.Numbers(), 4, num_workers=2)
        return list(zip(loader, loader, strict=True))

    check_same(program)


def test_abandoned_loop_with_persistent_workers_matches():
    def program(kind):
        loader = kind(datasets.Draws(), 2, num_workers=2, persistent_workers=True)
        for number, _ in enumerate(loader):
            if number == 3:
                break
        return [list(loader), list(loader)]

    check_same(program)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("persistent", [False, True])
def test_data_pipes_match_and_resume(persistent, workers):
    def make(kind):
        pipe = IterableWrapper(list(range(23))).shuffle().sharding_filter()
        is_kept = persistent and workers > 0
        return kind(pipe, 3, True, num_workers=workers, persistent_workers=is_kept)

    check_same(epochs(make, number=3))
    expected, loader = [], make(DataLoader)
    for number, batch in enumerate(loader):
        expected.append(batch.tolist())
        if number == 2:
            state = loader.state_dict()
    again = make(DataLoader)
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == expected[3:]


def test_values_shared_with_workers_match():
    def program(kind):
        counter = multiprocessing.Value("i", 0)

        class Counts(datasets.Numbers):
            def __getitem__(self, index):
                with counter.get_lock():
                    counter.value += 1
                return index

        batches = list(kind(Counts(), 4, num_workers=2, collate_fn=sum))
        return [batches, counter.value]

    check_same(program)


def test_subclasses_that_change_the_loader_match():
    def program(kind):
        class Doubling(kind):
            def __iter__(self):
                return (batch * 2 for batch in super().__iter__())

        return list(Doubling(datasets.Numbers(), 4))

    check_same(program)


def test_datasets_with_getitems_match():
    class Many(datasets.Numbers):
        def __getitems__(self, indices):
            return [10 * index for index in indices]

    check_same(epochs(lambda kind: kind(Many(), 4)))
    check_same(epochs(lambda kind: kind(Many(), 4, num_workers=2)))
