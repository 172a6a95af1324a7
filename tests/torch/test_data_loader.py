"""The loader's additions to PyTorch: samples in errors, threads, bottlenecks, pinned batches."""

import copy
import gc
import pickle
import subprocess
import sys
import threading
import time

import pytest
import torch
from tests.calls import wait_until
from tests.torch import datasets
from tests.torch.datasets import as_plain

from headrace.torch import DataLoader


class NumberError(Exception):
    """An exception with two arguments, whose text is its own."""

    def __str__(self):
        return f"number {self.args[0]}"


ERRORS = [
    (ValueError("broken"), "broken (at the sample with index 6)"),
    (ValueError(), "at the sample with index 6"),
    (KeyError("name"), "'name' (at the sample with index 6)"),
    (KeyError(5), "5 (at the sample with index 6)"),
    (
        FileNotFoundError(2, "No such file", "x.png"),
        "[Errno 2] No such file (at the sample with index 6): 'x.png'",
    ),
    (
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte (at the sample "
        "with index 6)",
    ),
]


@pytest.mark.parametrize(("error", "text"), ERRORS)
@pytest.mark.parametrize("batch_size", [4, None])
def test_an_exception_names_the_sample(error, text, batch_size):
    loader = DataLoader(datasets.FailsAt(6, copy.copy(error)), batch_size)
    with pytest.raises(type(error)) as raised:
        list(loader)
    assert str(raised.value) == text
    if isinstance(error, KeyError):
        assert raised.value.args == error.args, "programs compare the key"
    loader = DataLoader(datasets.FailsAt(6, copy.copy(error)), batch_size, num_workers=1)
    with pytest.raises(Exception, match="with index 6") as raised:
        list(loader)
    assert isinstance(
        raised.value, RuntimeError if type(error) is UnicodeDecodeError else type(error)
    )


def test_an_exception_with_its_own_message_gets_a_note():
    with pytest.raises(NumberError) as raised:
        list(DataLoader(datasets.FailsAt(6, NumberError(1, 2)), 4))
    assert raised.value.args == (1, 2)
    assert raised.value.__notes__ == ["Raised at the sample with index 6."]


class Unsized:
    """A map-style dataset without a length."""

    def __getitem__(self, index):
        return index


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"num_workers": 1}])
def test_a_dataset_without_a_length_needs_a_sampler(options):
    with pytest.raises(TypeError, match=r"'Unsized' has no len\(\), so.*Add __len__ to Unsized"):
        iter(DataLoader(Unsized(), **options))
    assert list(DataLoader(Unsized(), sampler=[4, 2], batch_size=None)) == [4, 2]


@pytest.mark.parametrize("workers", [0, 1])
def test_error_for_an_index_out_of_range_names_the_length(workers):
    loader = DataLoader(list(range(10)), sampler=[3, 12], num_workers=workers)
    batches = iter(loader)
    next(batches)
    with pytest.raises(
        IndexError, match=r"at the sample with index 12; the dataset has 10 samples"
    ):
        next(batches)


def refuse(batch):
    raise ValueError("cannot collate")


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_in_collate_fn_names_the_samples(workers):
    loader = DataLoader(datasets.Numbers(), 2, collate_fn=refuse, num_workers=workers)
    with pytest.raises(ValueError, match=r"cannot collate \(at the samples with indices 0, 1\)"):
        next(iter(loader))
    loader = DataLoader(datasets.Counting(), 2, collate_fn=refuse, num_workers=workers)
    with pytest.raises(ValueError, match=r"at items 0 to 1, counted from 0"):
        next(iter(loader))


class Breaks(datasets.Counting):
    """An iterator that fails at its fourth item."""

    def __iter__(self):
        yield from range(3)
        raise ValueError("broken")


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_in_an_iterator_names_the_item(workers):
    loader = DataLoader(Breaks(), 2, num_workers=workers)
    with pytest.raises(ValueError, match=r"broken \(at item 3 of the iterator, counted from 0\)"):
        list(loader)


class Records(datasets.Numbers):
    """Records the thread and the worker of each sample."""

    def __getitem__(self, index):
        time.sleep(0.005)
        return index, threading.get_ident(), torch.utils.data.get_worker_info() is None


def forbidden(worker):
    raise AssertionError("called")


def test_threads_fetch_in_order_without_worker_info():
    loader = DataLoader(
        Records(100),
        2,
        shuffle=True,
        num_workers=3,
        workers="threads",
        worker_init_fn=forbidden,
        generator=torch.Generator().manual_seed(1),
    )
    expected = DataLoader(
        datasets.Numbers(100), 2, shuffle=True, generator=torch.Generator().manual_seed(1)
    )
    batches = list(loader)
    assert [batch[0].tolist() for batch in batches] == [batch.tolist() for batch in expected]
    threads = {thread for batch in batches for thread in batch[1].tolist()}
    assert 2 <= len(threads) <= 3
    assert threading.get_ident() not in threads
    assert all(bool(batch[2].all()) for batch in batches)


def test_threads_end_with_the_loop():
    before = set(threading.enumerate())
    loader = DataLoader(datasets.Numbers(), num_workers=2, workers="threads")
    for _ in loader:
        break
    wait_until(lambda: set(threading.enumerate()) <= before)
    batches = iter(loader)
    next(batches)
    del batches
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_threads_raise_the_exception_at_its_batch():
    before = set(threading.enumerate())
    loader = DataLoader(
        datasets.FailsAt(6, ValueError("broken")), 2, num_workers=2, workers="threads"
    )
    batches, seen = iter(loader), []
    with pytest.raises(ValueError, match="index 6"):
        seen.extend(batch.tolist() for batch in batches)
    assert seen == [[0, 1], [2, 3], [4, 5]]
    assert next(batches).tolist() == [8, 9]
    # The dataset holds the exception, that the iteration, and a thread the dataset for a while.
    del batches, loader
    wait_until(lambda: gc.collect() >= 0 and set(threading.enumerate()) <= before)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"workers": "thread"}, 'workers is \'thread\', expected "processes" or "threads"'),
        (
            {"workers": "threads", "num_workers": 1, "multiprocessing_context": "fork"},
            "got multiprocessing_context, which is for processes",
        ),
        ({"snapshot_every_n_steps": 0}, "snapshot_every_n_steps is 0, expected at least 1"),
    ],
)
def test_wrong_arguments_are_rejected(arguments, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(datasets.Numbers(), **arguments)


class Slow(datasets.Numbers):
    def __getitem__(self, index):
        time.sleep(0.01)
        return super().__getitem__(index)


def slowly(batch):
    time.sleep(0.02)
    return batch


def test_bottleneck_names_the_slow_part():
    loader = DataLoader(Slow(), 2)
    assert loader.bottleneck().startswith("nothing has been read yet")
    list(loader)
    assert loader.bottleneck().startswith("the dataset is the bottleneck: ")
    assert "in the process of the training loop; the training loop waited" in loader.bottleneck()
    loader = DataLoader(datasets.Numbers(), 2, collate_fn=slowly)
    list(loader)
    assert loader.bottleneck().startswith("collate_fn is the bottleneck: ")
    loader = DataLoader(Slow(60), 2, num_workers=1)
    list(loader)
    assert "in 1 processes, which were busy" in loader.bottleneck()
    loader = DataLoader(datasets.Numbers(), 2)
    for _ in loader:
        time.sleep(0.01)
    assert loader.bottleneck().startswith("the training loop is the bottleneck")


@pytest.fixture
def accelerator(monkeypatch):
    """Replaces a device, and returns the pinned batches with their threads."""
    pinned = []

    def pin_memory(data, device):
        pinned.append((as_plain(data), threading.get_ident(), device))
        return data.clone()

    accelerator = torch.accelerator
    monkeypatch.setattr(accelerator, "is_available", lambda: True)
    monkeypatch.setattr(accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(accelerator, "set_device_index", lambda index: None)
    monkeypatch.setattr(torch.utils.data._utils.pin_memory, "pin_memory", pin_memory)
    return pinned


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("workers", [0, 2, "threads"])
def test_batches_are_pinned_ahead_of_the_loop(accelerator, workers, persistent, in_order):
    loader = DataLoader(
        datasets.Numbers(),
        2,
        pin_memory=True,
        num_workers=2 if workers == "threads" else workers,
        workers="threads" if workers == "threads" else "processes",
        persistent_workers=persistent and workers != 0,
        in_order=in_order,
    )
    expected = [as_plain(batch) for batch in DataLoader(datasets.Numbers(), 2)]
    for _ in range(2):
        accelerator.clear()
        batches = [as_plain(batch) for batch in loader]
        if not in_order:
            batches.sort(key=str)
            expected.sort(key=str)
        assert batches == expected
        assert len(accelerator) == 12
        assert all(device == "cuda" for *_, device in accelerator)
        threads = {thread for _, thread, _ in accelerator}
        assert (threading.get_ident() in threads) == (workers == 0)


def test_an_error_while_a_batch_is_pinned_is_raised(accelerator, monkeypatch):
    def pin_memory(data, device):
        if data[0] == 8:
            raise RuntimeError("no memory to pin")
        return data

    monkeypatch.setattr(torch.utils.data._utils.pin_memory, "pin_memory", pin_memory)
    batches = iter(DataLoader(datasets.Numbers(), 2, pin_memory=True, num_workers=2))
    assert [next(batches)[0].item() for _ in range(4)] == [0, 2, 4, 6]
    with pytest.raises(RuntimeError, match="no memory to pin"):
        next(batches)
    assert next(batches)[0] == 10
    del batches
    gc.collect()


def test_a_worker_that_is_killed_while_batches_are_pinned_is_an_error(accelerator):
    loader = DataLoader(datasets.EndsAt(17, 9), 4, num_workers=2, pin_memory=True)
    with pytest.raises(RuntimeError, match="the sample with index 17"):
        list(loader)


def test_a_loader_can_be_copied_and_pickled():
    loader = DataLoader(datasets.Numbers(), 4, num_workers=1)
    expected = [batch.tolist() for batch in loader]
    for again in (copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
        assert [batch.tolist() for batch in again] == expected
    assert DataLoader[int](datasets.Numbers(), 4).batch_size == 4


def test_headrace_does_not_import_torch():
    program = (
        "import sys, headrace as hr\n"
        "hr.arrays({'x': [1]}).batch(1)\n"
        "assert 'torch' not in sys.modules\n"
        "sys.modules['torch'] = None\n"
        "import importlib.util\n"
        "importlib.util.find_spec = lambda name: None\n"
        "try:\n"
        "    import headrace.torch\n"
        "except ModuleNotFoundError as error:\n"
        "    assert 'headrace.torch: torch is not installed' in str(error), error\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
