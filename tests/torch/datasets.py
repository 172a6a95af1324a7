"""Datasets and samplers for tests of the loader, which worker processes can import."""

import os
import random
import time

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, get_worker_info


class Numbers(Dataset):
    """Each index, as a tensor."""

    def __init__(self, length=23):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.tensor(index)


class Draws(Numbers):
    """Each index, with a draw of every global generator and the worker's ID."""

    def __getitem__(self, index):
        info = get_worker_info()
        worker = (-1, 0, 0) if info is None else (info.id, info.num_workers, info.seed)
        return index, random.random(), float(np.random.rand()), float(torch.rand(())), worker


class Kinds(Numbers):
    """All kinds of values that a batch may contain."""

    def __getitem__(self, index):
        return {
            "int": index,
            "float": index / 2,
            "text": f"n{index}",
            "bytes": b"n" * (index % 3),
            "array": np.full((2, 3), index, np.int16),
            "tensor": torch.full((4,), index, dtype=torch.bfloat16),
            "pair": (index, [np.float32(index)]),
        }


class Counting(IterableDataset):
    """Numbers from 0, shared by workers."""

    def __init__(self, length=23):
        self.length = length

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.length, step))


class Uneven(IterableDataset):
    """Worker `n` yields 3 n + 2 numbers."""

    def __iter__(self):
        info = get_worker_info()
        number = 2 if info is None else info.id
        yield from (100 * number + n for n in range(3 * number + 2))


class RandomStream(IterableDataset):
    """Random numbers of each worker, which a generator function yields."""

    def __iter__(self):
        for n in range(9):
            yield n, random.random(), float(torch.rand(()))


class KeepsPosition(IterableDataset):
    """Numbers from a position that is part of the dataset's state."""

    def __init__(self, length=23):
        self.length = length
        self.position = 0
        self.resumed = None
        self.num_read = 0

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        self.position = first if self.resumed is None else self.resumed
        self.resumed = None
        while self.position < self.length:
            number = self.position
            self.position += step
            self.num_read += 1
            yield self.example(number)

    def example(self, number):
        return number

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.resumed = state["position"]


class CountsReads(KeepsPosition):
    """The same numbers, each with the count of numbers that this object has read."""

    def example(self, number):
        return number, self.num_read


class KeepingIterator:
    """An iterator with a state."""

    def __init__(self, length):
        self.length = length
        self.next = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.next >= self.length:
            raise StopIteration
        self.next += 1
        return self.next - 1

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


class KeepingIterableInOne(KeepingIterator, IterableDataset):
    """A dataset that is its own iterator."""


class IteratorKeepsPosition(IterableDataset):
    """Numbers of an iterator that keeps a state, while the dataset keeps none."""

    def __iter__(self):
        return KeepingIterator(17)


class CountsCalls(Numbers):
    """A map-style dataset with a state: the number of calls."""

    def __init__(self, length=23):
        super().__init__(length)
        self.num_calls = 0

    def __getitem__(self, index):
        self.num_calls += 1
        return index, self.num_calls

    def state_dict(self):
        return {"num_calls": self.num_calls}

    def load_state_dict(self, state):
        self.num_calls = state["num_calls"]


class KeepingSampler(Sampler):
    """Indices backwards, from a position that is part of its state."""

    def __init__(self, length):
        self.length = length
        self.next = 0
        self.resumed = None
        self.num_yielded = 0

    def __len__(self):
        return self.length

    def __iter__(self):
        self.next = 0 if self.resumed is None else self.resumed
        self.resumed = None
        while self.next < self.length:
            self.next += 1
            self.num_yielded += 1
            yield self.length - self.next

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.resumed = state["next"]


class GlobalSampler(Sampler):
    """A shuffle by Python's global generator, drawn by `iter` itself."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        order = list(range(self.length))
        random.shuffle(order)
        np.random.shuffle(order)
        return iter(order)


class FailsAt(Numbers):
    """Raises an exception at one index."""

    def __init__(self, index, error, length=23):
        super().__init__(length)
        self.index = index
        self.error = error

    def __getitem__(self, index):
        if index == self.index:
            raise self.error
        return super().__getitem__(index)


class EndsAt(Numbers):
    """Ends its process or sleeps at one index."""

    def __init__(self, index, how, length=23):
        super().__init__(length)
        self.index = index
        self.how = how

    def __getitem__(self, index):
        if index == self.index:
            if self.how == "sleep":
                time.sleep(600)
            elif self.how == "exit":
                os._exit(3)
            elif self.how == "SystemExit":
                raise SystemExit(3)
            else:
                os.kill(os.getpid(), self.how)
        return super().__getitem__(index)


class SlowAt(Numbers):
    """Is slow for one index."""

    def __init__(self, index, length=23):
        super().__init__(length)
        self.index = index

    def __getitem__(self, index):
        if index == self.index:
            time.sleep(1.0)
        return super().__getitem__(index)


class Noted(Numbers):
    """Notes each sample that is loaded, in a file."""

    def __init__(self, path, length=1000):
        super().__init__(length)
        self.path = path

    def __getitem__(self, index):
        with open(self.path, "a") as file:
            file.write(f"{index}\n")
        return super().__getitem__(index)


def as_plain(batch):
    """Returns a batch in a form that `==` compares."""
    if isinstance(batch, torch.Tensor):
        return (str(batch.dtype), tuple(batch.shape), batch.tolist())
    if isinstance(batch, np.ndarray):
        return (str(batch.dtype), batch.shape, batch.tolist())
    if isinstance(batch, dict):
        return {name: as_plain(value) for name, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(as_plain(value) for value in batch)
    return batch
