"""Writes a pipeline, and kills its own process at a chosen moment.

Run as a program: `killed_write.py MOMENT NUMBER PATH`. It ends when MOMENT has occurred NUMBER
times.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import headrace as hr
from headrace.pipeline.writing.journal import Journal
from headrace.pipeline.writing.shard import WholeFile
from headrace.pipeline.writing.tfrecord import RecordShard
from headrace.pipeline.writing.write import _Shards

MOMENTS = {
    "example": (_Shards, "write"),
    "publish": (RecordShard, "publish"),
    "file": (WholeFile, "publish"),
    "journal": (Journal, "add"),
    "begin": (Journal, "begin"),
}


def numbers(seed: int | None = 5, count: int = 120) -> hr.Pipeline:
    """Returns numbers and texts, some of which a filter drops."""
    values = {"n": np.arange(count), "text": [f"number {n}" for n in range(count)]}
    return hr.arrays(values).shuffle(seed=seed).filter(lambda example: example["n"] % 7 != 3)


def killing(function: Callable[..., Any], number: int) -> Callable[..., Any]:
    calls = 0

    def counting(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)

    return counting


if __name__ == "__main__":
    moment, number, path = sys.argv[1:]
    owner, name = MOMENTS[moment]
    setattr(owner, name, killing(getattr(owner, name), int(number)))
    numbers().write(path, num_shards=4, resume=True)
