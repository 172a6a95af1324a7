"""Functions that worker processes import."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

KEPT = []


def with_process(example):
    return {**example, "process": os.getpid()}


def surroundings(example):
    return {
        "surroundings": [Path("here.txt").read_text(), os.environ.get("HEADRACE_TEST", "missing")]
    }


def many_surroundings(example):
    return [surroundings(example)]


def has_variable(example):
    return "HEADRACE_TEST" in os.environ


def source_of_surroundings():
    yield surroundings(None)


def remember(example):
    KEPT.append(int(example["n"]))
    return {**example, "process": os.getpid()}


def is_remembered(example):
    return {**example, "is_there": int(example["n"]) in KEPT, "is_same": _is_here(example)}


def is_remembered_twice(example):
    return [{**example, "is_there": example["is_there"] and int(example["n"]) in KEPT}]


def _is_here(example):
    return int(example["process"]) == os.getpid()


def resident_bytes():
    """Returns the bytes of memory that belong to this process alone."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("RssAnon")]
    return int(line.split()[1]) << 10


class Large:
    """A function, and a factory, that holds many bytes."""

    def __init__(self, num_bytes):
        self.table = np.ones(num_bytes, np.uint8)

    def __call__(self, example=None):
        row = {"bytes": resident_bytes(), "last": self.table[-1]}
        return [row] if example is None else row


class SlowToLoad:
    """A function that a worker process only loads once a file exists."""

    def __init__(self, file):
        self.file = file

    def __setstate__(self, state):
        vars(self).update(state)
        deadline = time.monotonic() + 60
        while not Path(self.file).exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    def __call__(self, example):
        return example


class SlowSource(SlowToLoad):
    """A factory that a worker process only loads once a file exists."""

    def __call__(self):
        return [{"n": 1}]


def noisy(example, rng):
    return {"n": example["n"], "noise": rng.random(3)}


def plus_one(example):
    return {**example, "n": example["n"] + 1}


def is_odd(example):
    return example["n"] % 2 == 1


def twice(example):
    return [dict(example), {**example, "n": -example["n"]}]


def everything(example):
    n = int(example["n"])
    return {
        "image": np.full((2, 3), n, np.float32),
        "list": np.arange(n % 4),
        "text": "é" * (n % 3),
        "raw": b"\0" * (n % 2),
        "texts": ["ab"] * (n % 3),
        "scalar": 0.5 * n,
        "is_odd": n % 2 == 1,
        "none": np.zeros((0, 3)),
        "same": example["x"],
    }


def keeps_what_it_gets(example):
    KEPT.append(example["x"])
    return {"n": example["n"], "sum": sum(int(x[0]) for x in KEPT), "count": len(KEPT)}


def batch_sum(batch):
    return {"n": batch["n"], "sum": batch["x"].sum(axis=1)}


class WithTwoArguments(Exception):
    """An exception that can be pickled but not unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class WithSlots(Exception):
    """An exception that can be pickled but not unpickled, with an attribute in a slot."""

    __slots__ = ("code",)

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def fails_with_slots(example):
    raise WithSlots(7, "no")


class Refused(ValueError):
    """An exception that cannot be pickled."""

    def __reduce__(self):
        raise TypeError("no")


def fails(example):
    if example["n"] == 30:
        raise KeyError("thirty")
    return example


def fails_without_unpickling(example):
    if example["n"] == 30:
        raise WithTwoArguments("one", "two")
    return example


def fails_without_pickling(example):
    if example["n"] == 30:
        raise Refused("thirty is refused")
    return example


def fails_often(example):
    if example["n"] % 10 == 3:
        raise ValueError(f"at {int(example['n'])}")
    return example


def fails_elsewhere(example):
    if example["n"] % 7 == 2:
        raise KeyError(f"at {int(example['n'])}")
    return {**example, "second": os.getpid()}


def exits(example):
    if example["n"] == 30:
        os._exit(7)
    return example


def kills_itself(example):
    if example["n"] in (30, 31, 77):
        os.kill(os.getpid(), signal.SIGKILL)
    return example


def crashes(example):
    if example["n"] == 30:
        ctypes.string_at(0)
    return example


def gives_a_lock(example):
    return {"n": threading.Lock()} if example["n"] == 30 else {"n": example["n"]}


def gives_locks(example):
    return {"n": threading.Lock()}


def gives_a_large_int(example):
    return {"n": 2**70}


def gives_none(example):
    return None


def prints_forks_and_starts_threads(example):
    n = int(example["n"])
    if n == 5:
        print(f"printed {n}")
    if n % 20 == 0:
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)
        thread = threading.Thread(target=time.sleep, args=(0.001,))
        thread.start()
        thread.join()
        subprocess.run([sys.executable, "-c", ""], check=True, timeout=60)
    return example


class Waits:
    """Waits for a file at one example."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def __call__(self, example):
        if example["n"] == 5:
            (self.directory / f"waits-{os.getpid()}").touch()
            while not (self.directory / "go").exists():
                with contextlib.suppress(KeyboardInterrupt):
                    time.sleep(0.01)
        return {"n": example["n"]}


class MeetsWhenLoaded:
    """Each process that unpickles it writes a file, and a call waits for several such files."""

    def __init__(self, directory, count):
        self.directory, self.count = directory, count

    def __setstate__(self, state):
        vars(self).update(state)
        (self.directory / str(os.getpid())).touch()

    def __call__(self, example):
        while len(list(self.directory.iterdir())) < self.count:
            time.sleep(0.001)
        return {"n": example["n"]}


def slow(example):
    time.sleep(0.002)
    return {"n": example["n"]}


def first_value(example):
    return {"x": example["x"][0]}


def numbered(count):
    for number in range(count):
        yield {"n": number, "x": np.full(number % 3, number), "process": os.getpid()}


def part(worker, num_workers, counts=(7, 0, 12, 3)):
    """Parts of different lengths, one of them empty."""
    for number in range(counts[worker]):
        yield {"n": 100 * worker + number, "text": "é" * (number % 3), "of": num_workers}


def even_part(worker, num_workers, count):
    return ({"n": number} for number in range(worker, count, num_workers))


def rich(count):
    for number in range(count):
        yield everything({"n": number, "x": np.arange(number, number + 3)})


def in_place(count):
    row, texts = np.zeros(2), [""]
    for number in range(count):
        row[:], texts[0] = number, str(number)
        yield {"x": row, "text": texts}


class Counter:
    """An iterator that can be resumed: every `step`-th number from `first` on."""

    def __init__(self, count, first=0, step=1):
        self.count, self.next, self.step = count, first, step

    def __iter__(self):
        return self

    def __next__(self):
        if self.next >= self.count:
            raise StopIteration
        self.next += self.step
        return {"n": self.next - self.step}

    def state(self):
        return self.next

    def restore(self, state):
        self.next = state


def counter_part(worker, num_workers, count=60):
    return Counter(count - 10 * worker, worker, num_workers)


def failing(at, how):
    for number in range(1000):
        if number == at:
            how()
        yield {"n": number}


def raises():
    raise Refused("no more")


def exits_now():
    os._exit(7)


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def crashes_now():
    ctypes.string_at(0)


def failing_part(worker, num_workers, how):
    return failing(5 if worker == 1 else None, how)


def fails_to_open():
    raise KeyError("nothing there")


def waits_behind(directory, number):
    yield from ({"n": n, "process": os.getpid()} for n in range(number))
    path = Path(directory)
    (path / f"waits-{os.getpid()}").touch()
    while not (path / "go").exists():
        time.sleep(0.01)
    yield {"n": number, "process": os.getpid()}


def closes_file(directory, count=10**9):
    try:
        for number in range(count):
            yield {"n": number}
    finally:
        (Path(directory) / "closed").touch()


class OnceMore:
    """A factory of one iterator."""

    def __init__(self, items):
        self.iterator = iter(items)

    def __call__(self):
        return self.iterator


def wide(count, num_bytes):
    for number in range(count):
        yield {"n": number, "x": np.full(num_bytes, number % 256, np.uint8)}


def forks_and_prints(count):
    for number in range(count):
        yield prints_forks_and_starts_threads({"n": number})


def four_megabytes(example):
    return {"x": np.full(4 << 20, int(example["n"]), np.uint8)}


def large():
    for number in range(6):
        yield four_megabytes({"n": number})


def strided(example):
    return {"turned": example["n"] + np.arange(6).reshape(2, 3).T, "none": np.zeros((0, 5))}
