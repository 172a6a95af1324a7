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
    """Pickles, and cannot be made again."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class Refused(ValueError):
    """Does not pickle."""

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
    """Waits for a file, at one example, after it has made another."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def __call__(self, example):
        if example["n"] == 5:
            (self.directory / f"waits-{os.getpid()}").touch()
            while not (self.directory / "go").exists():
                with contextlib.suppress(KeyboardInterrupt):
                    time.sleep(0.01)
        return {"n": example["n"]}


def slow(example):
    time.sleep(0.002)
    return {"n": example["n"]}
